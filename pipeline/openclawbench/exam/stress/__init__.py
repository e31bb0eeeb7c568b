"""The stress kit: whether a judge's labels move when something changes that should not move them."""
