"""What a report is made of: sections, each a table whose every column says what its numbers are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.tables.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tables = Callable[[type[Record]], pl.LazyFrame]
Row = dict[str, Any]
BY_MODEL = "by_model"  # the column of a row that holds {source model: number}; shown as one column a model


@dataclass(frozen=True)
class Section:
    """One table of a report."""

    name: str  # of its plot's files, and of its key in the JSON
    title: str
    about: str  # what is counted, over what, from which source
    columns: dict[str, str]  # column -> what it is; the order of the columns
    rows: list[Row]
    facts: dict[str, Any] = field(default_factory=dict)  # headline numbers, by name
    definitions: dict[str, str] = field(default_factory=dict)  # of the facts
    prose: frozenset[str] = frozenset()  # columns of our own sentences, not of anybody's data
    shown: int | None = None  # rows that the Markdown shows; all of them stand in the JSON
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
    notice: str | None = None  # what must be said loudly before anything else

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
