"""Reports over the work tables: one report per module, each a pure function from tables to sections."""
