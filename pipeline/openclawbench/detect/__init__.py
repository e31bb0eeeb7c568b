"""Detectors over the labels of a release: packets, predictions, baselines, scores (paper section 5, F.7 to F.10)."""
