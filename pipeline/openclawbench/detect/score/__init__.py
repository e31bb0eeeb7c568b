"""Scores of detectors (paper F.8, F.9): what is comparable, measures, intervals over tasks, corrections."""
