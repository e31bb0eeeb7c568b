"""How rule files are found, read, checked and digested. The loader next to each file says what it holds."""
