"""Split: the label file of each trajectory in both cuts, or the reason why it is left out."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.records.release import (
    Fingerprints,
    LabelAssignment,
    LabelAssignments,
    LabelBases,
    SplitCertificate,
    SplitCertificates,
)
from openclawbench.records.tiers import NEEDS_REVIEW, STATUSES, main_status, status_of
from openclawbench.release.labels.duplicates import Sides, Texts, near_in_each, texts_of
from openclawbench.release.labels.leakage import LabelledSides, certificate
from openclawbench.release.record_key import Key, key_of
from openclawbench.rules.release import ReleaseRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import empty, from_records

NEAR_TEST, NEAR_RESERVED = "near_duplicate_of_test", "near_duplicate_of_calibration_task"
IN_POOL, RESERVED = "calibration_pool", "calibration_task"
CUTS = ("default_cut", "paper_cut")
ROWS_AT_ONCE = 8192  # that are assigned together: bounds the memory that they take as objects
HELD = "hold_out/"  # with the source model behind it: the name of a cut that holds it out
# Columns of the basis that decide a row.
READ = (
    *("source_model", "trajectory_id", "subset", "task_id", "task_digest", "is_anomalous", "anomaly_type_l2"),
    *("quality_tier", "slice_label", "num_steps", "incomplete", "partial_trial"),
)


@stage(scope="corpus")
def split(
    basis: LabelBases, fingerprints: Fingerprints, rules: ReleaseRules
) -> tuple[LabelAssignments, SplitCertificates]:
    """One row a trajectory, sorted by key; a certificate a cut.

    Default cut: by hash of the task, so no record changes side as the corpus grows. A share of the tasks is test, a
    share is reserved for calibration and on no side, the others are train. Train records that are near duplicates of a
    test record or of a reserved task are left out. The calibration pool is taken from the reserved tasks only, so that
    its records, and other records of their tasks, are never trained on, however the corpus grows.
    Paper cut: source_model x subset strata by largest remainder; calibration records stay, flagged.
    """
    records = basis.select(READ).collect().sort("source_model", "trajectory_id")
    rows = Rows(records)
    pool, test = calibration_pool(rows, rules), paper_test(rows, rules)
    parts = [
        from_records([assign(row, pool, test, rules) for row in Rows(part)], LabelAssignment)
        for part in records.iter_slices(ROWS_AT_ONCE)
    ]
    assigned = pl.concat([empty(LabelAssignment), *parts])
    texts = texts_of(records, fingerprints.collect(), rules)
    assigned = without_duplicates(assigned, texts, rules)
    with_digests = assigned.with_columns(records["task_digest"])
    certificate_rows = [
        {"cut": cut, "certificate": canonical_json(certificate)}
        for cut, certificate in certificates(with_digests, texts, rules)
    ]
    return assigned.lazy(), from_records(certificate_rows, SplitCertificate).lazy()


class Rows:
    """The rows of a table, made anew each time that they are iterated: all of them at once take ten times the table."""

    def __init__(self, table: pl.DataFrame) -> None:
        self.table = table

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.table.iter_rows(named=True)


def without_duplicates(rows: pl.DataFrame, texts: Texts, rules: ReleaseRules) -> pl.DataFrame:
    """The rows, without those train records of the default cut that are exact or near duplicates of a test record or of
    a record of a reserved task."""
    reserved = pl.col("default_reason").is_in([IN_POOL, RESERVED]).fill_null(False)
    sides = [on_sides(rows, pl.col("default_cut")), beside_train(rows, reserved, pl.col("default_cut"))]
    of_test, of_reserved = (pl.lit(pl.Series(gone)) for gone in near_in_each(sides, texts, rules))
    reason = pl.when(of_test).then(pl.lit(NEAR_TEST)).when(of_reserved).then(pl.lit(NEAR_RESERVED))
    return rows.with_columns(
        default_cut=pl.when(~(of_test | of_reserved)).then("default_cut"),
        default_reason=reason.otherwise("default_reason"),
    )


def certificates(rows: pl.DataFrame, texts: Texts, rules: ReleaseRules) -> Iterator[tuple[str, dict[str, Any]]]:
    """(cut, certificate) of both cuts and of each hold-out, over the accepted rows, or over the baseline rows if no row
    is accepted."""
    models = rows["source_model"].unique().sort()
    cuts = {cut: pl.col(cut) for cut in CUTS} | {f"{HELD}{model}": hold_out(model) for model in models}
    status = main_status(rows["label_status"])
    pool = pl.col("in_calibration_pool")
    shown = [pl.when(pl.col("label_status") == status).then(cut) for cut in cuts.values()]
    side_counts = [on_sides(rows, cut) for cut in shown]
    pools = [beside_train(rows, pool, cut) for cut in shown]
    near = [int(mask.sum()) for mask in near_in_each([*side_counts, *pools], texts, rules)]
    for number, (name, cut) in enumerate(zip(cuts, side_counts, strict=True)):
        sides = LabelledSides(rows.filter(cut.train), rows.filter(cut.test), rows.filter(pool))
        yield name, {"label_status": status} | certificate(sides, near[number], near[number + len(cuts)])


def on_sides(rows: pl.DataFrame, cut: pl.Expr) -> Sides:
    """For each row, whether it is on a side of a cut."""
    sides = rows.select((cut == side).fill_null(False).alias(side) for side in ("test", "train"))
    return Sides(sides["test"].to_numpy(), sides["train"].to_numpy())


def beside_train(rows: pl.DataFrame, held: pl.Expr, cut: pl.Expr) -> Sides:
    """The train side of a cut, with the records held back from it in place of the test side."""
    return Sides(rows.select(held).to_series().to_numpy(), on_sides(rows, cut).train)


def hold_out(model: str) -> pl.Expr:
    """Side of a record if one source model is held out: that model's records are the test side."""
    side = pl.when(pl.col("source_model") == model).then(pl.lit("test")).otherwise(pl.lit("train"))
    return pl.when(pl.col("paper_cut").is_not_null()).then(side)


