"""Construction: raw sessions to trajectories, descriptors, risk, slices, onsets and packets; one stage a module."""
