"""Programs for those who develop the project; nothing here is part of the package."""
