"""`openclawbench collect`."""
