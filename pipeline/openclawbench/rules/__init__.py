"""Rules a person edits (*.toml) and their loaders. No word list, alias, weight or threshold stands in a .py file."""