def hashed(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts only."""
    return int(sha256_text("\0".join(parts))[:13], 16) / 16**13


def zone(task_digest: str, rules: ReleaseRules) -> str:
    """train, test, or `calibration_task`, by hash of the task only: reserved tasks at the lower end, test at the upper,
    so that a larger share of either takes tasks only from train."""
    place = hashed("default_cut", task_digest)
    if place >= 1 - rules.test_share:
        return "test"
    return RESERVED if place < rules.calibration.task_share else "train"


def decided_status(row: Mapping[str, Any]) -> str | None:
    """The label_status of a record; null if it is in review without a decision."""
    status = status_of(row["quality_tier"])
    return None if status == NEEDS_REVIEW and row["is_anomalous"] is None else status


def assign(row: dict[str, Any], pool: set[Key], test: set[Key], rules: ReleaseRules) -> dict[str, Any]:
    """The label row of one trajectory with its side in both cuts."""
    key, status, side = key_of(row), decided_status(row), zone(row["task_digest"], rules)
    reason = "partial_trial_record" if row["partial_trial"] else "no_decision" if status is None else None
    default_reason = reason or (IN_POOL if key in pool else RESERVED if side == RESERVED else None)
    return {
        "source_model": row["source_model"],
        "trajectory_id": row["trajectory_id"],
        "task_id": row["task_id"],
        "is_anomalous": row["is_anomalous"],
        "anomaly_type_l2": row["anomaly_type_l2"],
        "quality_tier": row["quality_tier"],
        "label_status": status_of(row["quality_tier"]),
        "scoreable": not row["incomplete"] and row["num_steps"] > 0,
        "in_calibration_pool": key in pool,
        "slice_label": row["slice_label"],
        "default_cut": None if default_reason else side,
        "paper_cut": None if reason else ("test" if key in test else "train"),
        "default_reason": default_reason,
        "paper_reason": reason,
    }


def paper_test(rows: Iterable[dict[str, Any]], rules: ReleaseRules) -> set[Key]:
    """Test side of the paper cut: ceil(share) of the accepted, of the baseline, and of those that need review, by
    strata."""
    test: set[Key] = set()
    for status in STATUSES:
        strata: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for row in rows:
            if decided_status(row) == status and not row["partial_trial"]:
                strata[row["source_model"], row["subset"] or ""].append(key_of(row))
        for stratum, quota in quotas({s: len(keys) for s, keys in strata.items()}, rules.test_share).items():
            test.update(sorted(strata[stratum], key=lambda key: (hashed("paper_cut", *key), key))[:quota])
    return test


def quotas(sizes: dict[tuple[str, str], int], share: float) -> dict[tuple[str, str], int]:
    """Number of test records of each stratum: floors first, then the largest remainders, ceil(share * n) in all."""
    total = math.ceil(round(share * sum(sizes.values()), 9))
    exact = {stratum: share * size for stratum, size in sizes.items()}
    quota_by_stratum = {stratum: int(value) for stratum, value in exact.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (-(exact[stratum] - quota_by_stratum[stratum]), stratum))
    for stratum in by_remainder[: total - sum(quota_by_stratum.values())]:
        quota_by_stratum[stratum] += 1
    return quota_by_stratum


def calibration_pool(rows: Iterable[dict[str, Any]], rules: ReleaseRules) -> set[Key]:
    """Oracle-passing records of the reserved tasks that are not in review, up to the same number of each slice, models
    in turn, by hash within a model."""
    pool: set[Key] = set()
    for slice_label in rules.calibration.slices:
        models: dict[str, list[Key]] = defaultdict(list)
        for row in rows:
            is_eligible = status_of(row["quality_tier"]) != NEEDS_REVIEW and not row["partial_trial"]
            if is_eligible and row["slice_label"] == slice_label and zone(row["task_digest"], rules) == RESERVED:
                models[row["source_model"]].append(key_of(row))
        queues = [sorted(models[m], key=lambda key: (hashed("calibration", *key), key)) for m in sorted(models)]
        by_turns = [
            queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)
        ]
        pool.update(by_turns[: rules.calibration.per_slice])
    return pool
