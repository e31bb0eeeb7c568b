"""The input of the statistics: a few columns of the released files, and nothing else.

Statistics count records, so they need no row of each: `count_corpus` counts, shard by shard, how many records have
which values. What it holds grows with the values that occur, not with the records.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import polars as pl

from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.records.oracle import failures_only
from openclawbench.records.release import Master, PoolRow
from openclawbench.records.tiers import BASELINE, IS_BASELINE, main_status, status
from openclawbench.release.baseline_notice import notice_of
from openclawbench.release.files.jsonl_files import open_lines, released
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, ROOT, SUMMARY, models_of
from openclawbench.release.files.parquet import shards_of
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.labels.labels import POOL_FILE
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.release.unjudged import UNJUDGED_NOTICE, names_unjudged, nobody_judged
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import empty, schema

BASE_COLUMNS = (  # that every statistic may use
    "source_model",
    "oracle_outcome",
    "slice_label",
    "is_anomalous",
    "quality_tier",
    "judge",
)
COMPUTED = {"judge": pl.col("provenance").struct["judge"], "failures_only": failures_only()}  # from other columns
RECORDS = "records"  # column: how many records, or rows of a label file, have the values of a row
HUMAN_COLUMNS = (*TRAJECTORY_KEY, "human_anomaly_label", "same_label")
VERDICTS = ("reviewed", "human_anomaly_label")  # of a record: whether people reviewed the label it has; what they say
COMPUTED_FROM = ("provenance", "oracle")
SUMMED = ("event_type_counts", "language_counts")  # columns of step counts, which are needed as sums alone
STEP_KEYS = ("column", "source_model", "name")
STEP_COUNTS = {**dict.fromkeys(STEP_KEYS, pl.String), "steps": pl.Int64}
LABEL_COLUMNS = ("source_model", "label_status", "anomaly_type_l2")  # of a row of a label file
NO_LABELS = pl.DataFrame(
    schema={**dict.fromkeys((*LABEL_COLUMNS, "cut", "side"), pl.String), RECORDS: pl.Int64}
)  # of a release without label files
COUNTED_AT_ONCE = 32  # shards, or batches of lines, whose counts are added up together
ADDED = {"mode": pl.String}  # columns that releases of earlier checkouts lack: null there
BASELINE_ONLY = (
    " No record of this release is accepted: what is counted are labels of the rules judge, which are a baseline."
)
BASELINE_LEFT = " Labels of the rules judge, a baseline, are not counted: {records} records have one."
ANOMALOUS = pl.col("is_anomalous").fill_null(False)  # a record without a decision is none
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

    records: BASE_COLUMNS, RECORDS and further columns, one row for each combination of values, or for each trajectory;
    step_counts: STEP_COUNTS, the columns of SUMMED summed over each source model; labels: LABEL_COLUMNS with `cut`,
    `side` and RECORDS; pool: PoolRow's columns; both_sure: records in both_high_confidence.jsonl, null without a second
    pass; human: HUMAN_COLUMNS of human_audited, null without human verdicts; counted: `records` with other columns,
    by their names without RECORDS.
    """

    records: pl.DataFrame
    step_counts: pl.DataFrame
    labels: pl.DataFrame
    pool: pl.DataFrame
    both_sure: int | None = None
    human: pl.DataFrame | None = None
    counted: Mapping[tuple[str, ...], pl.DataFrame] = field(default_factory=dict)

    def of_columns(self, names: tuple[str, ...]) -> "Corpus":
        """The corpus with these columns of records, and RECORDS, alone."""
        return replace(
            self, records=self.counted[names] if names in self.counted else self.records.select(*names, RECORDS)
        )

    def with_human(self, human: pl.DataFrame | None) -> "Corpus":
        """The corpus with other verdicts. It must have a row for each trajectory."""
        return replace(self, records=with_verdicts(self.records.drop(VERDICTS), human), human=human)

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
        baseline_records = number_of(self.records.filter(IS_BASELINE))
        if self.status == BASELINE:
            return BASELINE_ONLY
        return BASELINE_LEFT.format(records=baseline_records) if baseline_records else ""

    @property
    def notice(self) -> str | None:
        """The notice about labels of the rules judge, or about records that nobody judged; else null."""
        return UNJUDGED_NOTICE if self.is_unjudged else notice_of(self.records["judge"])

    @property
    def is_unjudged(self) -> bool:
        """True if nobody judged its records."""
        return names_unjudged(set(self.records.select(status()).to_series()), set(self.records["judge"]))


