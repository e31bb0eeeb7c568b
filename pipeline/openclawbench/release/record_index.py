"""record_index.jsonl: for each record the digest of its line, and the inputs of the split that the line leaves out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from openclawbench.records.release import RecordIndexRow
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import Output, write_tables
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.sorted_merge import ORDER, key_order, merge_sorted, row_groups, write_sorted

INDEX_FILE = "record_index.jsonl"


def write_index(digests: Sequence[Path], parts: Sequence[tuple[Path, Path]], staging: StagingFolder) -> None:
    """Write the index. `digests`: files with key, record_sha256 and redacted of the released lines, sorted by key, one
    file after the other; `parts`: of each shard, those of LabelBasis and Fingerprint."""
    redacted = pl.concat(pl.scan_parquet(path, glob=False) for path in digests).filter("redacted") if digests else None
    keys = None if redacted is None else redacted.select(TRAJECTORY_KEY).collect()
    files = [staging.scratch / f"index-{number}.parquet" for number in range(len(parts))]
    for (basis, fingerprints), path in zip(parts, files, strict=True):
        write_sorted(inputs_of_split(basis, fingerprints, keys), path)
    rows = with_digests(merge_sorted(files, staging.scratch), digests)
    write_tables(staging, rows, [Output(INDEX_FILE, RecordIndexRow)])


def inputs_of_split(basis: Path, fingerprints: Path, redacted: pl.DataFrame | None) -> pl.DataFrame:
    """Key, partial_trial, text_sha256 and, of redacted records alone, minhash of one shard."""
    texts = pl.scan_parquet(fingerprints, glob=False).select(*TRAJECTORY_KEY, "text_sha256", "minhash")
    keys = pl.scan_parquet(basis, glob=False).select(*TRAJECTORY_KEY, "partial_trial")
    rows = keys.join(texts, on=TRAJECTORY_KEY, how="left")
    gone = pl.DataFrame(schema=dict.fromkeys(TRAJECTORY_KEY, pl.String)) if redacted is None else redacted
    marked = rows.join(gone.lazy().with_columns(gone=True), on=TRAJECTORY_KEY, how="left")
    return marked.select(pl.exclude("gone", "minhash"), key_order(), minhash=pl.when("gone").then("minhash")).collect()


def with_digests(tables: Iterable[pl.DataFrame], digests: Sequence[Path]) -> Iterator[pl.DataFrame]:
    """Rows of RecordIndexRow: the tables' rows with the digests of the same records, which come in the same order.
    Raises ValueError where they do not."""
    stream = (rows for path in digests for rows in row_groups(path))
    waiting = pl.DataFrame()
    for table in tables:
        while waiting.height < table.height:
            further = next(stream, None)
            if further is None:
                break
            waiting = further if waiting.is_empty() else waiting.vstack(further)
        own, waiting = waiting.head(table.height), waiting.slice(table.height)
        if not own.select(key_order()).to_series().equals(table[ORDER]):
            raise ValueError("records were written in another order than that of their keys")
        yield pl.concat([table, own.drop(TRAJECTORY_KEY)], how="horizontal")
