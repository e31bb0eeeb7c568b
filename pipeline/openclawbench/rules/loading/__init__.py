"""How rule files are found, read, checked and digested. What each file holds, its loader says beside it."""
