"""Trajectories as HTML: texts, marks, blocks and the minimap."""
