"""What is different between two releases, and what made it so."""
