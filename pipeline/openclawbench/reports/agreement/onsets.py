"""Agreement on where an anomaly begins, over the trajectories that both passes call anomalous."""

from openclawbench.records.vocabulary import ONSETS
from openclawbench.reports.counting import share
from openclawbench.reports.measures import interval_alpha, proportion, rounded
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules


def onsets(rows: list[Row], rules: AgreementRules) -> list[Section]:
    """Agreement by onset field and source model; then every pair whose earliest recoverable onset differs."""
    anomalous_pairs = [row for row in rows if row["first"]["is_anomalous"] and row["second"]["is_anomalous"]]
    models = sorted({row["source_model"] for row in anomalous_pairs})
    groups = [("all", anomalous_pairs)]
    groups += [(model, [row for row in anomalous_pairs if row["source_model"] == model]) for model in models]
    rows_of_table = [onset_agreement(field, name, group_rows, rules) for field in ONSETS for name, group_rows in groups]
    near = {f"within_{window}_share": f"of `pairs`, at most {window} steps apart" for window in rules.onset_windows}
    total = rows_of_table[0]
    agreement = Section(
        name="onset",
        title="Where it begins",
        about="Trajectories that both passes call anomalous, with any subtype. An onset is a step number; "
        "silver_onset of the audit is earliest_recoverable_onset.",
        columns={
            "onset": "field",
            "source_model": "source model, or all",
            "both_anomalous": "trajectories that both passes call anomalous",
            "pairs": "of these, those for which both passes name a step",
            "first_only": "only the first pass names a step",
            "second_only": "only the second pass names a step",
            "neither": "neither pass names a step",
            "same": "of `pairs`, the same step",
            "same_share": "`same` of `pairs`",
            "same_low_share": "lower end of its Wilson interval",
            "same_high_share": "upper end",
            **near,
            "mean_distance": "mean distance in steps over `pairs`",
            "alpha": "Krippendorff's alpha of `pairs`, interval; a dash where all steps are the same",
        },
        rows=rows_of_table,
        facts={name: total[name] for name in ("both_anomalous", "pairs", "same_share", "mean_distance", "alpha")},
        definitions={
            "both_anomalous": "Trajectories that both passes call anomalous.",
            "pairs": "Those for which both passes name an earliest_recoverable_onset; the other facts are about that "
            "onset.",
        },
    )
    return [agreement, apart(anomalous_pairs, rules)]


def onset_agreement(field: str, name: str, rows: list[Row], rules: AgreementRules) -> Row:
    """Agreement on one onset field, over the rows of one source model or of all."""
    named = [(row["first"][field], row["second"][field]) for row in rows]
    both_named = [(first, second) for first, second in named if first is not None and second is not None]
    same = sum(first == second for first, second in both_named)
    shared = proportion(same, len(both_named), rules.confidence)
    distances = [abs(first - second) for first, second in both_named]
    return {
        "onset": field,
        "source_model": name,
        "both_anomalous": len(rows),
        "pairs": len(both_named),
        "first_only": sum(first is not None and second is None for first, second in named),
        "second_only": sum(first is None and second is not None for first, second in named),
        "neither": sum(first is None and second is None for first, second in named),
        "same": same,
        "same_share": shared.value,
        "same_low_share": shared.low,
        "same_high_share": shared.high,
        **{
            f"within_{window}_share": share(sum(distance <= window for distance in distances), len(both_named))
            for window in rules.onset_windows
        },
        "mean_distance": rounded(sum(distances) / len(distances)) if distances else None,
        "alpha": interval_alpha([first for first, _ in both_named], [second for _, second in both_named]),
    }


def apart(rows: list[Row], rules: AgreementRules) -> Section:
    """Pairs whose earliest recoverable onset differs, the furthest apart first."""
    field = ONSETS[0]
    pairs: list[Row] = [
        {
            "source_model": row["source_model"],
            "trajectory_id": row["trajectory_id"],
            "first_onset": row["first"][field],
            "second_onset": row["second"][field],
            "distance": steps_apart(row["first"][field], row["second"][field]),
        }
        for row in rows
        if row["first"][field] != row["second"][field]
    ]
    pairs.sort(key=lambda row: (row["distance"] is None, -(row["distance"] or 0)))
    return Section(
        name="onsets_apart",
        title="Anomalies with different onsets in the two passes",
        about="Trajectories that both passes call anomalous, with different earliest_recoverable_onset; the furthest "
        "apart first, then those for which one pass names no step.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "first_onset": "step by the first pass",
            "second_onset": "step by the second pass",
            "distance": "steps apart",
        },
        rows=pairs,
        facts={"onsets_apart": len(pairs)},
        definitions={"onsets_apart": "Trajectories of this list."},
        shown=rules.disagreement_rows,
    )


def steps_apart(first: int | None, second: int | None) -> int | None:
    """Distance in steps; None if a pass names no step."""
    return None if first is None or second is None else abs(first - second)
