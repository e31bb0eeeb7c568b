"""Rules of the FullTax stages, the taxonomy, and the patterns of the rules judge."""
