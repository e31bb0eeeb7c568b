"""Where shards run. An engine maps a function over tasks; it knows nothing of stages."""
