"""A data folder at work: its settings, its judges, and bringing its tables up to date. The command line and the library
stand on this."""
