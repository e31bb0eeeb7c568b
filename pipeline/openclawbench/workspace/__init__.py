"""Work on a data folder: its settings, its judges, and updating its tables. The command line and the library use it."""
