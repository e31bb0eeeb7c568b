"""Whether two releases say the same, file by file; how a change of code alone shows that it changes no output."""
