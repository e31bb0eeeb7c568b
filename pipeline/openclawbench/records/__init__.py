"""One pydantic model for each thing a person could ask about; a table is declared once, here."""
