"""The declaration of a release statistic: a decorated function, which every part of the program uses.

`statistic` turns a function (corpus, settings) -> Section into a Statistic; `STATISTICS` (statistics.py) lists them in
order. The writer, `report statistics` and the card take name, columns and rows from there. `validate` calls the same
functions with a corpus that it reads from the released JSONL, not from the Parquet files that the writer reads, and
checks the identities, which do not depend on these functions.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics.consistency import Identity, Same, Share, Sum
from openclawbench.release.statistics.corpus import BASE_COLUMNS, SUMMED, Corpus
from openclawbench.reports.section import BY_MODEL, Section

Rows = list[Mapping[str, Any]]
Function = Callable[[Corpus, StatisticsSettings], Section]


@dataclass(frozen=True)
class Figures:
    """The numbers that a release publishes: rows of each table of statistics.json, and dataset_summary.json."""

    tables: Mapping[str, Rows]
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class Statistic:
    """One table of statistics.json.

    name: its key there, and the file name of its pictures; reads: columns of the master table that it needs besides
    BASE_COLUMNS; identities: what must hold between its figures and others, from the published figures alone; in_card:
    whether README.md shows the table; headline_in_card: and its headline numbers; about_labels: whether it counts
    labels alone, so that it has no picture, and no place in the card, where nobody judged.
    """

    name: str
    function: Function
    reads: tuple[str, ...]
    identities: Callable[[Figures], Iterable[Identity]]
    in_card: bool
    headline_in_card: bool
    about_labels: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of records that it gets, besides RECORDS."""
        return tuple(name for name in (*BASE_COLUMNS, *self.reads) if name not in SUMMED)

    def compute(self, corpus: Corpus, settings: StatisticsSettings) -> Section:
        """The table. Raises polars' ColumnNotFoundError if the function uses a column that it does not declare, and
        ValueError if its rows and its `columns` differ."""
        section = self.function(corpus.of_columns(self.columns), settings)
        for row in section.rows:
            if unlike := sorted(row.keys() ^ section.columns.keys()):
                raise ValueError(
                    f"statistic {self.name}: {', '.join(unlike)}: describe each column of a row in `columns`"
                )
        rows = [{name: row[name] for name in section.columns} for row in section.rows]
        return replace(section, name=self.name, rows=rows)


def no_identities(_figures: Figures) -> Iterable[Identity]:
    """The identities of a table whose figures are nowhere else: none."""
    return ()


def statistic(
    reads: Iterable[str] = (),
    identities: Callable[[Figures], Iterable[Identity]] = no_identities,
    in_card: bool = True,
    headline_in_card: bool = True,
    about_labels: bool = False,
) -> Callable[[Function], Statistic]:
    """Declare a statistic; its name is the function's."""

    def declare(function: Function) -> Statistic:
        return Statistic(function.__name__, function, tuple(reads), identities, in_card, headline_in_card, about_labels)

    return declare


def sum_of(where: str, parts: Mapping[str, int], total: int) -> Sum:
    """Counts that must add up."""
    return Sum(where, {name: str(number) for name, number in parts.items()}, str(total))


def same(where: str, places: Mapping[str, int]) -> Same:
    """One count in several places."""
    return Same(where, {place: str(number) for place, number in places.items()})


def share_of(where: str, part: int, total: int, share: float | None) -> Iterable[Share]:
    """A share that must be part / total; nothing for a share that is None."""
    if share is not None:
        yield Share(where, str(part), str(total), str(share))


def total_row(figures: Figures, table: str, key: str, columns: Iterable[str]) -> Iterable[Sum]:
    """The last row of a table is the sum of the others: in these columns, and of each source model. `key`: the column
    that names a row."""
    *parts, total = figures.tables[table]
    for column in columns:
        yield sum_of(f"{table}, {column}", {row[key]: row[column] for row in parts}, total[column])
    for model in total.get(BY_MODEL, {}):
        own = {row[key]: row[BY_MODEL][model] for row in parts}
        yield sum_of(f"{table}, {model}", own, total[BY_MODEL][model])
