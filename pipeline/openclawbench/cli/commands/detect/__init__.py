"""`openclawbench detect`."""
