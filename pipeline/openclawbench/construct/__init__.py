"""Construction: raw sessions to trajectories, descriptors, risk, slices, onsets and packets; one stage per module."""
