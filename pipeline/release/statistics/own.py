"""Identities of a release's own figures: what its tables and its summary say of one another."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.identities import Book, Same, Share, Sum
from pipeline.release.statistics.gap import HIGH
from pipeline.release.statistics.tables import PASSING
from pipeline.reports.section import BY_MODEL

Rows = list[Mapping[str, Any]]
SCOPED = ("gap", "anomalies")  # tables of the same columns
PARTS = (("anomalous", "trajectories", "anomalous_share"), ("accepted_anomalous", "accepted", "accepted_share"))
TOTALLED = {  # table whose last row is the sum of the others -> what names a row, columns that are summed
    "source_models": ("source_model", ["trajectories", "steps", "calibration"]),
    "calibration_pool": ("slice_label", ["count"]),
    "slices": ("slice_label", ["trajectories"]),
    "quality_tiers": ("quality_tier", ["trajectories", "anomalous", "normal", "undecided"]),
}


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
        for column in ("trajectories", "undecided", "anomalous", "accepted", "accepted_anomalous"):
            parts = {row["name"]: row[column] for row in rows if row["scope"] == scope}
            yield added(f"gap, {column} by {scope}", parts, whole[column])


def places(tables: Mapping[str, Rows], summary: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One quantity in several tables."""
    named = {name: {row[next(iter(row))]: row for row in rows} for name, rows in tables.items() if rows}
    whole = {name: tables[name][-1] for name in TOTALLED}
    gap = {(row["scope"], row["name"]): row for row in tables["gap"]}
    said, told = summary["totals"], summary["outcome_process_gap"]
    yield (
        "trajectories",
        {
            "dataset_summary.json": said["trajectories"],
            "source_models": whole["source_models"]["trajectories"],
            "partitions": named["partitions"]["corpus"]["size"],
            "slices": whole["slices"]["trajectories"],
            "quality_tiers": whole["quality_tiers"]["trajectories"],
            "anomalies": named["anomalies"]["all"]["trajectories"],
        },
    )
    yield (
        "accepted anomalous records",
        {
            "dataset_summary.json": said["anomalous_accepted"],
            "subtypes": sum(row["trajectories"] for row in tables["subtypes"]),
            "severity": sum(row["trajectories"] for row in tables["severity"]),
            "onsets": sum(tables["onsets"][0][name] for name in ("known", "unknown")),
            "anomalies": named["anomalies"]["all"]["accepted_anomalous"],
        },
    )
    yield (
        "calibration pool",
        {
            "calibration_pool": whole["calibration_pool"]["count"],
            "source_models": whole["source_models"]["calibration"],
            "partitions": named["partitions"]["calibration_pool"]["size"],
        },
    )
    for base, key in {"passing": ("all", "all"), HIGH: ("slice", HIGH)}.items():
        for ours, theirs in {
            "trajectories": base,
            "anomalous": f"{base}_anomalous",
            "accepted": f"{base}_accepted",
        }.items():
            yield f"gap, {base}, {ours}", {"dataset_summary.json": told[theirs], "gap": gap[key][ours]}
    for name in PASSING:
        counted = {"slices": named["slices"][name]["trajectories"], "gap": gap["slice", name]["trajectories"]}
        yield f"slice {name}", {"dataset_summary.json": summary.get("slice_label", {}).get(name, 0), **counted}
    for name, row in named["event_categories"].items():
        yield (
            f"steps, {name}",
            {
                "dataset_summary.json": summary.get("event_type", {}).get(name, 0),
                "event_categories": row["steps"],
            },
        )


def added(where: str, parts: Mapping[str, int], total: int) -> Sum:
    """A sum of counts."""
    return Sum(where, {name: str(number) for name, number in parts.items()}, str(total))
