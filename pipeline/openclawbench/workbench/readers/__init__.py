"""What the pages read: a data folder or a release, and the index of its trajectories."""
