"""Where two passes differ: confusion matrices, tiers, and every disagreement by id."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from openclawbench.records.tiers import TIERS
from openclawbench.reports.agreement import plots as agreement_plots
from openclawbench.reports.agreement.pairs import NORMAL, SCOPE, UNDECIDED, scopes
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules
from openclawbench.rules.taxonomy import Taxonomy
from openclawbench.tables.record import TRAJECTORY_KEY

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def binary_confusion(rows: list[Row]) -> Section:
    """First pass against second, of each scope."""
    names = (NORMAL, "anomalous", UNDECIDED)
    cells = [(one, other) for one in names for other in names]
    found = [
        {"scope": scope, "name": name} | {f"{one} → {other}": count(some, "binary", one, other) for one, other in cells}
        for scope, name, some in scopes(rows)
    ]
    return Section(
        name="binary_confusion",
        title="Normal or anomalous: what the first pass says, and what the second",
        about="Counts of every trajectory that both passes have, undecided ones among them.",
        columns=SCOPE | {f"{one} → {other}": f"the first pass says {one}, the second {other}" for one, other in cells},
        rows=found,
    )


def subtype_confusion(rows: list[Row]) -> Section:
    """First pass against second, by subtype."""
    known = [NORMAL, *(one.name for one in Taxonomy.load().subtypes)]
    other = sorted({row[name]["subtype"] for row in rows for name in ("first", "second")} - set(known))
    names = known + other
    found = confusion(rows, "subtype", names)
    return Section(
        name="subtype_confusion",
        title="Subtype: what the first pass says, and what the second",
        about="Counts of every trajectory that both passes have, undecided ones among them.",
        columns={"first_pass": "label by the first pass"}
        | {f"second: {name}": f"of these, those that the second pass calls {name}" for name in names},
        rows=found,
        plot=partial(confusion_picture, found, names),
    )


def confusion(rows: list[Row], field: str, names: Sequence[str]) -> list[Row]:
    """A row for each value of a field in the first pass, with the counts of each value in the second."""
    return [{"first_pass": one} | {f"second: {two}": count(rows, field, one, two) for two in names} for one in names]


def count(rows: list[Row], field: str, first: str, second: str) -> int:
    """Rows for which the passes say so."""
    return sum(row["first"][field] == first and row["second"][field] == second for row in rows)


def confusion_picture(rows: list[Row], names: list[str]) -> "Figure":
    """The confusion matrix."""
    return agreement_plots.confusion([[row[f"second: {name}"] for name in names] for row in rows], names)


def tiers(rows: list[Row]) -> Section:
    """Tier of the first pass against the second's."""
    names = TIERS
    return Section(
        name="tiers",
        title="Quality tier: what the first pass came to, and what the second",
        about="Counts of every trajectory that both passes have.",
        columns={"first_pass": "tier in the first pass"}
        | {f"second: {name}": f"of these, those of tier {name} in the second" for name in names},
        rows=confusion(rows, "quality_tier", names),
    )


def disagreements(rows: list[Row], rules: AgreementRules) -> Section:
    """Every trajectory about which the passes differ, by id."""
    found = [row for one in rows if (row := disagreement(one)) is not None]
    kinds = ("binary", "subtype", "one undecided")
    return Section(
        name="disagreements",
        title="Trajectories about which the passes differ",
        about="Neither pass is right because it is the first. `openclawbench explain ID` shows both decisions.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "slice_label": "risk slice",
            "kind": "binary: normal against anomalous; subtype: both anomalous, another subtype; one undecided",
            **{
                f"{name}_{field}": f"{field} by the {name} pass"
                for name in ("first", "second")
                for field in ("label", "tier", "cause")
            },
        },
        rows=found,
        facts={kind.replace(" ", "_"): sum(row["kind"] == kind for row in found) for kind in kinds},
        shown=rules.disagreement_rows,
    )


def disagreement(row: Row) -> Row | None:
    """What to list of a pair; null where both passes say the same."""
    first, second = row["first"], row["second"]
    if first["subtype"] == second["subtype"]:
        return None
    undecided = UNDECIDED in (first["binary"], second["binary"])
    kind = "one undecided" if undecided else "binary" if first["binary"] != second["binary"] else "subtype"
    said: dict[str, Any] = {}
    for name, one in (("first", first), ("second", second)):
        said |= {
            f"{name}_label": one["subtype"],
            f"{name}_tier": one["quality_tier"],
            f"{name}_cause": one["review_cause"],
        }
    return {**{name: row[name] for name in (*TRAJECTORY_KEY, "slice_label")}, "kind": kind, **said}
