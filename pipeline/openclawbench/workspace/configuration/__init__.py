"""Settings: the table of all of them, the files and variables that say them, and which folders are trusted."""
