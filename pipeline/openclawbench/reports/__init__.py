"""Reports over the work tables: one report a module, each a pure function from tables to sections."""
