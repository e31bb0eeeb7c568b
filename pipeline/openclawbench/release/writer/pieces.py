"""Pieces: the JSONL and Parquet files of the source models (T37), each written from the sorted shards of the rendered
lines. A piece is a range of the trajectories of one model; pieces are written side by side, with a row group of each
shard in memory.
"""

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.release.files.jsonl_files import compress_all, in_batches
from openclawbench.release.files.names import MASTER_FILE, ROOT
from openclawbench.release.files.parquet import ParquetTables, name_parts, shard_name
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.privacy.publishing import Redaction, Row
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import KindCounts
from openclawbench.release.settings import PublishRules
from openclawbench.release.writer.side_by_side import Call, MakeEngine, side_by_side
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.sorted_merge import FAN_IN

GROUP_BYTES = 1 << 20  # of the lines in a row group of a merged file
REDACTED = "redacted.parquet"  # in the scratch folder: finds of the records to redact


@dataclass(frozen=True)
class Piece:
    """The trajectories of a model from `first`, included, to `end`, excluded; None: no bound."""

    model: str
    number: int  # from 0
    pieces: int  # of the model
    first: str | None
    end: str | None

    def name(self, table: str) -> str:
        """The path of a table's JSONL file with these lines: the table's own name for a model of one piece."""
        file = table if self.pieces == 1 else shard_name(table, self.number, self.pieces, ".jsonl")
        return f"{ROOT}/{self.model}/{file}"

    def has(self) -> pl.Expr:
        """True for rows of the piece."""
        key, own = pl.col("trajectory_id"), pl.col("source_model") == self.model
        own = own if self.first is None else own & (key >= self.first)
        return own if self.end is None else own & (key < self.end)


@dataclass
class JsonlFile:
    """What a JSONL file of a piece holds: its lines, their bytes with newlines, the first and last trajectory."""

    rows: int = 0
    bytes: int = 0
    first: str | None = None
    last: str | None = None

    def add(self, trajectory: str, size: int) -> None:
        """Count a line of `size` bytes."""
        self.rows += 1
        self.bytes += size
        self.first = trajectory if self.first is None else self.first
        self.last = trajectory


@dataclass
class WrittenPiece:
    """What was written of a piece. `digests`: the file with key, record_sha256 and redacted of each of its records."""

    piece: Piece
    change: KindCounts
    digests: Path
    parquet: dict[str, list[tuple[str, int]]]  # path of a JSONL file -> Parquet files, and the rows of each
    jsonl: dict[str, JsonlFile] = field(default_factory=dict)  # table -> what its file holds


def plan_pieces(sizes: pl.LazyFrame, shard_bytes: int) -> list[Piece]:
    """The pieces of every model: as few as possible, each with at most `shard_bytes` of master lines or one
    line. `sizes`:
    LineSize; a model's are in memory at a time."""
    pieces = []
    for model in sizes.select(pl.col("source_model").unique().sort()).collect().to_series():
        own = sizes.filter(source_model=model).sort("trajectory_id").collect()
        ends, starts = own["bytes"].cum_sum(), [0]
        while (at := starts[-1]) < own.height:
            before = ends[at - 1] if at else 0
            starts.append(max(at + 1, ends.search_sorted(before + shard_bytes, side="right")))
        bounds = [None, *(own["trajectory_id"][start] for start in starts[1:-1]), None]
        count = len(bounds) - 1
        pieces += [Piece(model, number, count, bounds[number], bounds[number + 1]) for number in range(count)]
    return pieces


