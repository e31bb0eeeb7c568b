"""Rules a person edits (*.toml) and their loaders. No word list, alias, weight or threshold is in a .py file."""
