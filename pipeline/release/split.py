"""Split: which label file each trajectory stands in, in both cuts, or the reason why it is in none."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.canonical import canonical_json, sha256_text
from pipeline.records.release import (
    Fingerprints,
    LabelAssignment,
    LabelAssignments,
    LabelBases,
    SplitCertificate,
    SplitCertificates,
)
from pipeline.release.duplicates import Sides, Texts, near_in_each, texts_of
from pipeline.release.keys import Key, key_of
from pipeline.release.leakage import certificate
from pipeline.rules.release import ReleaseRules
from pipeline.stage import stage
from pipeline.tables import from_records

ACCEPTED = ("high_confidence_accepted", "accepted_repaired")
NEAR_DUPLICATE = "near_duplicate_of_test"
CUTS = ("default_cut", "paper_cut")
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

    Default cut: by hash of the task, so no record changes side as the corpus grows; calibration records leave it, and
    so do train records that are nearly one of test.
    Paper cut: source_model x subset strata by largest remainder; calibration records stay, flagged.
    """
    found = basis.select(READ).collect().sort("source_model", "trajectory_id")
    rows = found.to_dicts()
    pool, test = calibration_pool(rows, rules), paper_test(rows, rules)
    assigned = from_records([assign(row, pool, test, rules) for row in rows], LabelAssignment)
    texts = texts_of(found, fingerprints.collect(), rules)
    assigned = without_duplicates(assigned, texts, rules)
    known = assigned.with_columns(found["task_digest"])
    said = [{"cut": cut, "certificate": canonical_json(one)} for cut, one in certificates(known, texts, rules)]
    return assigned.lazy(), from_records(said, SplitCertificate).lazy()


def without_duplicates(rows: pl.DataFrame, texts: Texts, rules: ReleaseRules) -> pl.DataFrame:
    """The rows, those train records out of the default cut that are, exactly or nearly, one of its test records."""
    (gone,) = near_in_each([on_sides(rows, pl.col("default_cut"))], texts, rules)
    near = pl.lit(pl.Series(gone))
    return rows.with_columns(
        default_cut=pl.when(~near).then("default_cut"),
        default_reason=pl.when(near).then(pl.lit(NEAR_DUPLICATE)).otherwise("default_reason"),
    )


def certificates(rows: pl.DataFrame, texts: Texts, rules: ReleaseRules) -> Iterator[tuple[str, dict[str, Any]]]:
    """(cut, certificate) of both cuts and of each hold-out."""
    models = rows["source_model"].unique().sort()
    cuts = {cut: pl.col(cut) for cut in CUTS} | {f"{HELD}{model}": hold_out(model) for model in models}
    accepted = pl.col("label_status") == "accepted"
    found = [on_sides(rows, pl.when(accepted).then(cut)) for cut in cuts.values()]
    for name, cut, near in zip(cuts, found, near_in_each(found, texts, rules), strict=True):
        yield name, certificate(rows.filter(cut.train), rows.filter(cut.test), int(near.sum()))


def on_sides(rows: pl.DataFrame, cut: pl.Expr) -> Sides:
    """Of each row, whether it is on a side of a cut."""
    found = rows.select((cut == side).fill_null(False).alias(side) for side in ("test", "train"))
    return Sides(found["test"].to_numpy(), found["train"].to_numpy())


def hold_out(model: str) -> pl.Expr:
    """Side of a record where one source model is held out: that model's records are the test side."""
    side = pl.when(pl.col("source_model") == model).then(pl.lit("test")).otherwise(pl.lit("train"))
    return pl.when(pl.col("paper_cut").is_not_null()).then(side)


def hashed(*parts: str) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return int(sha256_text("\0".join(parts))[:13], 16) / 16**13


def label_status(row: dict[str, Any]) -> str | None:
    """accepted, needs_review, or null where there is no decision to show."""
    if row["quality_tier"] in ACCEPTED:
        return "accepted"
    return "needs_review" if row["is_anomalous"] is not None else None


def assign(row: dict[str, Any], pool: set[Key], test: set[Key], rules: ReleaseRules) -> dict[str, Any]:
    """The label row of one trajectory with its side in both cuts."""
    key, status = key_of(row), label_status(row)
    reason = "partial_trial_record" if row["partial_trial"] else "no_decision" if status is None else None
    default = "test" if hashed("default_cut", row["task_digest"]) >= 1 - rules.test_share else "train"
    default_reason = reason or ("calibration_pool" if key in pool else None)
    return {
        "source_model": row["source_model"],
        "trajectory_id": row["trajectory_id"],
        "task_id": row["task_id"],
        "is_anomalous": row["is_anomalous"],
        "anomaly_type_l2": row["anomaly_type_l2"],
        "quality_tier": row["quality_tier"],
        "label_status": status or "needs_review",
        "scoreable": not row["incomplete"] and row["num_steps"] > 0,
        "in_calibration_pool": key in pool,
        "slice_label": row["slice_label"],
        "default_cut": None if default_reason else default,
        "paper_cut": None if reason else ("test" if key in test else "train"),
        "default_reason": default_reason,
        "paper_reason": reason,
    }


def paper_test(rows: list[dict[str, Any]], rules: ReleaseRules) -> set[Key]:
    """Test side of the paper cut: ceil(share) of the accepted, and of those that need review, by strata."""
    test: set[Key] = set()
    for status in ("accepted", "needs_review"):
        strata: dict[tuple[str, str], list[Key]] = defaultdict(list)
        for row in rows:
            if label_status(row) == status and not row["partial_trial"]:
                strata[row["source_model"], row["subset"] or ""].append(key_of(row))
        for stratum, quota in quotas({s: len(keys) for s, keys in strata.items()}, rules.test_share).items():
            test.update(sorted(strata[stratum], key=lambda key: (hashed("paper_cut", *key), key))[:quota])
    return test


def quotas(sizes: dict[tuple[str, str], int], share: float) -> dict[tuple[str, str], int]:
    """How many of each stratum go to test: floors first, then the largest remainders, ceil(share * n) in all."""
    total = math.ceil(round(share * sum(sizes.values()), 9))
    exact = {stratum: share * size for stratum, size in sizes.items()}
    found = {stratum: int(one) for stratum, one in exact.items()}
    by_remainder = sorted(sizes, key=lambda stratum: (-(exact[stratum] - found[stratum]), stratum))
    for stratum in by_remainder[: total - sum(found.values())]:
        found[stratum] += 1
    return found


def calibration_pool(rows: list[dict[str, Any]], rules: ReleaseRules) -> set[Key]:
    """Accepted oracle-passing records, the same number of each slice, models in turn, by hash within a model."""
    pool: set[Key] = set()
    for slice_label in rules.calibration.slices:
        models: dict[str, list[Key]] = defaultdict(list)
        for row in rows:
            kept = row["quality_tier"] in ACCEPTED and not row["partial_trial"]
            if row["slice_label"] == slice_label and kept:
                models[row["source_model"]].append(key_of(row))
        size = sum(map(len, models.values()))
        wanted = min(rules.calibration.per_slice, int(size * rules.calibration.share))
        queues = [sorted(models[m], key=lambda key: (hashed("calibration", *key), key)) for m in sorted(models)]
        taken = [
            queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)
        ]
        pool.update(taken[:wanted])
    return pool
