"""Render: merged records and stage decisions -> the lines of the per-model release files (paper T37)."""

import polars as pl

from openclawbench.records.fulltax import DecisionsA, DecisionsB1, DecisionsB2, DecisionsC
from openclawbench.records.release import LineSizes, Masters, PositiveStructured, ReleaseLines, StageRaw
from openclawbench.release.files.names import MASTER_FILE, POSITIVES_FILES, STAGES, TIER_FILES, stage_raw_file
from openclawbench.runtime.stage import stage
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.record import TRAJECTORY_KEY


@stage(scope="shard")
def render(
    masters: Masters, a: DecisionsA, b1: DecisionsB1, b2: DecisionsB2, c: DecisionsC
) -> tuple[ReleaseLines, LineSizes]:
    """Lines with the files they belong to, sorted by key and file, so that publishing is a merge of sorted shards; and
    the size of each record's line."""
    tables = zip(STAGES, (a, b1, b2, c), strict=True)
    records = record_lines(masters)
    sizes = records.filter(pl.col("files").list.first() == MASTER_FILE).select(
        *TRAJECTORY_KEY, bytes=pl.col("line").str.len_bytes().cast(pl.Int64) + 1
    )
    return in_order([records, *(raw_lines(name, decisions) for name, decisions in tables)]), sizes.lazy()


def in_order(frames: list[pl.DataFrame]) -> pl.LazyFrame:
    """Tables of lines as one, sorted by key and file, and several answers of a stage by line."""
    file = pl.col("files").list.first()
    return pl.concat(frames).lazy().sort(*TRAJECTORY_KEY, file, pl.when(file != MASTER_FILE).then("line"))


def record_lines(masters: pl.LazyFrame) -> pl.DataFrame:
    """The master line of each trajectory, which its tier's file repeats, and its line among the positives of its
    label_status."""
    records, status = masters.collect(), pl.col("label_status")
    tier_file = pl.col("quality_tier").replace_strict(TIER_FILES, return_dtype=pl.String)
    own_files = pl.concat_list(pl.lit(MASTER_FILE), tier_file).list.drop_nulls()  # an unjudged record has no tier
    files = [lines(records, records.select(own_files).to_series())]
    for name, file in POSITIVES_FILES.items():
        positive = records.filter(pl.col("is_anomalous") & (status == name))
        files.append(lines(positive.select(list(PositiveStructured.model_fields)), pl.lit([file])))
    return pl.concat(files)


def raw_lines(name: str, decisions: pl.LazyFrame, annotation_pass: int = 1) -> pl.DataFrame:
    """Every answer of a stage, verbatim, with the decision."""
    rows = decisions.collect()
    parsed = canonical_rows(rows["answer"].struct.unnest())
    answers = rows.with_columns(stage=pl.lit(name), parsed=pl.when(pl.col("answer").is_not_null()).then(parsed))
    return lines(answers.select(list(StageRaw.model_fields)), pl.lit([stage_raw_file(name, annotation_pass)]))


def lines(rows: pl.DataFrame, files: pl.Series | pl.Expr) -> pl.DataFrame:
    """These rows as lines of `files`."""
    return rows.select(*TRAJECTORY_KEY, files=files, line=canonical_rows(rows))
