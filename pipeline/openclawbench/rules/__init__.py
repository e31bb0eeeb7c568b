"""Rules a person edits (*.toml) and their loaders. No word list, alias, weight or threshold is in a .py file.

A folder is named after the part of the package that works by its rules; files are known by their names alone.
"""
