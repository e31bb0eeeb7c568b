"""The decisions of both passes on each trajectory, and the groups over which agreement is measured."""

from collections.abc import Iterator

import polars as pl

from openclawbench.records.fulltax import Annotation
from openclawbench.records.risk import Risk
from openclawbench.records.second_pass import AnnotationPass2
from openclawbench.records.tiers import ACCEPTED, BASELINE_TIER, status_of
from openclawbench.records.vocabulary import ONSETS
from openclawbench.reports.section import Row, Tables
from openclawbench.tables.record import TRAJECTORY_KEY

FIELDS = (
    "is_anomalous",
    "anomaly_type_l2",
    "quality_tier",
    "review_cause",
    *ONSETS,
)
NORMAL, UNDECIDED, NO_SUBTYPE = "normal", "undecided", "anomalous, no subtype"
POPULATIONS = {
    "decided": "both passes say normal or anomalous, in whatever tier",
    "accepted": "both passes accept the record (high_confidence_accepted or accepted_repaired); none where one is the "
    "rules judge, whose labels are a baseline",
}
SCOPE = {
    "scope": "all, or a source model, or a risk slice (context: neither pass's label depends on it)",
    "name": "which",
}


def pairs(tables: Tables) -> list[Row]:
    """One row per trajectory that both passes have: its slice and each pass's FIELDS under `first` and `second`, with
    `binary` and `subtype` added in words."""
    slices = tables(Risk).select(*TRAJECTORY_KEY, "slice_label")
    joined = (
        tables(Annotation)
        .select(*TRAJECTORY_KEY, first=pl.struct(FIELDS))
        .join(tables(AnnotationPass2).select(*TRAJECTORY_KEY, second=pl.struct(FIELDS)), on=TRAJECTORY_KEY)
        .join(slices, on=TRAJECTORY_KEY, how="left")
        .sort(TRAJECTORY_KEY)
    )
    return [
        {**row, "first": in_words(row["first"]), "second": in_words(row["second"])}
        for row in joined.collect().iter_rows(named=True)
    ]


def in_words(decision: Row) -> Row:
    """A pass's fields with `binary` and `subtype`, its decision in words."""
    if decision["is_anomalous"] is None:
        return decision | {"binary": UNDECIDED, "subtype": UNDECIDED}
    if not decision["is_anomalous"]:
        return decision | {"binary": NORMAL, "subtype": NORMAL}
    return decision | {"binary": "anomalous", "subtype": decision["anomaly_type_l2"] or NO_SUBTYPE}


def is_baseline(row: Row) -> bool:
    """True if the label of either pass is of a baseline judge."""
    return BASELINE_TIER in (row["first"]["quality_tier"], row["second"]["quality_tier"])


def judges(tables: Tables) -> dict[str, str]:
    """Pass (first, second) -> its judges, as `judge (model)`."""
    names = {}
    for name, record in (("first", Annotation), ("second", AnnotationPass2)):
        provenance = pl.col("provenance").struct
        provenances = tables(record).select(judge=provenance.field("judge"), model=provenance.field("judge_model"))
        rows = provenances.drop_nulls("judge").unique().sort("judge", "model").collect().rows()
        names[name] = ", ".join(f"{judge} ({model})" for judge, model in rows) or "nobody"
    return names


def scopes(rows: list[Row]) -> Iterator[tuple[str, str, list[Row]]]:
    """(scope, name, rows): all, each source model, each slice."""
    yield "all", "all", rows
    for scope in ("source_model", "slice_label"):
        for name in sorted({row[scope] for row in rows}, key=lambda name: (name is None, name)):
            yield scope, name or "no outcome", [row for row in rows if row[scope] == name]


def in_population(population: str, rows: list[Row]) -> list[Row]:
    """The rows that belong to one of POPULATIONS."""
    decided = [row for row in rows if UNDECIDED not in (row["first"]["binary"], row["second"]["binary"])]
    if population == "decided":
        return decided
    passes = ("first", "second")
    return [row for row in decided if all(status_of(row[name]["quality_tier"]) == ACCEPTED for name in passes)]
