"""Records and anomalies on each side of each cut, and the faults of a cut. The dataset card has more detail."""

import math
from typing import Any

import polars as pl

from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.tables.record import TRAJECTORY_KEY

FEW = 5  # anomalies on a test side; a rate over fewer is meaningless
ENOUGH = (1, FEW)
ADVICE = "write it into openclawbench.toml once, before anything is published (docs/guides/splits.md)"
DEFAULT_CUT = next(iter(CUTS))
DECIDED = pl.col("label_status") != "needs_review"  # accepted, or the rules judge's baseline
ANOMALOUS = DECIDED & pl.col("is_anomalous").fill_null(False)


def count_splits(assigned: pl.DataFrame | pl.LazyFrame) -> list[dict[str, Any]]:
    """Count records, decided and anomalous ones by cut and side; then what the default cut leaves out, by reason.

    Columns of a row: cut, side, records, decided, anomalous. `assigned`: LabelAssignment.
    """
    numbers = {"records": pl.len(), "decided": DECIDED.sum(), "anomalous": ANOMALOUS.sum()}
    counted = assigned.lazy().group_by(*CUTS, "default_reason").agg(**numbers).collect()
    sums, zeros = pl.col(*numbers).sum(), dict.fromkeys(numbers, 0)
    rows = []
    for cut in CUTS:
        counts = {row[cut]: row for row in counted.group_by(cut).agg(sums).to_dicts()}
        rows += [{"cut": cut, "side": side} | {n: counts.get(side, zeros)[n] for n in numbers} for side in SIDES]
    reasons = counted.drop_nulls("default_reason").group_by("default_reason").agg(sums).sort("default_reason")
    return rows + [
        {"cut": DEFAULT_CUT, "side": f"left out: {row['default_reason']}"} | {name: row[name] for name in numbers}
        for row in reasons.to_dicts()
    ]


def split_cautions(assigned: pl.LazyFrame, places: pl.LazyFrame, rules: ReleaseRules) -> list[str]:
    """A sentence for each side with too few records or anomalies, with advice; none without a record.
    `places`: LabelPlace."""
    sentences, rows = [], count_splits(assigned)
    on_test = {row["cut"]: row["anomalous"] for row in rows if row["side"] == "test"}
    all_on_test = {row["cut"] for row in rows if row["side"] == "train" and row["records"] and not row["anomalous"]}
    all_on_test -= {cut for cut, anomalous in on_test.items() if not anomalous}
    for row in rows if any(row["records"] for row in rows) else ():
        place = f"the {row['side']} side of {row['cut']}"
        if row["side"] in SIDES and not row["records"]:
            sentences.append(f"no record is on {place}")
        elif row["side"] == "test" and not row["anomalous"]:
            sentences.append(f"no decided anomaly is on {place}: how well anomalies are found cannot be measured there")
        elif row["side"] == "test" and row["anomalous"] < FEW:
            sentences.append(f"decided anomalies on {place}: {row['anomalous']}, too few to measure much with")
        elif row["side"] == "train" and row["cut"] in all_on_test:
            number = on_test[row["cut"]]
            others = "the only one is" if number == 1 else f"all {number} are"
            sentences.append(f"no decided anomaly is on {place}, {others} on its test side: nothing to train with")
    if DEFAULT_CUT in all_on_test:
        sentences.append(smaller_share(assigned, places, rules))
    elif any(DEFAULT_CUT in sentence and "anomal" in sentence for sentence in sentences):
        sentences += larger_shares(assigned, places, rules)
    return sentences


def smaller_share(assigned: pl.LazyFrame, places: pl.LazyFrame, rules: ReleaseRules) -> str:
    """Suggest the largest test_share, in hundredths, that puts an anomaly on the train side, where all are on the test
    side; more sessions where none leaves one on the test side too."""
    rows = places_on_sides(assigned, places)
    thresholds = sorted(1 - place for place in rows.filter("anomalous")["default_place"])
    share = (math.ceil(thresholds[-1] * 100) - 1) / 100
    number = sum(threshold <= share for threshold in thresholds)
    if not number:
        return (
            f"test_share is {rules.test_share:g}: no smaller hundredth has anomalies on both sides; more sessions can"
        )
    leaves = f"{share:g} leaves {number} of {len(thresholds)} on the test side"
    records = f"({(rows['default_place'] >= 1 - share).sum()} of {rows.height} records)"
    return f"test_share is {rules.test_share:g}; {leaves} {records}; {ADVICE}; more sessions help both sides"


def places_on_sides(assigned: pl.LazyFrame, places: pl.LazyFrame) -> pl.DataFrame:
    """anomalous, default_place of each record on a side of the default cut."""
    on_side = assigned.filter(pl.col(DEFAULT_CUT).is_not_null()).select(*TRAJECTORY_KEY, anomalous=ANOMALOUS)
    return on_side.join(places, on=TRAJECTORY_KEY).select("anomalous", "default_place").collect()


def larger_shares(assigned: pl.LazyFrame, places: pl.LazyFrame, rules: ReleaseRules) -> list[str]:
    """Suggest a larger test_share. A record's place is a hash of its task: a larger share only moves records from train
    to test, so growth of the corpus still moves no record."""
    rows = places_on_sides(assigned, places)
    thresholds = sorted(1 - place for place in rows.filter("anomalous")["default_place"])
    candidates: dict[float, int] = {}  # test_share -> anomalies on the test side
    for wanted in ENOUGH:
        if wanted <= len(thresholds):
            share = math.floor(thresholds[wanted - 1] * 100 + 1) / 100
            number = sum(threshold <= share for threshold in thresholds)
            if rules.test_share < share <= 0.5 and number < len(thresholds):  # some are left to train with
                candidates[share] = number
    shares = [
        f"{share:g} puts {number} of {len(thresholds)} there ({(rows['default_place'] >= 1 - share).sum()} of "
        f"{rows.height} records)"
        for share, number in candidates.items()
    ]
    if not shares:
        in_all = f"{len(thresholds)} decided {'anomaly' if len(thresholds) == 1 else 'anomalies'} in all"
        return [f"the default cut has {in_all}: no test_share up to 0.5 helps, more sessions can"]
    return [f"test_share is {rules.test_share:g}; {'; '.join(shares)}; {ADVICE}"]
