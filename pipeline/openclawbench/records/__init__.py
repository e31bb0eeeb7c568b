"""One pydantic model for each thing a person could ask about. fields.toml describes every field of every record.

A table is declared once, here: its polars schema, its JSON Schema and its columns in the card follow from the model.
"""
