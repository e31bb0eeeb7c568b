"""What each source model did: availability, success, latency, usage, tool use; as a benchmark summarizes it."""
