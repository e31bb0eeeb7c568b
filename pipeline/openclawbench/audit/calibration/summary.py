"""T36: what people made of a calibration sample, as one table."""

from collections.abc import Sequence
from typing import get_args

from openclawbench.audit.calibration.verdicts import Verdict
from openclawbench.records.calibration import AgreementStatus, CalibrationSample
from openclawbench.reports.counting import share
from openclawbench.reports.measures import Interval, kappa, proportion
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules


def summary(
    sample: CalibrationSample, verdicts: list[Verdict], records: int, number: int, rules: AgreementRules
) -> Section:
    """T36 of one sample; `records`: its review records, replaced ones among them."""
    known, chance = resolved(verdicts), kappa_of(verdicts, rules)
    rows = [row | interval(row, rules) for row in (*drawn_from(sample), *quantities(sample, verdicts, known, records))]
    whole = {row["quantity"]: row for row in rows}
    return Section(
        name=f"calibration_{number}",
        title=f"Calibration sample {sample.sample} (T36)",
        about="What people made of the sample's trajectories, beside the silver labels, which stay as they are. Shares "
        f"have Wilson's score intervals of {100 * rules.confidence:g} %; kappa has a bootstrap interval of the same "
        f"level ({rules.bootstrap_samples} samples, fixed seed).",
        columns={
            "quantity": "what is counted",
            "count": "how many",
            "of": "of how many; a dash where it is no part of anything",
            "share": "`count` of `of`",
            "low_share": "lower end of its interval; a dash for what was chosen, not found",
            "high_share": "upper end",
            "definition": "what it is",
        },
        rows=rows,
        facts={
            "audited": len(verdicts),
            "agreement_share": whole["silver-human binary agreement"]["share"],
            "kappa": chance.value,
            "kappa_low": chance.low,
            "kappa_high": chance.high,
            "corpus_agreement_share": weighted(sample, verdicts),
            "corpus_agreement_leaves_out": ", ".join(left_out(sample, verdicts)) or None,
            "over_flags": whole["silver over-flags"]["count"],
            "misses": whole["silver misses"]["count"],
        },
        definitions={
            "audited": "Trajectories with at least one review record.",
            "agreement_share": "Same binary label, of those with a settled human verdict.",
            "kappa": "Cohen's kappa of silver and human label; a dash where both say one and the same throughout, and "
            "0 where only one of them does: nothing can be told of chance then.",
            "kappa_low": "Lower end of its bootstrap interval.",
            "kappa_high": "Upper end.",
            "corpus_agreement_share": "Agreement with each slice weighted by the passing trajectories of the release "
            "in it that are not in review: the sample is balanced over slices and the corpus is not. Slices without a "
            "settled verdict are left out.",
            "corpus_agreement_leaves_out": "Slices of the release without a settled verdict, each with its passing "
            "trajectories that are not in review: the weighted share says nothing of them.",
            "over_flags": "Silver says anomalous, people say normal.",
            "misses": "Silver says normal, people say anomalous.",
        },
        prose=frozenset({"quantity", "definition"}),
    )


def drawn_from(sample: CalibrationSample) -> list[Row]:
    """The rows of T36 about the pool and the sample."""
    pool, drawn = sum(sample.pool.values()), sum(sample.drawn.values())
    return [
        quantity("calibration pool", pool, None, "trajectories of the release's pool"),
        quantity("oracle-fail records in the pool", sample.failing_in_pool, pool, "0 in a valid release"),
        quantity("sample", drawn, pool, "trajectories drawn from it"),
        *(quantity(f"{OF_SLICE}{name}", number, drawn, "of this slice") for name, number in sample.drawn.items()),
    ]


def quantities(sample: CalibrationSample, verdicts: list[Verdict], known: list[Verdict], records: int) -> list[Row]:
    """The rows of T36 about the verdicts, without intervals."""
    both = [one for one in known if one.label and one.silver]
    named, placed = [one for one in both if one.said["human_subtype"]], [one for one in both if one.onset_known]
    drawn = sum(sample.drawn.values())
    flags = sum(one.silver and not one.label for one in known)
    misses = sum(bool(one.label) and not one.silver for one in known)
    return [
        quantity("audited records", len(verdicts), drawn, "with a review record; of the others nothing is said"),
        quantity("replaced verdicts", records - sum(len(one.reviews) for one in verdicts), records,
                 "review records in whose place a later one of the same reviewer stands"),
        quantity("reviewed blind", sum(one.row.blind for one in verdicts), len(verdicts), "without the silver label"),
        quantity("human-verdict unresolved", len(verdicts) - len(known), len(verdicts),
                 "nobody is sure, or nobody settled it"),
        quantity("human-verdict anomalous", sum(bool(one.label) for one in known), len(known), "people say anomalous"),
        quantity("human-verdict non-anomalous", sum(not one.label for one in known), len(known), "people say normal"),
        quantity("silver-human binary agreement", agreed(known), len(known), "the same label"),
        quantity("silver over-flags", flags, len(known), "silver anomalous, people normal"),
        quantity("silver misses", misses, len(known), "silver normal, people anomalous"),
        quantity("same subtype", sum(not one.other_subtype for one in named), len(named), "both anomalous, and named"),
        quantity("same onset", sum(not one.other_onset for one in placed), len(placed), "both anomalous, and reviewed"),
        *(quantity(name.replace("_", " "), sum(one.status == name for one in verdicts), len(verdicts), STATUSES[name])
          for name in get_args(AgreementStatus)),
    ]  # fmt: skip


OF_SLICE = "sample, "
CHOSEN = {
    "calibration pool",
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
    """One row."""
    return {"quantity": name, "count": count, "of": of, "definition": definition}


def interval(row: Row, rules: AgreementRules) -> Row:
    """Share and interval of a row."""
    if row["quantity"] in CHOSEN or row["quantity"].startswith(OF_SLICE):
        return {"share": share(row["count"], row["of"] or 0), "low_share": None, "high_share": None}
    found = proportion(row["count"], row["of"] or 0, rules.confidence)
    return {"share": found.value, "low_share": found.low, "high_share": found.high}


def weighted(sample: CalibrationSample, verdicts: list[Verdict]) -> float | None:
    """Agreement re-weighted to the slices of the corpus."""
    total, right = 0, 0.0
    for name, population in sample.population.items():
        own = resolved([one for one in verdicts if one.row.slice_label == name])
        if own:
            total += population
            right += population * agreed(own) / len(own)
    return round(right / total, 6) if total else None


def left_out(sample: CalibrationSample, verdicts: list[Verdict]) -> list[str]:
    """Slices of the release of which the weighted agreement says nothing, with their trajectories."""
    seen = {one.row.slice_label for one in resolved(verdicts)}
    return [f"{name} ({number})" for name, number in sample.population.items() if number and name not in seen]


def without_pool(sample: CalibrationSample) -> list[str]:
    """Slices that the release has trajectories in and its calibration pool none."""
    return [name for name, number in sample.population.items() if number and not sample.pool[name]]


def resolved(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those with a human label."""
    return [one for one in verdicts if one.label is not None]


def agreed(verdicts: Sequence[Verdict]) -> int:
    """How many have the silver label."""
    return sum(one.label == one.silver for one in resolved(verdicts))


def kappa_of(verdicts: Sequence[Verdict], rules: AgreementRules) -> Interval:
    """Cohen's kappa of silver and human label."""
    known = resolved(verdicts)
    return kappa([one.silver for one in known], [one.label for one in known], rules)
