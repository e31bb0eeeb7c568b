"""In the place of BFCL's constants."""
