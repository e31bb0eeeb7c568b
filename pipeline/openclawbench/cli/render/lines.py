"""Explain, for people: printing single lines. Every text is made safe."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import flat
from openclawbench.inspect.explain.rules import settings

Row = dict[str, Any]


def heading(console: Console, name: str) -> None:
    """Name of a section."""
    console.print()
    console.print(Text(name, style="bold"))


def line(console: Console, text: str | Text, indent: int = 2) -> None:
    """Text, wrapped to the width of the terminal and indented; line ends in it as ⏎."""
    shown = Text(flat(text)) if isinstance(text, str) else text
    for number, piece in enumerate(shown.wrap(console, max(console.width - indent - 2, 20))):
        piece.rstrip()
        console.print(Text(" " * (indent + 2 * (number > 0))) + piece)


def join_values(values: Iterable[Any]) -> str:
    """Values in one cell."""
    return ", ".join(map(str, values))


def as_words(value: Any) -> str:
    """A value of an answer or a repair, as text."""
    if isinstance(value, list) and value:
        return join_values(map(as_words, value))
    if isinstance(value, dict):
        if {"start_step", "end_step", "label"} <= value.keys():
            return f"{value['start_step']}-{value['end_step']} {value['label']}"
        return " ".join(map(as_words, value.values()))
    return (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else str("-" if value in (None, []) else value)
    )


def marked_text(title: str, mark: Row) -> Text:
    """A text with its context, marked »like this« and, if the terminal has colours, by colour; line ends as ⏎."""
    text, limit = mark["text"], settings().marked_length
    shown = flat(text if len(text) <= limit else f"{text[: limit - 1]}…")
    around = Text(flat(title), style="dim") + Text(flat(mark.get("before", "")))
    return around + Text(f"»{shown}«", style="bold reverse") + Text(flat(mark.get("after", "")))