def write_piece(
    piece: Piece,
    staging: StagingFolder,
    settings: PublishRules,
    privacy: PrivacyRules,
    lines: Sequence[Path],
    required_files: Sequence[str],
) -> WrittenPiece:
    """The files of a piece: each of `required_files`, also without lines, and their Parquet files.

    `lines`: sorted files."""
    folder = f"{ROOT}/{piece.model}"
    records: list[tuple[str, str, str]] = []
    parquet = ParquetTables(staging, folder, settings.parquet, piece.number, required_files)
    finds = pl.scan_parquet(staging.scratch / REDACTED, glob=False).filter(piece.has()).collect()
    redaction = Redaction(privacy, finds)
    jsonl = {table: JsonlFile() for table in required_files}
    for table in required_files:
        staging.write(piece.name(table), b"")
    for row in redaction.lines(heapq.merge(*(rows_in(path, piece) for path in lines))):
        for table in row.files:
            staging.append(piece.name(table), row.line)
            jsonl[table].add(row.trajectory_id, len(row.line) + 1)
        if MASTER_FILE in row.files:
            records.append((row.source_model, row.trajectory_id, hashlib.sha256(row.line).hexdigest()))
        parquet.append(row.files, row.line)
    staging.close_files()
    compress_all((staging.path(piece.name(table)) for table in required_files), settings.jsonl)
    digests = pl.DataFrame(records, [*TRAJECTORY_KEY, "record_sha256"], orient="row").with_columns(
        redacted=pl.struct(TRAJECTORY_KEY).is_in(finds.select(pl.struct(TRAJECTORY_KEY)).to_series().implode())
    )
    path = staging.scratch / f"digests-{piece.model}-{piece.number:05}.parquet"
    digests.write_parquet(path)
    return WrittenPiece(piece, redaction.change, path, parquet.close(), jsonl)


def name_files(staging: StagingFolder, written: Sequence[WrittenPiece]) -> None:
    """Number the Parquet files of each table over all pieces of a model."""
    parts: dict[str, list[tuple[str, int]]] = {}
    for of_piece in written:
        for table, files in of_piece.parquet.items():
            parts.setdefault(table, []).extend(files)
    for table, files in parts.items():
        name_parts(staging, table, files)


def listings(written: Sequence[WrittenPiece]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Model -> table -> its JSONL files in order, of each model whose tables are divided."""
    models: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for piece, jsonl in ((of_piece.piece, of_piece.jsonl) for of_piece in written if of_piece.piece.pieces > 1):
        for table, content in jsonl.items():
            entry = {"file": Path(piece.name(table)).name, **asdict(content)}
            models.setdefault(piece.model, {}).setdefault(table, []).append(entry)
    return models


def rows_in(path: Path, piece: Piece | None = None) -> Iterator[Row]:
    """Rows of a sorted file, or those of a piece, in their order; a row group in memory at a time."""
    import pyarrow as pa  # only a release that is built needs it
    import pyarrow.parquet as pq

    file, at = pq.ParquetFile(path), 0
    start, end = 0, file.metadata.num_rows
    if piece is not None:
        inside = pl.scan_parquet(path, glob=False).select(piece.has()).collect().to_series().arg_true()
        start, end = (inside[0], inside[-1] + 1) if len(inside) else (0, 0)
    for group in range(file.num_row_groups):  # iter_batches would hold every group's bytes
        first, at = at, at + file.metadata.row_group(group).num_rows
        if first < end and at > start:
            rows = file.read_row_group(group, use_threads=False)
            rows = rows.slice(max(0, start - first), min(at, end) - max(first, start))
            lines = rows["line"].cast(pa.large_binary())  # bytes as they are written
            columns = (rows[name].to_pylist() for name in ("source_model", "trajectory_id", "files"))
            yield from map(Row, *columns, (line.as_py() for line in lines))


def merge(paths: Sequence[Path], to: Path) -> None:
    """Merge sorted files into one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = pq.read_schema(paths[0])
    with pq.ParquetWriter(to, kinds, compression="zstd", compression_level=1) as writer:
        for rows in in_batches(heapq.merge(*map(rows_in, paths)), lambda row: len(row.line), GROUP_BYTES):
            columns = zip(*((*row[:3], row.line.decode()) for row in rows), strict=True)
            writer.write_table(pa.table([[*column] for column in columns], schema=kinds))


def limit_files(paths: list[Path], scratch: Path, make: MakeEngine) -> list[Path]:
    """Sorted files with the same rows, at most FAN_IN: FAN_IN at a time are merged, as often as needed."""
    while len(paths) > FAN_IN:
        groups = [paths[start : start + FAN_IN] for start in range(0, len(paths), FAN_IN)]
        merged = [scratch / f"merged-{len(paths)}-{number}.parquet" for number in range(len(groups))]
        side_by_side(make, [Call(merge, {"paths": some, "to": to}) for some, to in zip(groups, merged, strict=True)])
        for path in (path for path in paths if path.parent == scratch):
            path.unlink()
        paths = merged
    return paths
