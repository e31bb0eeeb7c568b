"""What a person at a terminal sees: settings, progress, tables, show, trace, export."""
