"""Split: assigns each trajectory to a label file of both cuts, or gives the reason why it is left out; and counts the
assignments of a shard for the certificates."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from openclawbench.records.release import (
    LabelAssignment,
    LabelAssignments,
    LabelBases,
    LabelPlaces,
    NearCounts,
    NearSides,
    PaperStrata,
    PoolMembers,
    SideCount,
    SideCounts,
)
from openclawbench.release.labels.duplicates import NEAR_RESERVED, NEAR_TEST, memberships, near
from openclawbench.release.labels.leakage import certify
from openclawbench.release.labels.places import IN_POOL, draw, on_sides, place, status_and_cuts
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.runtime.stage import PARTITIONS, Stage, stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import conform

# Columns of the basis that a label row has in addition to those of the place.
LABEL_COLUMNS = ("task_id", "is_anomalous", "anomaly_type_l2", "quality_tier", "num_steps", "incomplete")
COUNTED_BY = [name for name in SideCount.model_fields if name != "count"]


@stage(scope="shard")
def split(
    basis: LabelBases, places: LabelPlaces, strata: PaperStrata, pool: PoolMembers, near_sides: NearSides
) -> tuple[LabelAssignments, SideCounts, NearCounts]:
    """One row per trajectory, sorted by key; counts for the certificates.

    Default cut: by hash of the task, so no record changes side as the corpus grows. A share of the tasks is test, a
    share is reserved for calibration and on no side, the others are train. Train records that are near duplicates of a
    test record or of a reserved task are left out. The calibration pool is taken from the reserved tasks only, so that
    its records, and other records of their tasks, are never trained on, however the corpus grows.
    Paper cut: source_model x subset strata by largest remainder; calibration records stay on its test side, flagged,
    and leave its train side.
    """
    drawn = strata.collect()
    sides = on_sides(places, strata, pool).collect().lazy()
    own = memberships(sides, drawn)
    of_others = near_sides.join(sides.select("sketch").unique(), on="sketch", how="semi")
    reached = pl.concat([own, of_others]).unique().group_by("sketch").agg(near="side")
    labels = basis.select(*TRAJECTORY_KEY, *LABEL_COLUMNS)
    rows = sides.join(labels, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    rows = without_duplicates(rows.join(reached, on="sketch", how="left", maintain_order="left")).collect().lazy()
    return rows.select(list(LabelAssignment.model_fields)), *counts(rows, drawn)


def without_duplicates(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows, without those train records of the default cut that are exact or near duplicates of a test record or of
    a record of a reserved task. `rows`: with `near`, the sides on which a record or its near duplicates are."""
    is_train = pl.col("default_cut") == "train"
    of_test, of_reserved = (is_near(name) & is_train for name in (NEAR_TEST, NEAR_RESERVED))
    reason = pl.when(of_test).then(pl.lit(NEAR_TEST)).when(of_reserved).then(pl.lit(NEAR_RESERVED))
    return rows.with_columns(
        default_cut=pl.when((of_test | of_reserved).not_().fill_null(True)).then("default_cut"),
        default_reason=reason.otherwise("default_reason"),
        scoreable=~pl.col("incomplete") & (pl.col("num_steps") > 0),
    )


def is_near(side: str) -> pl.Expr:
    """True for a record with text that is on a side, or is a near duplicate of one that is."""
    return pl.col("near").list.contains(side).fill_null(False)


def counts(rows: pl.LazyFrame, strata: pl.DataFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """SideCount: the rows that certificates are about, and those of the pool; NearCount: the train records of each cut
    that are near duplicates of one on its test side, or of one of the pool."""
    status, cuts = status_and_cuts(strata)
    certified = rows.with_columns(certified=pl.col("label_status") == status)
    counted = certified.filter(pl.col("certified") | pl.col("in_calibration_pool"))
    side_counts = counted.group_by(COUNTED_BY).agg(count=pl.len()).sort(COUNTED_BY)
    shown = certified.filter("certified").collect().lazy()
    near_counts = [
        shown.filter(cut == "train").select(
            cut=pl.lit(name), near_test=is_near(name).sum(), near_pool=is_near(IN_POOL).sum()
        )
        for name, cut in cuts.items()
    ]
    return side_counts, pl.concat(near_counts)


def split_corpus(
    slices: Sequence[tuple[pl.LazyFrame, pl.LazyFrame]], rules: ReleaseRules, folder: Path | None = None
) -> tuple[list[pl.LazyFrame], pl.DataFrame]:
    """LabelAssignment of each slice, and SplitCertificate of all slices, computed by the stages without a run.

    A slice is (LabelBasis, Fingerprint) of some records. `folder`: for temporary files; without it all tables stay in
    memory."""

    def run_stage(stage: Stage, number: int, tables: Sequence[pl.LazyFrame]) -> list[pl.LazyFrame]:
        frames = [conform(table.collect(), record) for table, record in zip(tables, stage.writes, strict=True)]
        if folder is None:
            return [frame.lazy() for frame in frames]
        files = [folder / f"{record.__name__}-{number}.parquet" for record in stage.writes]
        for frame, file in zip(frames, files, strict=True):
            frame.write_parquet(file, compression="lz4")
        return [pl.scan_parquet(file, glob=False) for file in files]

    own = [run_stage(place, number, place(*tables, rules)) for number, tables in enumerate(slices)]
    places, sketches, bands = (pl.concat(tables) for tables in zip(*own, strict=True))
    strata, pool = (table.collect().lazy() for table in draw(places, rules))
    parts = (bands.filter(pl.col("partition") == number) for number in range(PARTITIONS))
    sides = pl.concat(near(part, sketches, places, strata, pool, rules).collect() for part in parts).lazy()
    assigned, *counted = zip(
        *(
            run_stage(split, number, split(basis, own[number][0], strata, pool, sides))
            for number, (basis, _) in enumerate(slices)
        ),
        strict=True,
    )
    return list(assigned), certify(*map(pl.concat, counted), strata).collect()
