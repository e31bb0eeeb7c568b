"""Rows by shard, packed in temporary files: a corpus has dozens of small objects for every session, and a run reads
those of one shard at a time. As objects they would take 1.5 kB per session for the whole run."""

import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.io.jsonl import escape_surrogates
from openclawbench.storage.spilled_values import PickleFile, Place, SpilledGroups
from openclawbench.tables.record import Record
from openclawbench.tables.schema import empty, from_records

Row = TypeVar("Row")


class PackedShards:
    """Shard -> a pickled value, in a temporary file that has no name.

    With a `path` the file has that name, so that the process that pickles this can end and the one that unpickles it
    opens the file. Without, the pickled form holds the bytes: it is for workers, which may be on other machines.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.file = PickleFile(None if path is None else path.open("w+b"))
        self.places: dict[int, Place] = {}
        self.sent: dict[int, bytes] = {}  # to this process, by another

    def add(self, shard: int, value: Any) -> None:
        """Append the value of a shard."""
        self.places[shard] = self.file.write(value)

    def packed(self, shard: int) -> bytes:
        """The pickled value of a shard. KeyError if it has none."""
        return self.sent[shard] if shard in self.sent else self.file.packed(self.places[shard])

    def value(self, shard: int) -> Any:
        """The value of a shard, made anew each time. KeyError if the shard has no value."""
        return pickle.loads(self.packed(shard))

    def shards(self) -> list[int]:
        """The shards that have a value."""
        return [*self.places, *self.sent]

    def only(self, shard: int) -> "PackedShards":
        """The same file, with the value of one shard."""
        own = PackedShards.__new__(PackedShards)
        own.path, own.file = None, self.file
        own.places = {shard: self.places[shard]} if shard in self.places else {}
        own.sent = {shard: self.sent[shard]} if shard in self.sent else {}
        return own

    def __getstate__(self) -> dict[str, Any]:
        if self.path is not None:
            return {"path": self.path, "places": self.places}
        return {"sent": {shard: self.packed(shard) for shard in self.shards()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        path = state.get("path")
        self.path = None
        self.file = PickleFile(None if path is None else path.open("rb"))
        self.places, self.sent = state.get("places", {}), state.get("sent", {})


class ByShard(Mapping[int, list[Row]]):
    """Shard -> its rows; they are unpacked anew each time that they are asked for."""

    def __init__(self, rows: Mapping[int, list[Row]] | SpilledGroups[Row], path: Path | None = None) -> None:
        self.packed = PackedShards(path)
        self.lengths: dict[int, int] = {}
        for shard in rows:
            self.add(shard, rows[shard])

    def add(self, shard: int, rows: list[Row]) -> None:
        """Add the rows of a shard."""
        self.packed.add(shard, rows)
        self.lengths[shard] = len(rows)

    def __getitem__(self, shard: int) -> list[Row]:
        content: list[Row] = self.packed.value(shard)
        return content

    def __iter__(self) -> Iterator[int]:
        return iter(self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def only(self, shard: int) -> "ByShard[Row]":
        """The rows of one shard, left packed."""
        own: ByShard[Row] = ByShard.__new__(ByShard)
        own.packed = self.packed.only(shard)
        own.lengths = {shard: self.lengths[shard]} if shard in self.lengths else {}
        return own

    def rows(self) -> int:
        """Rows of all shards; none is unpacked."""
        return sum(self.lengths.values())


class TableByShard(Mapping[int, list[dict[str, Any]]]):
    """Shard -> its rows of a record, as dicts; they are held, and sent to where shards are worked on, as tables.

    `digests`: of each shard's rows, the canonical digest.
    """

    def __init__(
        self,
        record: type[Record],
        rows: Mapping[int, list[dict[str, Any]]] | SpilledGroups[dict[str, Any]],
        path: Path | None = None,
    ) -> None:
        self.record = record
        self.digests: dict[int, str] = {}
        self.tables = ByShard[pl.DataFrame]({}, path)  # of one table
        self.lengths: dict[int, int] = {}
        for shard in rows:
            self.add(shard, rows[shard])

    def add(self, shard: int, rows: list[dict[str, Any]]) -> None:
        """Add the rows of a shard."""
        self.digests[shard], self.lengths[shard] = canonical_digest(rows), len(rows)
        self.tables.add(shard, [table_of(rows, self.record)])

    def __getitem__(self, shard: int) -> list[dict[str, Any]]:
        return self.tables[shard][0].to_dicts()

    def __iter__(self) -> Iterator[int]:
        return iter(self.lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def table(self, shard: int) -> pl.DataFrame:
        """The rows of one shard."""
        return self.tables[shard][0] if shard in self.tables else empty(self.record)

    def rows(self) -> int:
        """Rows of all shards; a row in several shards counts in each."""
        return sum(self.lengths.values())

    def only(self, shard: int) -> "TableByShard":
        """The rows of one shard."""
        own = TableByShard.__new__(TableByShard)
        own.record, own.tables = self.record, self.tables.only(shard)
        own.digests = {shard: self.digests[shard]} if shard in self.digests else {}
        own.lengths = {shard: self.lengths[shard]} if shard in self.lengths else {}
        return own


def table_of(rows: list[dict[str, Any]], record: type[Record]) -> pl.DataFrame:
    """Rows as a table; lone surrogates, which no table can hold, are written out."""
    try:
        return from_records(rows, record)
    except UnicodeEncodeError:
        return from_records(json.loads(escape_surrogates(json.dumps(rows).encode())), record)
