"""One module per raw format, each with the same output: a ParsedSession. A source is known by its first record."""
