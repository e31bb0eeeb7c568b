"""Tables and labelled trajectories in forms that other tools open."""
