"""Tables and labelled trajectories in the formats of other tools."""
