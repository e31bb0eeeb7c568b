"""Rules by which raw files, rows and oracle outcomes are read."""
