"""Labelled trajectories in the formats of other tools. Each module says what its format has no place for."""
