"""Programs that run elsewhere: bfcl_*.py with the Python that has bfcl-eval, openclaw_driver.mjs with Node."""
