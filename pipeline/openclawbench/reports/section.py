"""A report and its sections. Each section is one table, with a description of every column."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.tables.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Callable[[type[Record]], pl.LazyFrame]
Row = dict[str, Any]
BY_MODEL = "by_model"  # a row's column with {source model: number}; Markdown shows one column per model


@dataclass(frozen=True)
class Section:
    """One table of a report."""

    name: str  # file name of its plot, and its key in the JSON
    title: str
    about: str  # what is counted, over what, from which source
    columns: dict[str, str]  # column -> what it is; the order of the columns
    rows: list[Row]
    facts: dict[str, Any] = field(default_factory=dict)  # headline numbers: name -> value
    definitions: dict[str, str] = field(default_factory=dict)  # of the facts
    prose: frozenset[str] = frozenset()  # columns that hold sentences of ours, never text of a session
    shown: int | None = None  # rows in the Markdown file, None for all; the JSON always has all
    plot: "Callable[[], Figure] | None" = None

    def data(self) -> dict[str, Any]:
        """The section as plain data."""
        return {
            "title": self.title,
            "about": self.about,
            "facts": self.facts,
            "definitions": self.definitions,
            "columns": self.columns,
            "rows": self.rows,
        }


@dataclass(frozen=True)
class Report:
    """Sections in order, and the tables that they were computed from (table -> digest of its parts)."""

    name: str
    title: str
    about: str
    sections: list[Section]
    inputs: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)  # rule file -> digest
    notice: str | None = None  # a warning shown above everything else

    def data(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "report": self.name,
            **({"notice": self.notice} if self.notice else {}),
            "about": self.about,
            "inputs": self.inputs,
            "rules": self.rules,
            "sections": {section.name: section.data() for section in self.sections},
        }
