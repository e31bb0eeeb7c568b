"""Where the two passes differ: confusion matrices, tiers, and a list of every disagreement."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from openclawbench.records.tiers import TIERS
from openclawbench.reports.agreement import plots
from openclawbench.reports.agreement.pairs import NORMAL, SCOPE, UNDECIDED, scopes
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.tables.record import TRAJECTORY_KEY


def binary_confusion(rows: list[Row]) -> Section:
    """First pass against second, of each scope."""
    names = (NORMAL, "anomalous", UNDECIDED)
    cells = [(first, second) for first in names for second in names]
    matrix_rows = [
        {"scope": scope, "name": name}
        | {f"{first} → {second}": count_pairs(scope_pairs, "binary", first, second) for first, second in cells}
        for scope, name, scope_pairs in scopes(rows)
    ]
    return Section(
        name="binary_confusion",
        title="Normal or anomalous: first pass and second pass",
        about="Every trajectory that both passes have, including undecided ones.",
        columns=SCOPE
        | {f"{first} → {second}": f"the first pass says {first}, the second {second}" for first, second in cells},
        rows=matrix_rows,
    )


def subtype_confusion(rows: list[Row]) -> Section:
    """First pass against second, by subtype."""
    subtypes = [NORMAL, *(subtype.name for subtype in Taxonomy.load().subtypes)]
    names = subtypes + sorted({row[name]["subtype"] for row in rows for name in ("first", "second")} - set(subtypes))
    matrix_rows = confusion(rows, "subtype", names)
    matrix = [[row[f"second: {name}"] for name in names] for row in matrix_rows]
    return Section(
        name="subtype_confusion",
        title="Subtype: first pass and second pass",
        about="Every trajectory that both passes have, including undecided ones.",
        columns={"first_pass": "label by the first pass"}
        | {f"second: {name}": f"of these, those that the second pass calls {name}" for name in names},
        rows=matrix_rows,
        plot=partial(plots.confusion, matrix, names),
    )


def confusion(rows: list[Row], field: str, names: Sequence[str]) -> list[Row]:
    """One row per value of a field in the first pass, with the count of each value in the second."""
    return [
        {"first_pass": first} | {f"second: {second}": count_pairs(rows, field, first, second) for second in names}
        for first in names
    ]


def count_pairs(rows: list[Row], field: str, first: str, second: str) -> int:
    """Rows in which the first pass has one value of a field, and the second the other."""
    return sum(row["first"][field] == first and row["second"][field] == second for row in rows)


def tiers(rows: list[Row]) -> Section:
    """Tier of the first pass against the second's."""
    return Section(
        name="tiers",
        title="Quality tier: first pass and second pass",
        about="Every trajectory that both passes have.",
        columns={"first_pass": "tier in the first pass"}
        | {f"second: {name}": f"of these, those of tier {name} in the second" for name in TIERS},
        rows=confusion(rows, "quality_tier", TIERS),
    )


def disagreements(rows: list[Row], rules: AgreementRules) -> Section:
    """Every trajectory on which the passes differ."""
    listed = [row for pair in rows if (row := disagreement(pair)) is not None]
    kinds = ("binary", "subtype", "one undecided")
    return Section(
        name="disagreements",
        title="Trajectories on which the passes differ",
        about="Neither pass takes precedence. `openclawbench explain ID` shows both decisions.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "slice_label": "risk slice",
            "kind": "binary: normal and anomalous; subtype: both anomalous, with different subtypes; one undecided",
            **{
                f"{name}_{field}": f"{field} by the {name} pass"
                for name in ("first", "second")
                for field in ("label", "tier", "cause")
            },
        },
        rows=listed,
        facts={kind.replace(" ", "_"): sum(row["kind"] == kind for row in listed) for kind in kinds},
        shown=rules.disagreement_rows,
    )


def disagreement(row: Row) -> Row | None:
    """A pair as a row of the list; None if both passes agree."""
    first, second = row["first"], row["second"]
    if first["subtype"] == second["subtype"]:
        return None
    undecided = UNDECIDED in (first["binary"], second["binary"])
    kind = "one undecided" if undecided else "binary" if first["binary"] != second["binary"] else "subtype"
    decisions: dict[str, Any] = {}
    for name, decision in (("first", first), ("second", second)):
        decisions |= {
            f"{name}_label": decision["subtype"],
            f"{name}_tier": decision["quality_tier"],
            f"{name}_cause": decision["review_cause"],
        }
    return {**{name: row[name] for name in (*TRAJECTORY_KEY, "slice_label")}, "kind": kind, **decisions}
