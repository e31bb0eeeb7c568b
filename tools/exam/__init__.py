"""Recorder of exam families, for maintainers: it runs the real OpenClaw program with a scripted model."""
