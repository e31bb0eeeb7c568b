"""Counts of records by change and cause, with a few examples: memory does not grow with the release."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from openclawbench.release.record_key import Key

Row = tuple[str | None, ...]


@dataclass
class Tally:
    """One table. `columns` name the parts of a row; a row counts records by combination of causes and keeps a few
    keys."""

    columns: tuple[str, ...]
    limit: int  # examples of each row
    counts: dict[Row, Counter[str]] = field(default_factory=dict)
    examples: dict[Row, list[str]] = field(default_factory=dict)

    def add(self, row: Row, key: Key, causes: list[str]) -> None:
        """Count a record under the combination of its causes, so that counts add up."""
        self.counts.setdefault(row, Counter())[" + ".join(causes)] += 1
        examples = self.examples.setdefault(row, [])
        if len(examples) < self.limit:
            examples.append("/".join(key))

    @property
    def total(self) -> int:
        """Records in all rows."""
        return sum(counts.total() for counts in self.counts.values())

    def as_data(self) -> list[dict[str, Any]]:
        """The rows, the most frequent first."""
        order = sorted(self.counts.items(), key=lambda entry: (-entry[1].total(), [part or "" for part in entry[0]]))
        return [
            dict(zip(self.columns, row, strict=True))
            | {"records": counts.total(), "causes": dict(sorted(counts.items())), "examples": self.examples[row]}
            for row, counts in order
        ]
