"""The calibration audit by slice, subtype, source model and blindness, and the confusion of silver and human label."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from openclawbench.audit.calibration.summary import count_agreed, kappa_of, resolved_verdicts
from openclawbench.audit.calibration.verdicts import Verdict
from openclawbench.records.vocabulary import Subtype
from openclawbench.reports import plots
from openclawbench.reports.agreement.plots import confusion
from openclawbench.reports.counting import share
from openclawbench.reports.measures import Interval, proportion
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NORMAL = "normal"
NO_SUBTYPE = "anomalous, no subtype"
Scope = tuple[str, str, list[Verdict]]


def scopes(verdicts: list[Verdict]) -> Iterator[Scope]:
    """(scope, name, verdicts): all, then by slice, silver subtype, source model, and whether the label was hidden."""
    yield "all", "all", verdicts
    keys: dict[str, Any] = {
        "slice": lambda verdict: verdict.row.slice_label,
        "silver_subtype": silver_label,
        "source_model": lambda verdict: verdict.row.source_model,
        "blind": lambda verdict: "blind" if verdict.row.blind else "label shown",
    }
    for scope, key in keys.items():
        for name in dict.fromkeys(sorted(key(verdict) for verdict in verdicts)):
            yield scope, name, [verdict for verdict in verdicts if key(verdict) == name]


def by_scope(verdicts: list[Verdict], number: int, rules: AgreementRules) -> Section:
    """Agreement of each scope."""
    rows = [scope_row(*scope, rules) for scope in scopes(verdicts)]
    return Section(
        name=f"calibration_by_{number}",
        title="Agreement by slice, subtype and source model",
        about="As T36, for parts of the sample. Parts are small: consider the intervals.",
        columns={
            "scope": "all; a risk slice; a silver label; a source model; whether the sheet hid the label",
            "name": "which",
            "audited": "trajectories with a review record",
            "settled": "of these, with a settled human verdict",
            "agree": "of these, with the silver label",
            "agree_share": "`agree` of `settled`",
            "low_share": "lower end of its interval",
            "high_share": "upper end",
            "kappa": "Cohen's kappa; a dash where both give a single label throughout",
            "kappa_low": "lower end of its bootstrap interval",
            "kappa_high": "upper end",
            "over_flags": "silver anomalous, people normal",
            "misses": "silver normal, people anomalous",
            "minor_corrections": "another subtype or onset",
        },
        rows=rows,
        plot=partial(picture, rows),
    )


def scope_row(scope: str, name: str, verdicts: list[Verdict], rules: AgreementRules) -> Row:
    """The row of one scope."""
    settled, chance = resolved_verdicts(verdicts), kappa_of(verdicts, rules)
    shared = proportion(count_agreed(settled), len(settled), rules.confidence)
    return {
        "scope": scope,
        "name": name,
        "audited": len(verdicts),
        "settled": len(settled),
        "agree": count_agreed(settled),
        **shares_and_kappa(shared, chance),
        "over_flags": sum(verdict.silver and not verdict.label for verdict in settled),
        "misses": sum(bool(verdict.label) and not verdict.silver for verdict in settled),
        "minor_corrections": sum(verdict.status == "minor_correction" for verdict in verdicts),
    }


def shares_and_kappa(shared: Interval, chance: Interval) -> Row:
    """Agreement and kappa with their intervals, as the columns of a row."""
    return {
        "agree_share": shared.value,
        "low_share": shared.low,
        "high_share": shared.high,
        "kappa": chance.value,
        "kappa_low": chance.low,
        "kappa_high": chance.high,
    }


def silver_label(verdict: Verdict) -> str:
    """The silver label: normal, or the subtype."""
    return (verdict.row.silver_subtype or NO_SUBTYPE) if verdict.silver else NORMAL


def human_label(verdict: Verdict) -> str:
    """The human label: normal, the subtype, or unresolved."""
    if verdict.label is None:
        return "unresolved"
    return (verdict.answers["human_subtype"] or NO_SUBTYPE) if verdict.label else NORMAL


def confusions(verdicts: list[Verdict], number: int) -> Section:
    """Confusion of silver label and human label: six classes and unresolved."""
    names = [NORMAL, *get_args(Subtype), NO_SUBTYPE]
    across = [*names, "unresolved"]
    counts = [
        [
            sum(silver_label(verdict) == row and human_label(verdict) == column for verdict in verdicts)
            for column in across
        ]
        for row in names
    ]
    rows: list[Row] = [
        {"silver": name}
        | dict(zip(across, line, strict=True))
        | {"settled_share": share(line[across.index(name)], sum(line[:-1]))}
        for name, line in zip(names, counts, strict=True)
    ]
    title = "Silver label (rows) and human label: trajectories (darker: larger share of the row)"
    square = [line[: len(names)] for line in counts]
    return Section(
        name=f"calibration_confusion_{number}",
        title="Silver label and human label",
        about="Every audited trajectory.",
        columns={"silver": "silver label"}
        | {name: f"of these, those that people label {name}" for name in across}
        | {"settled_share": "of those with a settled verdict, those with the same label"},
        rows=rows,
        plot=partial(confusion, square, names, title),
    )


def picture(rows: list[Row]) -> "Figure":
    """Agreement in each scope, with its interval."""
    figure, (axes,) = plots.new_figure(8, 1.8 + 0.32 * len(rows))
    names = [f"{plots.label(row['name'])} ({row['settled']:,})" for row in rows]
    plots.shares(axes, names, rows, "agree_share")
    axes.set_xlabel("% with the silver label (settled verdicts in brackets), with its interval")
    axes.set_title("Agreement of silver and human labels", loc="left")
    return figure
