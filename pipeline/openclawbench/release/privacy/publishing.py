"""The scan before a release, over its rendered lines; and the redaction of those lines."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.release.privacy.detect import Detector
from openclawbench.release.privacy.redact import Line, redact
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import SCANNED, TextScan, finds_in, scan_frame, scan_inputs
from openclawbench.release.writer.render import MASTER_FILE, ROOT


class Row(NamedTuple):
    """A rendered line and the files of its model's folder that contain it."""

    source_model: str
    trajectory_id: str
    files: list[str]
    line: bytes


class Scanned:
    """Finds in the lines of a release, and the redaction of these lines."""

    def __init__(self, rules: PrivacyRules) -> None:
        self.rules = rules
        self.detector = Detector(rules)
        self.scan = TextScan()
        self.paths = TextScan()  # of inputs, as the data package names them
        self.redacted: set[tuple[str, str]] = set()

    def look(self, parts: Iterable[Path], inputs: Iterable[pl.DataFrame]) -> None:
        """Scan shards of rendered lines, one in memory at a time, and the paths of
        inputs, tables with InputFile's columns."""
        scan_inputs(inputs, self.detector, self.paths)
        first = pl.col("files").list.first()
        place = pl.concat_str(pl.lit(f"{ROOT}/"), "source_model", pl.lit("/"), first)
        for part in parts:
            lines = pl.scan_parquet(part, glob=False).filter(first.is_in(SCANNED))
            frame = lines.select("line", file=place, number=pl.lit(None, pl.Int64)).collect()
            scan_frame(frame, self.detector, self.scan)
        self.redacted = self.scan.keys(self.rules.groups("redact"))

    def lines(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, sorted by key as they come; those of a record with finds to redact are redacted."""
        for key, lines_of_key in groupby(rows, key=lambda row: (row.source_model, row.trajectory_id)):
            own = list(lines_of_key)
            yield from self.without(key, own) if key in self.redacted else own

    def without(self, key: tuple[str, str], rows: list[Row]) -> Iterator[Row]:
        """All lines of one record, redacted; the finds that remain replace the counted ones."""
        lines = [Line(json.loads(row.line), MASTER_FILE in row.files) for row in rows]
        values = redact(lines, self.detector, self.rules.groups("redact"), self.rules.marker)
        pairs = list(zip(rows, values, strict=True))
        self.scan.replace(key, (find for row, value in pairs for find in self.finds(row, value)))
        for row, value in pairs:
            yield row._replace(line=canonical_bytes(value))

    def finds(self, row: Row, value: dict[str, Any]) -> Iterable[Any]:
        """Finds in a line, if its file is one that is scanned."""
        if row.files[0] not in SCANNED:
            return ()
        return finds_in(value, self.detector, f"{ROOT}/{row.source_model}/{row.files[0]}")
