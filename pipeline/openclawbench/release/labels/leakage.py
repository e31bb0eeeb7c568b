"""Leakage certificate: how much a detector could know of the test side of a cut before it reads a single step."""

from typing import Any, NamedTuple

import polars as pl

NORMAL = "normal"
ANOMALOUS = pl.col("is_anomalous").fill_null(False)


class LabelledSides(NamedTuple):
    """Label rows of one status, each with its `task_digest`."""

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
    shared = test.join(train, on="task_digest", how="semi")["task_digest"]
    return {
        "train": len(train),
        "test": len(test),
        "shared_tasks": shared.n_unique(),
        "test_records_of_shared_tasks": len(shared),
        "near_duplicates": near_duplicates,
        "pool_tasks_in_train": pool.join(train, on="task_digest", how="semi")["task_digest"].n_unique(),
        "near_duplicates_of_pool": near_duplicates_of_pool,
        "subtype_share": {"train": shares(train), "test": shares(test)},
        "memoriser": memoriser(train, test),
    }


def shares(rows: pl.DataFrame) -> dict[str, float]:
    """Share of each label, to six digits."""
    counts = rows["anomaly_type_l2"].fill_null(NORMAL).value_counts().sort("anomaly_type_l2")
    return {name: round(count / len(rows), 6) for name, count in counts.iter_rows()}


def memoriser(train: pl.DataFrame, test: pl.DataFrame) -> dict[str, float | None]:
    """F1 of anomalous for a predictor that knows only the task: the majority label of the task's train records; for
    ties and unknown tasks the majority of train. Null if F1 is not defined: the test side is empty, or it has no
    anomaly and none is predicted."""
    if not len(test):
        return {"f1": None, "share_known": None}
    votes = train.group_by("task_digest", maintain_order=True).agg(yes=ANOMALOUS.sum(), votes=pl.len())
    overall = int(votes["yes"].sum()) * 2 > len(train)
    yes, tie = pl.col("yes").cast(pl.Int64) * 2 - pl.col("votes"), pl.lit(overall)
    voted = test.join(votes, on="task_digest", how="left", maintain_order="left")
    rows = voted.select(truth=ANOMALOUS, predicted=pl.when(yes == 0).then(tie).otherwise(yes > 0).fill_null(tie))
    masks = (rows["truth"] & rows["predicted"], rows["truth"], rows["predicted"])
    hits, truth, predicted = (int(mask.sum()) for mask in masks)
    return {
        "f1": round(2 * hits / (truth + predicted), 6) if truth or predicted else None,
        "share_known": round(voted["votes"].count() / len(test), 6),
    }
