"""What the splits came to: records and anomalies on each side of each cut, and what a person should know before using
them. The dataset card says more; this is said where a run ends."""

import math
from typing import Any

import polars as pl
from rich.console import Console

from openclawbench.base.terminal import table
from openclawbench.release.labels.split import CUTS, hashed
from openclawbench.rules.release import ReleaseRules

FEW = 5  # anomalies on a test side, below which a rate over them says next to nothing
ENOUGH = (1, FEW)
DEFAULT_CUT = CUTS[0]
SIDES = ("train", "test")


def sides(assigned: pl.DataFrame) -> list[dict[str, Any]]:
    """Cut, side, records, decided, of these anomalous; then what the default cut leaves out, by reason."""
    decided = pl.col("label_status") != "needs_review"  # accepted, or the rules judge's baseline
    numbers = {
        "records": pl.len(),
        "decided": decided.sum(),
        "anomalous": (decided & pl.col("is_anomalous").fill_null(False)).sum(),
    }
    found = []
    for cut in CUTS:
        counted = {row[cut]: row for row in assigned.group_by(cut).agg(**numbers).to_dicts()}
        none = dict.fromkeys(numbers, 0)
        found += [{"cut": cut, "side": side} | {n: counted.get(side, none)[n] for n in numbers} for side in SIDES]
    reasons = assigned.drop_nulls("default_reason").group_by("default_reason").agg(**numbers).sort("default_reason")
    return found + [
        {"cut": DEFAULT_CUT, "side": f"left out: {row['default_reason']}"} | {name: row[name] for name in numbers}
        for row in reasons.to_dicts()
    ]


def print_sides(rows: list[dict[str, Any]], console: Console) -> None:
    """The table."""
    names = ["cut", "side", "records", "decided", "anomalous"]
    console.print(
        table(
            "Splits (decided: needs no review; anomalous: of these)", names, ([row[n] for n in names] for row in rows)
        )
    )


def cautions(assigned: pl.DataFrame, basis: pl.DataFrame, rules: ReleaseRules) -> list[str]:
    """A sentence for each side that has too little on it, with what to do."""
    said = []
    for row in sides(assigned):
        place = f"the {row['side']} side of {row['cut']}"
        if row["side"] in SIDES and not row["records"]:
            said.append(f"no record is on {place}")
        elif row["side"] == "test" and not row["anomalous"]:
            said.append(f"no decided anomaly is on {place}: how well anomalies are found cannot be measured there")
        elif row["side"] == "test" and row["anomalous"] < FEW:
            said.append(f"decided anomalies on {place}: {row['anomalous']}, too few to measure much with")
    if any(DEFAULT_CUT in one and "anomal" in one for one in said):
        said += larger_shares(assigned, basis, rules)
    return said


def larger_shares(assigned: pl.DataFrame, basis: pl.DataFrame, rules: ReleaseRules) -> list[str]:
    """Which test_share would do. A record's place is a hash of its task: a larger share moves records from train
    to test and none back, so the promise that growth moves no record holds at each share."""
    key = ["source_model", "trajectory_id"]
    rows = assigned.filter(pl.col("default_cut").is_not_null()).join(basis.select(*key, "task_digest"), on=key)
    decided = (pl.col("label_status") != "needs_review") & pl.col("is_anomalous").fill_null(False)
    anomalous = rows.filter(decided)["task_digest"].to_list()
    needed = sorted(1 - hashed(DEFAULT_CUT, digest) for digest in anomalous)
    places = [hashed(DEFAULT_CUT, digest) for digest in rows["task_digest"]]
    found: dict[float, int] = {}
    for wanted in ENOUGH:
        if wanted <= len(needed):
            share = math.floor(needed[wanted - 1] * 100 + 1) / 100
            if rules.test_share < share <= 0.5:
                found[share] = sum(one <= share for one in needed)
    shares = [
        f"{share:g} puts {number} of {len(needed)} there ({sum(place >= 1 - share for place in places)} of "
        f"{len(places)} records)"
        for share, number in found.items()
    ]
    if not shares:
        return [f"the default cut has {len(needed)} decided anomalies in all: no test_share up to 0.5 helps"]
    how = "set it in your own release.toml once, before anything is published (README, Splits)"
    return [f"test_share is {rules.test_share:g}; {'; '.join(shares)}; {how}"]


def table_of_sides(assigned: pl.LazyFrame) -> pl.DataFrame:
    """The columns that are counted."""
    names = ["source_model", "trajectory_id", "is_anomalous", "label_status", "default_reason", *CUTS]
    return assigned.select(names).collect()
