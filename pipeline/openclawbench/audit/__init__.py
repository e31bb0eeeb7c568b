"""Human audit: samples to review, sheets that any editor can fill in, review records, and reports made of them
alone."""
