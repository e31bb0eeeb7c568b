"""What an answer may contain, and how its text is read: unwrapped, normalized, validated."""
