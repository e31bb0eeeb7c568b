"""Agreement on where an anomaly begins, among the trajectories that both passes call anomalous."""

from openclawbench.reports.counting import share
from openclawbench.reports.measures import interval_alpha, proportion, rounded
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules

ONSETS = ("earliest_recoverable_onset", "earliest_harmful_onset", "earliest_state_contamination_onset")


def onsets(rows: list[Row], rules: AgreementRules) -> list[Section]:
    """A row an onset field and source model; and every pair whose onsets differ."""
    both = [row for row in rows if row["first"]["is_anomalous"] and row["second"]["is_anomalous"]]
    models = sorted({row["source_model"] for row in both})
    groups = [("all", both), *((model, [row for row in both if row["source_model"] == model]) for model in models)]
    found = [measured(field, name, some, rules) for field in ONSETS for name, some in groups]
    near = {f"within_{window}_share": f"of `pairs`, at most {window} steps apart" for window in rules.onset_windows}
    whole = found[0]
    agreement = Section(
        name="onset",
        title="Where it begins",
        about="Trajectories that both passes call anomalous, whatever the subtype. An onset is a step number; "
        "silver_onset of the audit is earliest_recoverable_onset.",
        columns={
            "onset": "field",
            "source_model": "source model, or all",
            "both_anomalous": "trajectories that both passes call anomalous",
            "pairs": "of these, those for which both passes name a step",
            "first_only": "the first pass names a step, the second none",
            "second_only": "the second pass names a step, the first none",
            "neither": "neither pass names a step",
            "same": "of `pairs`, the same step",
            "same_share": "`same` of `pairs`",
            "same_low_share": "lower end of its Wilson interval",
            "same_high_share": "upper end",
            **near,
            "mean_distance": "steps apart, on average over `pairs`",
            "alpha": "Krippendorff's alpha of `pairs`, interval; a dash where all steps are the same",
        },
        rows=found,
        facts={name: whole[name] for name in ("both_anomalous", "pairs", "same_share", "mean_distance", "alpha")},
        definitions={
            "both_anomalous": "Trajectories that both passes call anomalous.",
            "pairs": "Those for which both passes name an earliest_recoverable_onset; the other facts are of it.",
        },
    )
    return [agreement, apart(both, rules)]


def measured(field: str, name: str, rows: list[Row], rules: AgreementRules) -> Row:
    """Agreement on one onset."""
    named = [(row["first"][field], row["second"][field]) for row in rows]
    known = [(one, other) for one, other in named if one is not None and other is not None]
    same = sum(one == other for one, other in known)
    shared = proportion(same, len(known), rules.confidence)
    distances = [abs(one - other) for one, other in known]
    return {
        "onset": field,
        "source_model": name,
        "both_anomalous": len(rows),
        "pairs": len(known),
        "first_only": sum(one is not None and other is None for one, other in named),
        "second_only": sum(one is None and other is not None for one, other in named),
        "neither": sum(one is None and other is None for one, other in named),
        "same": same,
        "same_share": shared.value,
        "same_low_share": shared.low,
        "same_high_share": shared.high,
        **{
            f"within_{window}_share": share(sum(one <= window for one in distances), len(known))
            for window in rules.onset_windows
        },
        "mean_distance": rounded(sum(distances) / len(distances)) if distances else None,
        "alpha": interval_alpha([one for one, _ in known], [other for _, other in known]),
    }


def apart(rows: list[Row], rules: AgreementRules) -> Section:
    """Pairs whose earliest recoverable onset differs, the furthest apart first."""
    field = ONSETS[0]
    found: list[Row] = [
        {
            "source_model": row["source_model"],
            "trajectory_id": row["trajectory_id"],
            "first_onset": row["first"][field],
            "second_onset": row["second"][field],
            "distance": distance(row["first"][field], row["second"][field]),
        }
        for row in rows
        if row["first"][field] != row["second"][field]
    ]
    found.sort(key=lambda row: (row["distance"] is None, -(row["distance"] or 0)))
    return Section(
        name="onsets_apart",
        title="Anomalies that the passes have begin elsewhere",
        about="Trajectories that both passes call anomalous, with different earliest_recoverable_onset; the furthest "
        "apart first, then those for which one pass names no step.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "first_onset": "step by the first pass",
            "second_onset": "step by the second pass",
            "distance": "steps apart",
        },
        rows=found,
        facts={"onsets_apart": len(found)},
        definitions={"onsets_apart": "Trajectories of this list."},
        shown=rules.disagreement_rows,
    )


def distance(first: int | None, second: int | None) -> int | None:
    """Steps apart; null where a pass names none."""
    return None if first is None or second is None else abs(first - second)
