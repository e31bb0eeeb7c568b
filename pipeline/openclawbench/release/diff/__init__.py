"""The differences between two releases, and their causes."""
