"""Identities of a release's own figures: what its tables and its summary say of one another."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openclawbench.errors import InconsistentFigures
from openclawbench.records.tiers import ACCEPTED, BASELINE, main_status
from openclawbench.release.card.facts import SUMMARY
from openclawbench.release.statistics.consistency import Book, Same, Share, Sum, check
from openclawbench.release.statistics.gap import HIGH
from openclawbench.release.statistics.tables import PASSING
from openclawbench.reports.section import BY_MODEL, Report

Rows = list[Mapping[str, Any]]
Place = tuple[str, dict[str, Any]]  # a quantity -> where it stands -> the number there
NO_GROUP = ("total",)  # rows that are no group of the summary
ENDINGS = {  # column of the gap's table -> ending of the summary's name
    "trajectories": "",
    "measured": "_measured",
    "anomalous": "_measured_anomalous",
    "accepted": "_accepted",
    "accepted_anomalous": "_accepted_anomalous",
    "baseline": "_baseline",
    "baseline_anomalous": "_baseline_anomalous",
}
SCOPED = ("gap", "anomalies")  # tables of the same columns
PARTS = (
    ("anomalous", "measured", "anomalous_share"),
    ("accepted_anomalous", "accepted", "accepted_share"),
    ("baseline_anomalous", "baseline", "baseline_share"),
)
COUNTED = (
    *("trajectories", "measured", "undecided", "anomalous", "accepted", "accepted_anomalous"),
    *("baseline", "baseline_anomalous"),
)
TOTALLED = {  # table whose last row is the sum of the others -> what names a row, columns that are summed
    "source_models": ("source_model", ["trajectories", "steps", "calibration"]),
    "calibration_pool": ("slice_label", ["count"]),
    "slices": ("slice_label", ["trajectories", "failures_only"]),
    "quality_tiers": ("quality_tier", ["trajectories", "anomalous", "normal", "undecided"]),
}


def refuse_contradictions(root: Path, report: Report) -> None:
    """Raises InconsistentFigures where the statistics and the summary of the release in `root` do not fit."""
    summary = json.loads((root / SUMMARY).read_text(encoding="utf-8"))
    if found := check(own_book(report.data()["sections"], summary)):
        raise InconsistentFigures(f"the release is not published: its figures contradict each other. {found[0]}.")


def own_book(sections: Mapping[str, Any], summary: Mapping[str, Any]) -> Book:
    """The book of statistics.json's sections and dataset_summary.json."""
    tables: dict[str, Rows] = {name: data["rows"] for name, data in sections.items()}
    return Book(
        sums=[*totals(tables), *within(tables), *scopes_of_the_gap(tables["gap"])],
        shares=[
            Share(f"{name}, {row['scope']} {row['name']}", str(row[part]), str(row[whole]), f"{row[of]:.6f}")
            for name in SCOPED
            for row in tables[name]
            for part, whole, of in PARTS
            if row[of] is not None
        ],
        same=[Same(where, {place: str(n) for place, n in said.items()}) for where, said in places(tables, summary)],
    )


def totals(tables: Mapping[str, Rows]) -> Iterator[Sum]:
    """Tables with a row for the whole."""
    for name, (key, columns) in TOTALLED.items():
        *parts, total = tables[name]
        for column in columns:
            yield added(f"{name}, {column}", {row[key]: row[column] for row in parts}, total[column])
        for model in total.get(BY_MODEL, {}):
            shown = {row[key]: row[BY_MODEL][model] for row in parts}
            yield added(f"{name}, {model}", shown, total[BY_MODEL][model])


