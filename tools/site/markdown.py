"""Markdown tables and text from the code."""

from collections.abc import Iterable


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table. A cell must hold no line break and no unescaped bar."""
    head = tuple(columns)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ("---",) * len(head), *rows))


def cell(text: str) -> str:
    """Plain text for a table cell: nothing in it is markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")
