"""Records and anomalies on each side of each cut, and the faults of a cut. The dataset card has more detail."""

import math
from typing import Any

import polars as pl

from openclawbench.release.labels.places import CUTS, hashed
from openclawbench.rules.release import ReleaseRules

FEW = 5  # anomalies on a test side; a rate over fewer is meaningless
ENOUGH = (1, FEW)
DEFAULT_CUT = CUTS[0]
SIDES = ("train", "test")


def count_splits(assigned: pl.LazyFrame) -> list[dict[str, Any]]:
    """Count records, decided and anomalous ones by cut and side; then what the default cut leaves out, by reason.

    Columns of a row: cut, side, records, decided, anomalous. `assigned`: LabelAssignment.
    """
    decided = pl.col("label_status") != "needs_review"  # accepted, or the rules judge's baseline
    numbers = {
        "records": pl.len(),
        "decided": decided.sum(),
        "anomalous": (decided & pl.col("is_anomalous").fill_null(False)).sum(),
    }
    zeros = dict.fromkeys(numbers, 0)
    rows = []
    for cut in CUTS:
        counts = {row[cut]: row for row in assigned.group_by(cut).agg(**numbers).collect().to_dicts()}
        rows += [{"cut": cut, "side": side} | {n: counts.get(side, zeros)[n] for n in numbers} for side in SIDES]
    reasons = assigned.drop_nulls("default_reason").group_by("default_reason").agg(**numbers).sort("default_reason")
    return rows + [
        {"cut": DEFAULT_CUT, "side": f"left out: {row['default_reason']}"} | {name: row[name] for name in numbers}
        for row in reasons.collect().to_dicts()
    ]


def split_cautions(assigned: pl.LazyFrame, basis: pl.LazyFrame, rules: ReleaseRules) -> list[str]:
    """A sentence for each side with too few records, with advice. The tables: LabelAssignment, LabelBasis."""
    sentences = []
    for row in count_splits(assigned):
        place = f"the {row['side']} side of {row['cut']}"
        if row["side"] in SIDES and not row["records"]:
            sentences.append(f"no record is on {place}")
        elif row["side"] == "test" and not row["anomalous"]:
            sentences.append(f"no decided anomaly is on {place}: how well anomalies are found cannot be measured there")
        elif row["side"] == "test" and row["anomalous"] < FEW:
            sentences.append(f"decided anomalies on {place}: {row['anomalous']}, too few to measure much with")
    if any(DEFAULT_CUT in sentence and "anomal" in sentence for sentence in sentences):
        sentences += larger_shares(assigned, basis, rules)
    return sentences


def larger_shares(assigned: pl.LazyFrame, basis: pl.LazyFrame, rules: ReleaseRules) -> list[str]:
    """Suggest a larger test_share. A record's place is a hash of its task: a larger share only moves records from train
    to test, so growth of the corpus still moves no record."""
    key = ["source_model", "trajectory_id"]
    rows = assigned.filter(pl.col("default_cut").is_not_null()).join(basis.select(*key, "task_digest"), on=key)
    decided = (pl.col("label_status") != "needs_review") & pl.col("is_anomalous").fill_null(False)
    tasks = rows.group_by("task_digest").agg(records=pl.len(), anomalous=decided.sum()).collect()
    thresholds: list[float] = []  # of each anomaly, the share from which on it is on the test side
    places: list[float] = []  # of each record
    for digest, records, anomalous in tasks.select("task_digest", "records", "anomalous").iter_rows():
        place = hashed(DEFAULT_CUT, digest)
        thresholds += [1 - place] * anomalous
        places += [place] * records
    thresholds.sort()
    candidates: dict[float, int] = {}  # test_share -> anomalies on the test side
    for wanted in ENOUGH:
        if wanted <= len(thresholds):
            share = math.floor(thresholds[wanted - 1] * 100 + 1) / 100
            if rules.test_share < share <= 0.5:
                candidates[share] = sum(threshold <= share for threshold in thresholds)
    shares = [
        f"{share:g} puts {number} of {len(thresholds)} there ({sum(place >= 1 - share for place in places)} of "
        f"{len(places)} records)"
        for share, number in candidates.items()
    ]
    if not shares:
        return [f"the default cut has {len(thresholds)} decided anomalies in all: no test_share up to 0.5 helps"]
    advice = "set it in your own release.toml once, before anything is published (docs/guides/splits.md)"
    return [f"test_share is {rules.test_share:g}; {'; '.join(shares)}; {advice}"]
