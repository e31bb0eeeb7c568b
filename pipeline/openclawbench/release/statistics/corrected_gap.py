"""The outcome-process gap, corrected by the human verdicts of a release; without verdicts, by silver labels only."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from openclawbench.records.tiers import ACCEPTED, BASELINE, IS_DECIDED, IS_MEASURED, REVIEW, STATUS_OF, status
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics.composition import TOTAL
from openclawbench.release.statistics.consistency import Identity
from openclawbench.release.statistics.corpus import RECORDS, VERDICTS, Corpus, number_of
from openclawbench.release.statistics.declaration import Figures, same, statistic, total_row
from openclawbench.reports.corrected_gap import (
    FEW_VERDICTS,
    CorrectedGap,
    PosteriorSettings,
    Stratum,
    estimate_corrected_gap,
)
from openclawbench.reports.counting import percent, review_bounds, share
from openclawbench.reports.evidence.slices import PASSING_SLICES
from openclawbench.reports.section import Row, Section

CORRECTED, UNCORRECTED, BASELINE_UNCORRECTED = (
    "corrected by human verdicts",
    "silver, uncorrected",
    "baseline, uncorrected",
)
NOT_JUDGED = "not measured: nobody judged"
COUNTED = ("trajectories", "human_anomalous", "human_normal", "unresolved")


def corrected_gap_identities(figures: Figures) -> Iterator[Identity]:
    """The last row is the sum of the others; without labels of the rules judge, the gap counts the same."""
    rows = figures.tables["corrected_gap"]
    yield from total_row(figures, "corrected_gap", "stratum", COUNTED)
    total = next(row for row in figures.tables["gap"] if row["scope"] == "all")
    if not total["baseline"]:
        yield same("gap, accepted", {"gap": total["accepted"], "corrected_gap": rows[-1]["trajectories"]})


@statistic(reads=VERDICTS, identities=corrected_gap_identities, about_labels=True)
def corrected_gap(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """One row per stratum (risk slice, label status, silver label) of the oracle-passing records outside review."""
    rows = strata_rows(corpus)
    strata = [
        Stratum(
            row["slice_label"],
            row["silver_anomalous"],
            *(row[name] for name in COUNTED),
        )
        for row in rows
    ]
    posterior = PosteriorSettings(settings.confidence, settings.posterior_draws, settings.posterior_seed)
    estimate = estimate_corrected_gap(strata, posterior)
    for row in rows:
        row["human_anomalous_share"] = share(row["human_anomalous"], row["human_anomalous"] + row["human_normal"])
    is_baseline = bool(rows) and all(row["label_status"] == BASELINE for row in rows)
    total: Row = dict.fromkeys(STRATUM_COLUMNS) | {name: sum(row[name] for row in rows) for name in COUNTED}
    verdicts = total["human_anomalous"] + total["human_normal"]
    state = CORRECTED if verdicts else BASELINE_UNCORRECTED if is_baseline else UNCORRECTED
    if corpus.is_unjudged:
        state = NOT_JUDGED
    facts = corrected_facts(estimate, strata, verdicts, state) | open_facts(rows, corpus)
    return Section(
        name="corrected_gap",
        title=f"Outcome-process gap ({state})",
        about=about(verdicts, corpus, settings),
        columns=STRATUM_COLUMNS,
        rows=[*rows, total | {"stratum": TOTAL}],
        facts=facts,
        definitions={name: FACTS[name] for name in facts},
    )


STRATUM_COLUMNS = {
    "stratum": "risk slice, label status and silver label; the last row is the sum",
    "slice_label": "risk slice",
    "label_status": "accepted, or baseline where the rules judge gave the label",
    "silver_anomalous": "whether the silver label is anomalous",
    "trajectories": "oracle-passing trajectories outside review",
    "human_anomalous": "settled human verdicts that say anomalous",
    "human_normal": "settled human verdicts that say normal",
    "unresolved": "reviewed without a settled verdict",
    "human_anomalous_share": "`human_anomalous` of the settled verdicts: the precision (PPV) of silver where it says "
    "anomalous, its false omission rate (FOR) where it says normal",
}
FACTS = {
    "state": "corrected by human verdicts; without any: silver, uncorrected, or baseline, uncorrected; or not "
    "measured, where nobody judged",
    "in_review": "Oracle-passing records in review with a decision of a judge, but for the rules judge.",
    "undecided": "Oracle-passing records without a decision.",
    "if_normal_share": "The silver share if all that is in review or undecided were normal.",
    "if_anomalous_share": "The same if all were anomalous.",
    "verdicts": "Settled human verdicts on labels that this release has.",
    "silver_share": "Trajectories that silver calls anomalous, of all that are accepted (of the baseline, where none "
    "is): no interval, since silver labelled every one.",
    "corrected_share": "The gap: the sum over the strata of their share of the trajectories times "
    "`human_anomalous_share`, one half where a stratum has no verdict.",
    "corrected_low_share": "Lower end of its interval: percentiles of draws from each Jeffreys posterior.",
    "corrected_high_share": "Upper end.",
    "prediction_powered_share": "The same by prediction-powered inference in each stratum, beside it for comparison. "
    "Null where a stratum has fewer than two settled verdicts.",
    "prediction_powered_low_share": "Lower end of its interval (normal approximation).",
    "prediction_powered_high_share": "Upper end.",
    "sensitivity_share": "Of the truly anomalous, those that silver calls anomalous.",
    "sensitivity_low_share": "Lower end of its interval.",
    "sensitivity_high_share": "Upper end.",
    "specificity_share": "Of the truly normal, those that silver calls normal.",
    "specificity_low_share": "Lower end of its interval.",
    "specificity_high_share": "Upper end.",
    "unresolved_normal_share": "The gap if every unresolved verdict were normal.",
    "unresolved_anomalous_share": "The gap if every unresolved verdict were anomalous.",
    "few_verdicts": f"Strata with fewer than {FEW_VERDICTS} settled verdicts, whose share is hardly known.",
}


def corrected_facts(estimate: CorrectedGap, strata: list[Stratum], verdicts: int, state: str) -> dict[str, Any]:
    """The headline numbers: FACTS, or the first three without a settled verdict."""
    facts: dict[str, Any] = {"state": state, "verdicts": verdicts, "silver_share": estimate.silver}
    if not verdicts:
        return facts
    for name in ("corrected", "prediction_powered", "sensitivity", "specificity"):
        value, low, high = getattr(estimate, name)
        facts |= {f"{name}_share": value, f"{name}_low_share": low, f"{name}_high_share": high}
    few = [f"{stratum.name} ({stratum.settled})" for stratum in strata if stratum.settled < FEW_VERDICTS]
    return facts | {
        "unresolved_normal_share": estimate.unresolved_normal,
        "unresolved_anomalous_share": estimate.unresolved_anomalous,
        "few_verdicts": "; ".join(few) or None,
    }


def open_facts(rows: list[Row], corpus: Corpus) -> dict[str, Any]:
    """What a judge left open, and the bounds of the silver share if it were all one or the other. Where something is
    accepted, the silver share is of that alone: the rules judge measures nothing."""
    accepted = [row for row in rows if row["label_status"] == ACCEPTED]
    total = sum(row["trajectories"] for row in accepted)
    anomalous = sum(row["trajectories"] for row in accepted if row["silver_anomalous"])
    waiting = passing(corpus).filter(pl.col("quality_tier") == REVIEW)
    undecided, in_review = (number_of(waiting.filter(some)) for some in (~IS_DECIDED, IS_MEASURED))
    low, high = review_bounds(total, anomalous, in_review, undecided)
    facts = {"in_review": in_review, "undecided": undecided, "if_normal_share": low, "if_anomalous_share": high}
    return facts | ({"silver_share": share(anomalous, total)} if total else {})


def open_words(facts: Mapping[str, Any]) -> str:
    """The sentence on what is in review or undecided beside a silver share; empty where nothing is."""
    if not facts["in_review"] + facts["undecided"]:
        return ""
    left_out = f" Not in it: {facts['in_review']} in review and {facts['undecided']} undecided"
    if facts["if_normal_share"] is None:
        return f"{left_out}."
    low, high = percent(facts["if_normal_share"]), percent(facts["if_anomalous_share"])
    return f"{left_out}: {low} if all of these were normal, {high} if all were anomalous."


def gap_sentence(facts: Mapping[str, Any]) -> str:
    """The headline of a release: the corrected gap with its interval, or the silver share, named as such."""
    silver = percent(facts["silver_share"])
    if facts["state"] == NOT_JUDGED:
        return "Outcome-process gap: not measured: nobody has judged these records."
    if facts["silver_share"] is None:
        return f"Outcome-process gap: not measured: no oracle-passing record has an accepted label.{open_words(facts)}"
    if facts["state"] == BASELINE_UNCORRECTED:
        return (
            f"Outcome-process gap: not measured. The rules judge calls {silver} anomalous ({BASELINE_UNCORRECTED}: "
            f"which is not a gap until human verdicts correct it).{open_words(facts)}"
        )
    if not facts["verdicts"]:
        return (
            f"Outcome-process gap: {silver} ({UNCORRECTED}: no human verdict measures how often the labels err)."
            f"{open_words(facts)}"
        )
    low, high = (percent(facts[f"corrected_{end}_share"]) for end in ("low", "high"))
    return (
        f"Outcome-process gap: {percent(facts['corrected_share'])} ({low} to {high}), corrected by {facts['verdicts']} "
        f"human verdicts; silver alone says {silver}.{open_words(facts)}"
    )


def about(verdicts: int, corpus: Corpus, settings: StatisticsSettings) -> str:
    """The description of the section, with its limits."""
    in_review = number_of(passing(corpus).filter(pl.col("quality_tier") == REVIEW))
    without = f" {in_review} oracle-passing records in review have no label to correct and are left out." * bool(
        in_review
    )
    if corpus.is_unjudged:
        return "Nobody has judged these records, so there is no label to correct and no gap to state."
    if not verdicts:
        return (
            "This release holds no settled human verdict, so nobody has measured how often its labels err. The silver "
            "share is what the judge says; an interval around it would say nothing about the truth, so there is none. "
            "Review a sample (`openclawbench audit sample-calibration`), import the verdicts and release again."
            + without
        )
    changed = 0 if corpus.human is None else corpus.human.filter(~pl.col("same_label")).height
    return (
        "What people say of a sample of the labels, carried over to all of them: in each stratum the share that people "
        f"call anomalous, weighted by its trajectories. Intervals of {100 * settings.confidence:g} % "
        f"({settings.posterior_draws} draws, fixed seed) hold if the trajectories under review are like those of their "
        "stratum; the calibration pool reserves whole tasks by a hash, so that they are. What reviewers get wrong is "
        "not in them."
        + without
        + f" {changed} verdicts on labels that have changed since are left out." * bool(changed)
    )


def passing(corpus: Corpus) -> pl.DataFrame:
    """The oracle-passing records."""
    return corpus.records.filter(pl.col("oracle_outcome") == "pass")


def strata_rows(corpus: Corpus) -> list[Row]:
    """The strata that have a trajectory, in the order of risk: STRATUM_COLUMNS without the share."""
    records = passing(corpus).filter(pl.col("quality_tier") != REVIEW).with_columns(status())
    human, number = pl.col("human_anomaly_label"), pl.col(RECORDS)
    counted = (
        records.group_by("slice_label", "label_status", silver_anomalous=pl.col("is_anomalous").fill_null(False))
        .agg(
            trajectories=number.sum(),
            human_anomalous=number.filter(human).sum(),
            human_normal=number.filter(~human).sum(),
            unresolved=number.filter(pl.col("reviewed") & human.is_null()).sum(),
        )
        .rows(named=True)
    )
    statuses = list(dict.fromkeys(STATUS_OF.values()))
    rows = sorted(
        counted,
        key=lambda row: (
            PASSING_SLICES.index(row["slice_label"]),
            statuses.index(row["label_status"]),
            not row["silver_anomalous"],
        ),
    )
    for row in rows:
        silver = "anomalous" if row["silver_anomalous"] else "normal"
        row["stratum"] = f"{row['slice_label']}, {row['label_status']}, silver {silver}"
    return rows
