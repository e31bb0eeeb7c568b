"""A module a subtype of T17: the detectors of its mechanisms. `recovery` is what they share on later success."""
