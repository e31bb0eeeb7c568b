"""Records of detectors (paper section 5, F.7 to F.10)."""
