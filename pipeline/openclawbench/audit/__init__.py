"""Human audit: samples to review, sheets that any editor fills in, review records, and tables made of those alone."""
