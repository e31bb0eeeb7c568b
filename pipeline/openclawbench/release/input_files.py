"""input_files.jsonl: every session that came in, and what became of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

from openclawbench.records.datapackage import INPUTS_FILE, InputFile
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.files.table_writer import Output, typed_file, write_tables
from openclawbench.tables.sorted_merge import ORDER, merge_sorted, write_sorted

INPUTS_TABLE = typed_file(INPUTS_FILE)
TRAJECTORY = "trajectory"  # disposition of an input that became a record


def write_input_files(staging: StagingFolder, outcomes: Sequence[Path]) -> dict[str, int]:
    """Write the file and its Parquet form, sorted by path and place. Returns the licences that are stated for
    trajectories, with how many each. `outcomes`: parts of FileOutcome."""
    licenses: Counter[str] = Counter()
    tables = [pl.scan_parquet(path, glob=False) for path in outcomes]
    outputs = [Output(name, InputFile) for name in (INPUTS_FILE, INPUTS_TABLE)]
    write_tables(staging, counted(sorted_inputs(tables, staging.scratch), licenses), outputs)
    return dict(licenses)


def sorted_inputs(outcomes: Sequence[pl.LazyFrame], scratch: Path) -> Iterator[pl.DataFrame]:
    """Rows of InputFile, in an order that does not depend on shards. `scratch`: a folder for temporary files."""
    at = pl.col("base_line").cast(pl.String).str.zfill(19)
    order = pl.concat_str("path", pl.col("member").fill_null(""), at, pl.col("sha256").fill_null(""), separator="\0")
    files = [scratch / f"inputs-{number}.parquet" for number in range(len(outcomes))]
    for rows, path in zip(outcomes, files, strict=True):
        write_sorted(rows.select(*InputFile.model_fields, order.alias(ORDER)).collect(), path)
    yield from (rows.drop(ORDER) for rows in merge_sorted(files, scratch))


def counted(tables: Iterable[pl.DataFrame], licenses: Counter[str]) -> Iterator[pl.DataFrame]:
    """The tables, which are of InputFile. Adds to `licenses` how many of their trajectories each is stated for."""
    for table in tables:
        licenses.update(table.filter(pl.col("disposition") == TRAJECTORY)["license"].drop_nulls())
        yield table