def number_of(rows: pl.DataFrame) -> int:
    """How many records the rows of a Corpus stand for."""
    return int(rows[RECORDS].sum())


def read_corpus(root: Path, columns: Iterable[str] = ()) -> Corpus:
    """The release in `root`, with a row for each trajectory, which has its `trajectory_id` and VERDICTS. `columns`: of
    the records, besides BASE_COLUMNS. Raises UsageError if it is not a release, and UnreadableInput with the file if
    one cannot be read."""
    with readable(root):
        human = human_verdicts(root)
        records = pl.concat([no_records(columns), *record_parts(root, columns)]).drop(SUMMED, strict=False)
        each = with_verdicts(records, human).with_columns(pl.lit(1, pl.Int64).alias(RECORDS))
        return Corpus(each, pl.DataFrame(schema=STEP_COUNTS), *labels_and_pool(root), both_sure(root), human)


def count_corpus(root: Path, columns: Iterable[str], tables: Iterable[tuple[str, ...]]) -> Corpus:
    """The release in `root`, counted. `columns`: of the records, besides BASE_COLUMNS; `tables`: the sets of columns by
    which its records are counted. Raises as `read_corpus`."""
    with readable(root):
        human = human_verdicts(root)
        counted, step_counts = count_records(record_parts(root, columns), columns, tables, human)
        records = counted[BASE_COLUMNS]
        return Corpus(records, step_counts, *labels_and_pool(root), both_sure(root), human, counted)


@contextlib.contextmanager
def readable(root: Path) -> Iterator[None]:
    """UsageError if the folder is not a release; UnreadableInput for what cannot be read of it."""
    if not (root / SUMMARY).is_file():  # a release without a session has no folder of a source model
        raise UsageError(f"{root}: holds no {SUMMARY}, so it is not a release. Name the folder that has it.")
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableInput(
            f"{root}: cannot read the release: {reason}. Validate the copy, or fetch it anew."
        ) from error


def record_parts(root: Path, columns: Iterable[str]) -> Iterator[pl.DataFrame]:
    """`record_columns` of the records of a release, shard by shard."""
    for model in models_of(root):
        for path in shards_of(root, f"{ROOT}/{model}/{MASTER_FILE}"):
            yield scan_records(path).select(record_columns(columns)).collect(engine="streaming")


