"""In the place of BFCL's handlers."""
