"""Rows by shard, packed or as tables: a corpus has dozens of small objects for every session, and a run looks at those
of one shard at a time. As objects they would take a kilobyte and a half a session as long as a run lasts."""

import json
import pickle
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import polars as pl

from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.sources.io.jsonl import escape_surrogates
from openclawbench.tables.record import Record
from openclawbench.tables.schema import empty, from_records

Row = TypeVar("Row")


class ByShard(Mapping[int, list[Row]]):
    """Shard -> its rows; they are unpacked anew each time that they are asked for."""

    def __init__(self, rows: Mapping[int, list[Row]]) -> None:
        self.packed = {shard: pickle.dumps(some, pickle.HIGHEST_PROTOCOL) for shard, some in rows.items()}
        self.lengths = {shard: len(some) for shard, some in rows.items()}

    def __getitem__(self, shard: int) -> list[Row]:
        content: list[Row] = pickle.loads(self.packed[shard])
        return content

    def __iter__(self) -> Iterator[int]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def only(self, shard: int) -> "ByShard[Row]":
        """The rows of one shard, left packed."""
        by_shard: ByShard[Row] = ByShard({})
        if shard in self.packed:
            by_shard.packed[shard], by_shard.lengths[shard] = self.packed[shard], self.lengths[shard]
        return by_shard

    def rows(self) -> int:
        """Rows of all shards; none is unpacked."""
        return sum(self.lengths.values())


class TableByShard(Mapping[int, list[dict[str, Any]]]):
    """Shard -> its rows of a record, as dicts; they are held, and sent to where shards are worked on, as tables.

    `digests`: of each shard's rows, the canonical digest.
    """

    def __init__(self, record: type[Record], rows: Mapping[int, list[dict[str, Any]]]) -> None:
        self.record = record
        self.digests = {shard: canonical_digest(some) for shard, some in rows.items()}
        self.tables = {shard: table_of(some, record) for shard, some in rows.items()}

    def __getitem__(self, shard: int) -> list[dict[str, Any]]:
        return self.tables[shard].to_dicts()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def table(self, shard: int) -> pl.DataFrame:
        """The rows of one shard."""
        return self.tables.get(shard, empty(self.record))

    def rows(self) -> int:
        """Rows of all shards; a row in several shards counts in each."""
        return sum(table.height for table in self.tables.values())

    def only(self, shard: int) -> "TableByShard":
        """The rows of one shard."""
        table_by_shard = TableByShard(self.record, {})
        if shard in self.tables:
            table_by_shard.digests[shard], table_by_shard.tables[shard] = self.digests[shard], self.tables[shard]
        return table_by_shard


def table_of(rows: list[dict[str, Any]], record: type[Record]) -> pl.DataFrame:
    """Rows as a table; lone surrogates, which no table can hold, are written out."""
    try:
        return from_records(rows, record)
    except UnicodeEncodeError:
        return from_records(json.loads(escape_surrogates(json.dumps(rows).encode())), record)
