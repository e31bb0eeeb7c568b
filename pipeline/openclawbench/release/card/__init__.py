"""The dataset card and the Croissant description: every number in them is computed from the released files."""
