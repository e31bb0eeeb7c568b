"""T36: the human verdicts on a calibration sample, as one table."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from openclawbench.audit.calibration.verdicts import Verdict
from openclawbench.records.calibration import AgreementStatus, CalibrationSample, CalibrationStratum
from openclawbench.reports.corrected_gap import stratum_name
from openclawbench.reports.counting import share
from openclawbench.reports.measures import Interval, kappa, proportion
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules


def summary(
    sample: CalibrationSample, verdicts: list[Verdict], records: int, number: int, rules: AgreementRules
) -> Section:
    """T36 of one sample. `records`: number of its review records, including replaced ones."""
    settled, chance = resolved_verdicts(verdicts), kappa_of(verdicts, rules)
    rows = [
        row | interval(row, rules) for row in (*drawn_from(sample), *quantities(sample, verdicts, settled, records))
    ]
    by_quantity = {row["quantity"]: row for row in rows}
    return Section(
        name=f"calibration_{number}",
        title=f"Calibration sample {sample.sample} (T36)",
        about=(CHOSEN_WORDS if sample.allocation == "chosen" else "")
        + "Human verdicts on the sample's trajectories, compared with the silver labels. Shares "
        f"have Wilson's score intervals of {100 * rules.confidence:g} %; kappa has a bootstrap interval of the same "
        f"level ({rules.bootstrap_samples} samples, fixed seed).",
        columns={
            "quantity": "what is counted",
            "count": "how many",
            "of": "of how many; a dash if it is not a part of anything",
            "share": "`count` of `of`",
            "low_share": "lower end of its interval; a dash for what is given rather than measured",
            "high_share": "upper end",
            "definition": "what it is",
        },
        rows=rows,
        facts={
            "audited": len(verdicts),
            "agreement_share": by_quantity["silver-human binary agreement"]["share"],
            "kappa": chance.value,
            "kappa_low": chance.low,
            "kappa_high": chance.high,
            "corpus_agreement_share": weight_by_slice(sample, verdicts),
            "corpus_agreement_leaves_out": ", ".join(left_out(sample, verdicts)) or None,
            "over_flags": by_quantity["silver over-flags"]["count"],
            "misses": by_quantity["silver misses"]["count"],
        },
        definitions={
            "audited": "Trajectories with at least one review record.",
            "agreement_share": "Same binary label, of those with a settled human verdict.",
            "kappa": "Cohen's kappa of silver and human label; a dash where both give a single label throughout, "
            "and 0 where only one of them does.",
            "kappa_low": "Lower end of its bootstrap interval.",
            "kappa_high": "Upper end.",
            "corpus_agreement_share": "Agreement with each slice weighted by the passing trajectories of the release "
            "in it that are not in review: the sample is balanced over slices and the corpus is not. A sample drawn by "
            "slice and silver label is weighted by both. Slices without a settled verdict are left out.",
            "corpus_agreement_leaves_out": "Slices without a settled verdict, each with its passing trajectories "
            "that are not in review: the weighted share leaves them out.",
            "over_flags": "Silver says anomalous, people say normal.",
            "misses": "Silver says normal, people say anomalous.",
        },
        prose=frozenset({"quantity", "definition"}),
    )


def drawn_from(sample: CalibrationSample) -> list[Row]:
    """The rows of T36 about the pool and the sample; none for trajectories that reviewers chose."""
    if sample.allocation == "chosen":
        return []
    pool, drawn = sum(sample.pool.values()), sum(sample.drawn.values())
    return [
        *pool_rows(sample, pool),
        quantity("sample", drawn, pool, "trajectories drawn from it"),
        *(quantity(f"{OF_SLICE}{name}", number, drawn, "of this slice") for name, number in sample.drawn.items()),
    ]


def pool_rows(sample: CalibrationSample, pool: int) -> list[Row]:
    """The rows of T36 about the population that was drawn from."""
    if sample.pool_kind == "labelled":
        return [quantity("labelled trajectories", pool, None, "every trajectory with a label outside review")]
    return [
        quantity("calibration pool", pool, None, "trajectories of the release's pool"),
        quantity("oracle-fail records in the pool", sample.failing_in_pool, pool, "0 in a valid release"),
    ]


def quantities(sample: CalibrationSample, verdicts: list[Verdict], settled: list[Verdict], records: int) -> list[Row]:
    """The rows of T36 about the verdicts, without intervals."""
    both_anomalous = [verdict for verdict in settled if verdict.label and verdict.silver]
    other_subtype = [verdict.other_subtype for verdict in both_anomalous if verdict.answers["human_subtype"]]
    other_onset = [verdict.other_onset for verdict in both_anomalous if verdict.onset_known]
    anomalous = sum(bool(verdict.label) for verdict in settled)
    drawn = len(verdicts) if sample.allocation == "chosen" else sum(sample.drawn.values())
    over_flags = sum(verdict.silver and not verdict.label for verdict in settled)
    misses = sum(bool(verdict.label) and not verdict.silver for verdict in settled)
    blind = sum(verdict.row.blind for verdict in verdicts)
    statuses = Counter(verdict.status for verdict in verdicts)
    return [
        quantity("audited records", len(verdicts), drawn, "with a review record"),
        quantity("replaced verdicts", records - sum(len(verdict.reviews) for verdict in verdicts), records,
                 "review records that a later one of the same reviewer replaces"),
        quantity("reviewed blind", blind, len(verdicts), "without the silver label"),
        quantity("human-verdict unresolved", len(verdicts) - len(settled), len(verdicts),
                 "reviewers are unsure or differ, without an adjudication"),
        quantity("human-verdict anomalous", anomalous, len(settled), "people say anomalous"),
        quantity("human-verdict non-anomalous", len(settled) - anomalous, len(settled), "people say normal"),
        quantity("silver-human binary agreement", count_agreed(settled), len(settled), "the same label"),
        quantity("silver over-flags", over_flags, len(settled), "silver anomalous, people normal"),
        quantity("silver misses", misses, len(settled), "silver normal, people anomalous"),
        quantity("same subtype", other_subtype.count(False), len(other_subtype), "both anomalous, and named"),
        quantity("same onset", other_onset.count(False), len(other_onset), "both anomalous, and reviewed"),
        *(quantity(name.replace("_", " "), statuses[name], len(verdicts), STATUSES[name])
          for name in get_args(AgreementStatus)),
    ]  # fmt: skip


OF_SLICE = "sample, "
CHOSEN_WORDS = (
    "Reviewers chose these trajectories themselves, so no share here is a rate of the corpus, and the corrected gap "
    "does not use them. "
)
NOT_MEASURED = {
    "calibration pool",
    "labelled trajectories",
    "oracle-fail records in the pool",
    "sample",
    "audited records",
    "replaced verdicts",
    "reviewed blind",
}
STATUSES = {
    "agreement": "agreement_status: same label, and subtype and onset where people named them",
    "minor_correction": "agreement_status: another subtype or onset",
    "major_disagreement": "agreement_status: the other label",
    "unresolved": "agreement_status: no settled verdict",
}


def quantity(name: str, count: int, of: int | None, definition: str) -> Row:
    """One row of T36."""
    return {"quantity": name, "count": count, "of": of, "definition": definition}


def interval(row: Row, rules: AgreementRules) -> Row:
    """Share and interval of a row."""
    if row["quantity"] in NOT_MEASURED or row["quantity"].startswith(OF_SLICE):
        return {"share": share(row["count"], row["of"] or 0), "low_share": None, "high_share": None}
    bounds = proportion(row["count"], row["of"] or 0, rules.confidence)
    return {"share": bounds.value, "low_share": bounds.low, "high_share": bounds.high}


def weight_by_slice(sample: CalibrationSample, verdicts: list[Verdict]) -> float | None:
    """Agreement with each slice weighted by its size in the corpus."""
    weight, agreeing_weight = 0, 0.0
    for _, population, in_stratum in strata_of(sample, resolved_verdicts(verdicts)):
        if in_stratum:
            weight += population
            agreeing_weight += population * count_agreed(in_stratum) / len(in_stratum)
    return round(agreeing_weight / weight, 6) if weight else None


def strata_of(sample: CalibrationSample, verdicts: Sequence[Verdict]) -> list[tuple[str, int, list[Verdict]]]:
    """Name, population and verdicts of each group that the sample was drawn from: slices, or slices by silver label."""
    if not sample.strata:
        return [
            (name, population, [verdict for verdict in verdicts if verdict.row.slice_label == name])
            for name, population in sample.population.items()
        ]
    return [
        (
            stratum_of(stratum),
            stratum.population,
            [
                verdict
                for verdict in verdicts
                if (verdict.row.slice_label, bool(verdict.silver)) == (stratum.slice_label, stratum.silver_anomalous)
            ],
        )
        for stratum in sample.strata
    ]


def left_out(sample: CalibrationSample, verdicts: list[Verdict]) -> list[str]:
    """Groups of the release that the weighted agreement leaves out, with their numbers of trajectories."""
    groups = strata_of(sample, resolved_verdicts(verdicts))
    return [f"{name} ({population})" for name, population, in_stratum in groups if population and not in_stratum]


def without_pool(sample: CalibrationSample) -> dict[str, int]:
    """Slices, or strata of a sample drawn by silver label, in which the release has trajectories and its pool has none
    -> number of trajectories."""
    if sample.strata:
        return {stratum_of(stratum): stratum.population for stratum in sample.strata if not stratum.pool}
    return {name: number for name, number in sample.population.items() if number and not sample.pool[name]}


def stratum_of(stratum: CalibrationStratum) -> str:
    """Slice and silver label, for a reader."""
    return stratum_name(stratum.slice_label, stratum.silver_anomalous)


def resolved_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts with a human label."""
    return [verdict for verdict in verdicts if verdict.label is not None]


def count_agreed(verdicts: Sequence[Verdict]) -> int:
    """Number of verdicts with the silver label."""
    return sum(verdict.label == verdict.silver for verdict in resolved_verdicts(verdicts))


def kappa_of(verdicts: Sequence[Verdict], rules: AgreementRules) -> Interval:
    """Cohen's kappa of silver and human label."""
    settled = resolved_verdicts(verdicts)
    return kappa([verdict.silver for verdict in settled], [verdict.label for verdict in settled], rules)
