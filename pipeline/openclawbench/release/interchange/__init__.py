"""Labelled trajectories in the forms that other tools open. What no form has a place for is left out, and said so."""
