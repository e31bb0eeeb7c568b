"""Counts the finds in the lines of a release, and redacts those lines."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.release.files.names import MASTER_FILE, ROOT
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.redact import RedactableLine, redact
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import (
    KEPT,
    SCANNED,
    Kind,
    KindCounts,
    TextFind,
    TextScan,
    finds_in,
    scan_inputs,
)
from openclawbench.release.record_key import Key, key_of
from openclawbench.tables.record import TRAJECTORY_KEY

KIND = ("group", "kind")


class Row(NamedTuple):
    """A rendered line and the files of its model's folder that contain it."""

    source_model: str
    trajectory_id: str
    files: list[str]
    line: bytes


class Scanned:
    """Finds in the lines of a release and in the paths of its inputs."""

    def __init__(self, rules: PrivacyRules) -> None:
        self.rules = rules
        self.privacy_finder = PrivacyFinder(rules)
        self.kinds = KindCounts()  # in the lines
        self.kept: list[TextFind] = []  # of them, up to a limit a group
        self.in_names = self.in_texts = 0  # records with a find there that must not be released
        self.redacted: list[pl.DataFrame] = []  # of records to redact: key, group, kind, finds
        self.paths = TextScan()  # of inputs, as the data package names them

    def count_finds(self, tables: Iterable[Mapping[int | str, Path]], inputs: Iterable[pl.DataFrame]) -> None:
        """Count the finds of each pass, a shard in memory at a time, and search the paths of inputs. `tables`: of each
        pass, shard -> part with its finds; `inputs`: tables with InputFile's columns."""
        scan_inputs(inputs, self.privacy_finder, self.paths)
        parts_of: dict[int | str, list[Path]] = {}
        room: Counter[str] = Counter(dict.fromkeys(self.rules.actions, KEPT) | {"redacted": KEPT})
        for table in tables:
            for shard, part in table.items():
                parts_of.setdefault(shard, []).append(part)
                self.keep(pl.read_parquet(part, glob=False), room)
        for parts in parts_of.values():
            self.count(pl.concat(pl.read_parquet(part, glob=False) for part in parts))

    def to_redact(self) -> pl.DataFrame:
        """Finds of the records to redact: key, group, kind, finds."""
        kinds = dict.fromkeys((*TRAJECTORY_KEY, *KIND), pl.String) | {"finds": pl.UInt32}
        return pl.concat([pl.DataFrame(schema=kinds), *self.redacted])

    def keep(self, finds: pl.DataFrame, room: Counter[str]) -> None:
        """Keep finds while there is room for their group."""
        for row in finds.iter_rows(named=True):
            if room[row["group"]]:
                room[row["group"]] -= 1
                self.kept.append(TextFind(line=None, **{name: row[name] for name in TextFind._fields if name in row}))

    def count(self, finds: pl.DataFrame) -> None:
        """Count the finds of a shard, in which all those of a record are."""
        by_record = finds.group_by(*TRAJECTORY_KEY, *KIND).agg(finds=pl.len())
        for *kind, number, records in by_record.group_by(KIND).agg(pl.col("finds").sum(), records=pl.len()).iter_rows():
            self.kinds.finds[kind[0], kind[1]] += number
            self.kinds.records[kind[0], kind[1]] += records
        blocked, blocked_in_names = (
            pl.col("group").is_in(sorted(groups))
            for groups in (self.rules.groups("block"), self.rules.blocked_in_names())
        )
        self.in_names += finds.filter(pl.col("in_name") & blocked_in_names).select(TRAJECTORY_KEY).n_unique()
        self.in_texts += finds.filter(~pl.col("in_name") & blocked).select(TRAJECTORY_KEY).n_unique()
        to_redact = by_record.filter(pl.col("group").is_in(sorted(self.rules.groups("redact"))))
        self.redacted.append(by_record.join(to_redact.select(TRAJECTORY_KEY), on=TRAJECTORY_KEY, how="semi"))


class Redaction:
    """The redaction of lines. `finds`: of the records to redact, as in Scanned."""

    def __init__(self, rules: PrivacyRules, finds: pl.DataFrame) -> None:
        self.rules, self.privacy_finder = rules, PrivacyFinder(rules)
        self.former: dict[Key, Counter[Kind]] = {}
        for row in finds.iter_rows(named=True):
            self.former.setdefault(key_of(row), Counter())[row["group"], row["kind"]] = row["finds"]
        self.change = KindCounts()  # how the counts of finds differ after redaction

    def lines(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, sorted by key as they come; those of a record with finds to redact are redacted."""
        for key, lines_of_key in groupby(rows, key=lambda row: (row.source_model, row.trajectory_id)):
            own = list(lines_of_key)
            yield from self.without(key, own) if key in self.former else own

    def without(self, key: Key, rows: list[Row]) -> Iterator[Row]:
        """The lines of one record, redacted. Its counts of finds are replaced by those of the redacted lines."""
        lines = [RedactableLine(json.loads(row.line), MASTER_FILE in row.files) for row in rows]
        values = redact(lines, self.privacy_finder, self.rules.groups("redact"), self.rules.marker)
        pairs = list(zip(rows, values, strict=True))
        self.change.add(self.former[key], -1)
        self.change.add(Counter((find.group, find.kind) for row, value in pairs for find in self.finds(row, value)))
        for row, value in pairs:
            yield row._replace(line=canonical_bytes(value))

    def finds(self, row: Row, value: dict[str, Any]) -> Iterable[TextFind]:
        """Finds in a line, if its file is one that is scanned."""
        if row.files[0] not in SCANNED:
            return ()
        return finds_in(value, self.privacy_finder, f"{ROOT}/{row.source_model}/{row.files[0]}")
