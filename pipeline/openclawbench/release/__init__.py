"""What leaves the pipeline: rendered lines, splits, summaries, and the folder they are published in."""
