"""Statistics of a release, from its released files alone: tables, their definitions, pictures, and their identities."""
