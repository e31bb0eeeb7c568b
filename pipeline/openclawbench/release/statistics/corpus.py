"""The input of the statistics: a few columns of the released files, and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl

from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.records.oracle import failures_only
from openclawbench.records.release import Master, PoolRow
from openclawbench.records.tiers import BASELINE, IS_BASELINE, main_status, status
from openclawbench.release.baseline_notice import notice_of
from openclawbench.release.card.configs import models_of
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.labels.labels import CUTS, POOL_FILE, SIDES
from openclawbench.release.writer.jsonl_files import open_lines, released
from openclawbench.release.writer.parquet import shards_of
from openclawbench.release.writer.render import MASTER_FILE, ROOT
from openclawbench.release.writer.second_pass import BOTH_FILE
from openclawbench.release.writer.summarize import SUMMARY
from openclawbench.release.writer.table_writer import typed_file
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import schema

BASE_COLUMNS = (  # that every statistic may use
    "source_model",
    "trajectory_id",
    "num_steps",
    "oracle_outcome",
    "slice_label",
    "is_anomalous",
    "quality_tier",
    "judge",
)
COMPUTED = {"judge": pl.col("provenance").struct["judge"], "failures_only": failures_only()}  # from other columns
HUMAN_COLUMNS = (*TRAJECTORY_KEY, "human_anomaly_label", "same_label")
COMPUTED_FROM = ("provenance", "oracle")
SUMMED = ("event_type_counts", "language_counts")  # columns of step counts, which are needed as sums alone
STEP_COUNTS = {"column": pl.String, "source_model": pl.String, "name": pl.String, "steps": pl.Int64}
LABEL_COLUMNS = ("source_model", "label_status", "anomaly_type_l2")  # of a row of a label file
ADDED = {"mode": pl.String}  # columns that releases of earlier checkouts lack: null there
BASELINE_ONLY = (
    " No record of this release is accepted: what is counted are labels of the rules judge, which are a baseline."
)
BASELINE_LEFT = " Labels of the rules judge, a baseline, are not counted: {records} records have one."
ANOMALOUS = pl.col("is_anomalous").fill_null(False)  # as in the gap: a record without a decision is not anomalous
READ = {  # released files -> what is read of them
    f"{ROOT}/*/master_table_all-*-of-*.parquet": "every record",
    "silver_*_labels.parquet, paper_cut/silver_*_labels.parquet": "the sides of both cuts",
    typed_file(POOL_FILE): "the calibration pool",
    f"{typed_file(HUMAN_FILE)} (where people reviewed records)": "their verdicts",
    f"{BOTH_FILE} (where there is a second pass)": "records of which both passes are sure",
}


@dataclass(frozen=True)
class Corpus:
    """The columns of one release that statistics need, in memory.

    records: BASE_COLUMNS and further columns, one row per trajectory, texts as such or as categories; step_counts:
    STEP_COUNTS, the columns of SUMMED summed over each source model; labels: LABEL_COLUMNS with `cut` and `side`; pool:
    PoolRow's columns; both_sure: records in both_high_confidence.jsonl, null without a second pass; human:
    HUMAN_COLUMNS of human_audited, null without human verdicts.
    """

    records: pl.DataFrame
    step_counts: pl.DataFrame
    labels: pl.DataFrame
    pool: pl.DataFrame
    both_sure: int | None = None
    human: pl.DataFrame | None = None

    @property
    def models(self) -> list[str]:
        """Source models in the order of their names."""
        return sorted(self.records["source_model"].unique())

    @property
    def positives(self) -> pl.DataFrame:
        """The anomalous records of `status`."""
        return self.records.filter((status() == self.status) & ANOMALOUS)

    @property
    def status(self) -> str:
        """The label_status that tables of labels are about: accepted, or baseline if no record is accepted."""
        return main_status(self.records.select(status()).to_series())

    @property
    def status_words(self) -> str:
        """The sentence of a table of labels on baseline records that it counts or leaves out; empty if there are
        none."""
        baseline_records = self.records.filter(IS_BASELINE).height
        if self.status == BASELINE:
            return BASELINE_ONLY
        return BASELINE_LEFT.format(records=baseline_records) if baseline_records else ""

    @property
    def notice(self) -> str | None:
        """The notice about labels of the rules judge, else null."""
        return notice_of(self.records["judge"])


def read_corpus(root: Path, columns: Iterable[str] = (), categories: bool = False) -> Corpus:
    """The release in `root`. `columns`: of the records, besides BASE_COLUMNS; `categories`: texts of records other than
    their id as categories, which take a third of the memory and join with no text. Raises UsageError if it is not a
    release, and UnreadableInput with the file if one cannot be read."""
    if not (root / SUMMARY).is_file():  # a release without a session has no folder of a source model
        raise UsageError(f"{root}: holds no {SUMMARY}, so it is not a release. Name the folder that has it.")
    try:
        shards = [path for model in models_of(root) for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}")]
        scans = (scan_records(path).select(record_columns(columns)) for path in shards)
        parts = (scan.collect(engine="streaming") for scan in scans)
        records, step_counts = corpus_records(parts, columns, categories)
        labels = [label_file(root, cut, side) for cut in CUTS for side in SIDES]
        pool = pl.read_parquet(root / typed_file(POOL_FILE), glob=False)
        verdicts = root / typed_file(HUMAN_FILE)
        human = pl.read_parquet(verdicts, glob=False, columns=list(HUMAN_COLUMNS)) if verdicts.is_file() else None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableInput(
            f"{root}: cannot read the release: {reason}. Validate the copy, or fetch it anew."
        ) from error
    own = pool.select(list(PoolRow.model_fields))
    return Corpus(records, step_counts, pl.concat(labels), own, both_sure(root), human)


def scan_records(path: Path) -> pl.LazyFrame:
    """A shard of a master table, with the columns of ADDED whatever checkout wrote it."""
    scan = pl.scan_parquet(path, glob=False)
    names = scan.collect_schema().names()
    return scan.with_columns(pl.lit(None, kind).alias(name) for name, kind in ADDED.items() if name not in names)


def record_columns(columns: Iterable[str]) -> list[pl.Expr]:
    """BASE_COLUMNS and `columns` as expressions over the columns of a master table."""
    return [COMPUTED.get(name, pl.col(name)).alias(name) for name in (*BASE_COLUMNS, *columns)]


def corpus_records(
    parts: Iterable[pl.DataFrame], columns: Iterable[str], categories: bool = True
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(records, step_counts) of a Corpus, of parts that each have `record_columns`."""
    empty = pl.DataFrame(schema=schema(Master)).select(record_columns(columns))
    texts = pl.col(pl.String).exclude("trajectory_id").cast(pl.Categorical)
    records, sums = [], [pl.DataFrame(schema=STEP_COUNTS)]
    for part in chain([empty], parts):
        sums += [step_sums(part, column) for column in SUMMED if column in part.columns]
        slim = part.drop(SUMMED, strict=False)
        records.append(slim.with_columns(texts) if categories else slim)
    counts = pl.concat(sums).group_by("column", "source_model", "name", maintain_order=True).agg(pl.col("steps").sum())
    return pl.concat(records), counts


def step_sums(records: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows of STEP_COUNTS of one column of SUMMED."""
    sums = records.select("source_model", column).unnest(column).group_by("source_model", maintain_order=True).sum()
    rows = sums.unpivot(index="source_model", variable_name="name", value_name="steps")
    return rows.select(column=pl.lit(column), source_model="source_model", name="name", steps="steps")


def label_file(root: Path, cut: str, side: str) -> pl.DataFrame:
    """One label file."""
    rows = pl.read_parquet(root / f"{CUTS[cut]}silver_{side}_labels.parquet", glob=False, columns=[*LABEL_COLUMNS])
    return label_columns(rows, cut, side)


def label_columns(rows: pl.DataFrame, cut: str, side: str) -> pl.DataFrame:
    """Rows of a label file as those of a Corpus, their texts as categories."""
    columns = rows.select(*LABEL_COLUMNS, cut=pl.lit(cut), side=pl.lit(side))
    return columns.with_columns(pl.col(pl.String).cast(pl.Categorical))


def both_sure(root: Path) -> int | None:
    """Number of lines of both_high_confidence.jsonl; null without a second pass."""
    if not released(root / BOTH_FILE):
        return None
    with open_lines(root / BOTH_FILE) as file:
        return sum(1 for _ in file)