def labels_and_pool(root: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`labels` and `pool` of a Corpus; without rows where nobody judged."""
    if nobody_judged(root):
        return NO_LABELS, empty(PoolRow)
    rows = ((scan_labels(root, cut, side), cut, side) for cut in CUTS for side in SIDES)
    labels = pl.concat([count_labels(*each).collect(engine="streaming") for each in rows])
    pool = pl.read_parquet(root / typed_file(POOL_FILE), glob=False)
    return labels, pool.select(list(PoolRow.model_fields))


def human_verdicts(root: Path) -> pl.DataFrame | None:
    """`human` of a Corpus."""
    path = root / typed_file(HUMAN_FILE)
    return pl.read_parquet(path, glob=False, columns=list(HUMAN_COLUMNS)) if path.is_file() else None


def scan_records(path: Path) -> pl.LazyFrame:
    """A shard of a master table, with the columns of ADDED whatever checkout wrote it."""
    scan = pl.scan_parquet(path, glob=False)
    names = scan.collect_schema().names()
    return scan.with_columns(pl.lit(None, kind).alias(name) for name, kind in ADDED.items() if name not in names)


def record_columns(columns: Iterable[str]) -> list[pl.Expr]:
    """The id of a trajectory, BASE_COLUMNS and `columns` as expressions over the columns of a master table."""
    names = [name for name in ("trajectory_id", *BASE_COLUMNS, *columns) if name not in VERDICTS]
    return [COMPUTED.get(name, pl.col(name)).alias(name) for name in names]


def no_records(columns: Iterable[str]) -> pl.DataFrame:
    """`record_columns` of no records."""
    return pl.DataFrame(schema=schema(Master)).select(record_columns(columns))


def count_records(
    parts: Iterable[pl.DataFrame],
    columns: Iterable[str],
    tables: Iterable[tuple[str, ...]],
    human: pl.DataFrame | None,
) -> tuple[dict[tuple[str, ...], pl.DataFrame], pl.DataFrame]:
    """(counted, step_counts) of a Corpus, of parts that each have `record_columns`. `tables`: the sets of columns."""
    counts: dict[tuple[str, ...], list[pl.DataFrame]] = {names: [] for names in (BASE_COLUMNS, *tables)}
    sums = [pl.DataFrame(schema=STEP_COUNTS)]
    for number, part in enumerate(chain([no_records(columns)], parts)):
        sums += [step_sums(part, column) for column in SUMMED if column in part.columns]
        judged = with_verdicts(part, human)
        for names, count in counts.items():
            own = judged.lazy().group_by(names).agg(pl.len().cast(pl.Int64).alias(RECORDS))
            count.append(own.collect(engine="streaming"))  # the other engine's groups hold on to all texts of the part
        if number % COUNTED_AT_ONCE == 0:
            counts = {names: [added_up(count, names)] for names, count in counts.items()}
            sums = [added_up(sums, STEP_KEYS)]
    return {names: added_up(count, names) for names, count in counts.items()}, added_up(sums, STEP_KEYS)


def added_up(counts: list[pl.DataFrame], names: Iterable[str]) -> pl.DataFrame:
    """Counts by some columns, of several parts, as those of all of them."""
    return pl.concat(counts).group_by(names, maintain_order=True).sum()


def with_verdicts(records: pl.DataFrame, human: pl.DataFrame | None) -> pl.DataFrame:
    """Records with VERDICTS. `human`: HUMAN_COLUMNS; verdicts on another label than the record has do not count."""
    if human is None:
        return records.with_columns(reviewed=pl.lit(False), human_anomaly_label=pl.lit(None, pl.Boolean))
    verdicts = human.filter(pl.col("same_label")).drop("same_label").with_columns(reviewed=pl.lit(True))
    verdicts = verdicts.unique(list(TRAJECTORY_KEY), keep="first", maintain_order=True)  # one a record
    joined = records.join(verdicts, on=list(TRAJECTORY_KEY), how="left", maintain_order="left")
    return joined.with_columns(pl.col("reviewed").fill_null(False))


def step_sums(records: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows of STEP_COUNTS of one column of SUMMED."""
    sums = records.lazy().select("source_model", column).unnest(column).group_by("source_model").sum()
    by_model = sums.collect(engine="streaming").sort("source_model")
    rows = by_model.unpivot(index="source_model", variable_name="name", value_name="steps")
    return rows.select(column=pl.lit(column), source_model="source_model", name="name", steps="steps")


def scan_labels(root: Path, cut: str, side: str) -> pl.LazyFrame:
    """The rows of one label file."""
    return pl.scan_parquet(root / f"{CUTS[cut]}silver_{side}_labels.parquet", glob=False)


def count_labels(rows: pl.LazyFrame, cut: str, side: str) -> pl.LazyFrame:
    """Rows of a label file, counted as `labels` of a Corpus has them."""
    counted = rows.group_by(LABEL_COLUMNS).agg(pl.len().cast(pl.Int64).alias(RECORDS))
    return counted.select(*LABEL_COLUMNS, pl.lit(cut).alias("cut"), pl.lit(side).alias("side"), RECORDS)


def both_sure(root: Path) -> int | None:
    """Number of lines of both_high_confidence.jsonl; null without a second pass."""
    if not released(root / BOTH_FILE):
        return None
    with open_lines(root / BOTH_FILE) as file:
        return sum(1 for _ in file)
