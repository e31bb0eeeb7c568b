"""Leakage certificate: how much a detector could know of the test side of a cut before it reads a single step."""

from typing import Any, NamedTuple

import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import NearCounts, PaperStrata, SideCounts, SplitCertificate, SplitCertificates
from openclawbench.release.labels.places import status_and_cuts
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records

NORMAL = "normal"
LABELLED = ["task", "is_anomalous", "anomaly_type_l2", "count"]
ANOMALOUS = pl.col("is_anomalous").fill_null(False)


@stage(scope="corpus")
def certify(counts: SideCounts, near: NearCounts, strata: PaperStrata) -> SplitCertificates:
    """A certificate of both cuts and of each hold-out, over the accepted rows, or over the baseline rows if no row is
    accepted."""
    status, cuts = status_and_cuts(strata.collect())
    rows = counts.with_columns(pl.col(pl.String).cast(pl.Categorical)).collect()  # a fourth of the memory
    pool, certified = (rows.lazy().filter(name) for name in ("in_calibration_pool", "certified"))
    near_counts = near.group_by("cut").agg(pl.col("near_test", "near_pool").sum()).collect()
    of_cut = {cut: numbers for cut, *numbers in near_counts.select("cut", "near_test", "near_pool").iter_rows()}
    certificates = []
    for name, cut in cuts.items():
        tables = (certified.filter(cut == "train"), certified.filter(cut == "test"), pool)
        sides = LabelledSides(*pl.collect_all([table.select(LABELLED) for table in tables]))
        content = {"label_status": status} | certificate(sides, *of_cut.get(name, (0, 0)))
        certificates.append({"cut": name, "certificate": canonical_json(content)})
    return from_records(certificates, SplitCertificate).lazy()


class LabelledSides(NamedTuple):
    """Rows of SideCount: label rows of one status, counted by what they have in common."""

    train: pl.DataFrame
    test: pl.DataFrame
    pool: pl.DataFrame  # of the calibration pool, whatever side they are on


def certificate(sides: LabelledSides, near_duplicates: int, near_duplicates_of_pool: int) -> dict[str, Any]:
    """Numbers on one cut.

    shared_tasks: tasks on both sides; test_records_of_shared_tasks: records of the test side with such a task.
    near_duplicates: records of the train side that are exact or near duplicates of one on the test side.
    pool_tasks_in_train: tasks of the calibration pool that the train side has too; near_duplicates_of_pool: records of
    the train side that are exact or near duplicates of one in the pool (records of the pool count).
    subtype_share: of each side, the share of each subtype. memoriser: a predictor that looks up the task.
    """
    train, test, pool = sides
    shared = test.join(train, on="task", how="semi")
    return {
        "train": count_records(train),
        "test": count_records(test),
        "shared_tasks": shared["task"].n_unique(),
        "test_records_of_shared_tasks": count_records(shared),
        "near_duplicates": near_duplicates,
        "pool_tasks_in_train": pool.join(train, on="task", how="semi")["task"].n_unique(),
        "near_duplicates_of_pool": near_duplicates_of_pool,
        "subtype_share": {"train": shares(train), "test": shares(test)},
        "memoriser": memoriser(train, test),
    }


def count_records(rows: pl.DataFrame) -> int:
    """The records that are counted."""
    return int(rows["count"].sum())


def shares(rows: pl.DataFrame) -> dict[str, float]:
    """Share of each label, to six digits."""
    label = pl.col("anomaly_type_l2").cast(pl.String).fill_null(NORMAL)
    counts = rows.group_by(label).agg(pl.col("count").sum()).sort("anomaly_type_l2")
    return {name: round(count / count_records(rows), 6) for name, count in counts.iter_rows()}


def memoriser(train: pl.DataFrame, test: pl.DataFrame) -> dict[str, float | None]:
    """F1 of anomalous for a predictor that knows only the task: the majority label of the task's train records; for
    ties and unknown tasks the majority of train. Null if F1 is not defined: the test side is empty, or it has no
    anomaly and none is predicted."""
    if not len(test):
        return {"f1": None, "share_known": None}
    count = pl.col("count")
    votes = train.group_by("task").agg(yes=count.filter(ANOMALOUS).sum(), votes=count.sum())
    overall = int(votes["yes"].sum()) * 2 > count_records(train)
    twice, of, tie = pl.col("yes") * 2, pl.col("votes"), pl.lit(overall)
    rows = test.join(votes, on="task", how="left").select(
        "count",
        truth=ANOMALOUS,
        known=pl.col("votes").is_not_null(),
        predicted=pl.when(twice == of).then(tie).otherwise(twice > of).fill_null(tie),
    )
    masks = (rows["truth"] & rows["predicted"], rows["truth"], rows["predicted"], rows["known"])
    hits, truth, predicted, known = (count_records(rows.filter(mask)) for mask in masks)
    return {
        "f1": round(2 * hits / (truth + predicted), 6) if truth or predicted else None,
        "share_known": round(known / count_records(rows), 6),
    }