def within(tables: Mapping[str, Rows]) -> Iterator[Sum]:
    """Rows whose cells add up, and tables that divide the accepted anomalous records or the steps."""
    by_steps = tables["onsets"][0]["known"]
    yield added("onset_steps", {row["steps"]: row["trajectories"] for row in tables["onset_steps"]}, by_steps)
    yield added("onset_parts", {str(row["part"]): row["trajectories"] for row in tables["onset_parts"]}, by_steps)
    steps = tables["source_models"][-1]["steps"]
    yield added("event_categories", {row["event_type"]: row["steps"] for row in tables["event_categories"]}, steps)
    for row in tables["severity"]:
        cells = {name: n for name, n in row.items() if name not in ("severity", "trajectories", "share")}
        yield added(f"severity, {row['severity']}", cells, row["trajectories"])
    for row in tables["event_categories"]:
        yield added(f"event_categories, {row['event_type']}", row[BY_MODEL], row["steps"])


def scopes_of_the_gap(rows: Rows) -> Iterator[Sum]:
    """Slices, source models and subsets each divide the trajectories that pass."""
    high = next(row for row in rows if row["name"] == HIGH and row["scope"] == "slice")
    wholes = {"slice": rows[0], "source_model": rows[0], "subset": rows[0], f"source_model, {HIGH}": high}
    for scope, whole in wholes.items():
        for column in COUNTED:
            parts = {row["name"]: row[column] for row in rows if row["scope"] == scope}
            yield added(f"gap, {column} by {scope}", parts, whole[column])


def places(tables: Mapping[str, Rows], summary: Mapping[str, Any]) -> Iterator[Place]:
    """One quantity in several tables."""
    yield from wholes(tables, summary["totals"])
    gap = {(row["scope"], row["name"]): row for row in tables["gap"]}
    told = summary["outcome_process_gap"]
    for base, key in {"passing": ("all", "all"), HIGH: ("slice", HIGH)}.items():
        for ours, ending in ENDINGS.items():
            yield f"gap, {base}, {ours}", {SUMMARY: told[base + ending], "gap": gap[key][ours]}
    counted = {"slice_label": ("slices", "trajectories"), "event_type": ("event_categories", "steps")}
    for group, (table, column) in counted.items():
        for row in tables[table]:
            if row[group] not in NO_GROUP:
                yield f"{table}, {row[group]}", {SUMMARY: summary.get(group, {}).get(row[group], 0), table: row[column]}
    for row in tables["slices"]:
        if row["slice_label"] in PASSING:
            told_there = gap["slice", row["slice_label"]]["trajectories"]
            yield f"gap, {row['slice_label']}", {"slices": row["trajectories"], "gap": told_there}


def wholes(tables: Mapping[str, Rows], said: Mapping[str, Any]) -> Iterator[Place]:
    """The corpus, its accepted anomalous records and its calibration pool, wherever they are counted."""
    last = {name: tables[name][-1] for name in TOTALLED}
    sizes = {row["partition"]: row["size"] for row in tables["partitions"]}
    everything = tables["anomalies"][0]
    corpus = {name: last[name]["trajectories"] for name in ("source_models", "slices", "quality_tiers")}
    yield (
        "trajectories",
        {
            SUMMARY: said["trajectories"],
            **corpus,
            "partitions": sizes["corpus"],
            "anomalies": everything["trajectories"],
        },
    )
    yield (
        "accepted anomalous records",
        {SUMMARY: said["anomalous_accepted"], "anomalies": everything["accepted_anomalous"]},
    )
    status = main_status(name for name in (ACCEPTED, BASELINE) if said[name])
    yield (
        f"{status} anomalous records",
        {
            SUMMARY: said[f"anomalous_{status}"],
            **{name: sum(row["trajectories"] for row in tables[name]) for name in ("subtypes", "severity")},
            "onsets": sum(tables["onsets"][0][name] for name in ("known", "unknown")),
        },
    )
    yield (
        "calibration pool",
        {
            "calibration_pool": last["calibration_pool"]["count"],
            "source_models": last["source_models"]["calibration"],
            "partitions": sizes["calibration_pool"],
        },
    )


def added(where: str, parts: Mapping[str, int], total: int) -> Sum:
    """A sum of counts."""
    return Sum(where, {name: str(number) for name, number in parts.items()}, str(total))
