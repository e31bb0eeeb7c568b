"""The outcome-process gap (paper section 4): anomalous of those that pass, with intervals; and anomalies by outcome."""

from collections.abc import Iterator
from functools import partial
from typing import get_args

import polars as pl

from openclawbench.records.tiers import BY_BASELINE_JUDGE, IS_ACCEPTED, IS_DECIDED, IS_MEASURED
from openclawbench.records.vocabulary import SliceLabel
from openclawbench.release.files.names import SUMMARY
from openclawbench.release.settings import StatisticsSettings
from openclawbench.release.statistics import pictures
from openclawbench.release.statistics.consistency import Identity, Share
from openclawbench.release.statistics.corpus import ANOMALOUS, Corpus, number_of
from openclawbench.release.statistics.declaration import Figures, Rows, same, statistic, sum_of
from openclawbench.release.statistics.labels import interval_words
from openclawbench.reports.counting import review_bounds
from openclawbench.reports.evidence.slices import PASSING_SLICES
from openclawbench.reports.measures import proportion
from openclawbench.reports.section import Row, Section

PASS = pl.col("oracle_outcome") == "pass"
HIGH = "pass_high_risk"
NO_SUBSET, NO_OUTCOME, NO_MODE = "no_subset", "no_outcome", "no_mode"
Scope = tuple[str, str, pl.DataFrame]


def gap_identities(figures: Figures) -> Iterator[Identity]:
    """Each division of the passing trajectories adds up; the summary counts the same; shares are part / whole."""
    rows = figures.tables["gap"]
    by_scope = {(row["scope"], row["name"]): row for row in rows}
    passing, high = by_scope["all", "all"], by_scope["slice", HIGH]
    totals = {"slice": passing, "source_model": passing, "subset": passing, f"source_model, {HIGH}": high}
    if any(row["scope"] == "mode" for row in rows):
        totals["mode"] = passing
    for scope, total in totals.items():
        for column in COUNTS:
            parts = {row["name"]: row[column] for row in rows if row["scope"] == scope}
            yield sum_of(f"gap, {column} by {scope}", parts, total[column])
    yield from share_identities("gap", rows)
    for base, row in {"passing": passing, HIGH: high}.items():
        for column, ending in SUMMARY_ENDINGS.items():
            counted = figures.summary["outcome_process_gap"][base + ending]
            yield same(f"gap, {base}, {column}", {SUMMARY: counted, "gap": row[column]})


COUNTS = (
    *("trajectories", "measured", "undecided", "in_review", "anomalous", "accepted", "accepted_anomalous"),
    *("baseline", "baseline_anomalous"),
)
SUMMARY_ENDINGS = {  # column -> ending of its name in the summary's outcome_process_gap
    "trajectories": "",
    "measured": "_measured",
    "undecided": "_undecided",
    "in_review": "_in_review",
    "anomalous": "_measured_anomalous",
    "accepted": "_accepted",
    "accepted_anomalous": "_accepted_anomalous",
    "baseline": "_baseline",
    "baseline_anomalous": "_baseline_anomalous",
}
SHARES = (  # part, whole, share
    ("anomalous", "measured", "anomalous_share"),
    ("accepted_anomalous", "accepted", "accepted_share"),
    ("baseline_anomalous", "baseline", "baseline_share"),
)


def share_identities(table: str, rows: Rows) -> Iterator[Share]:
    """Each share of a table of GAP_COLUMNS is its part of its whole."""
    for row in rows:
        for part, total, name in SHARES:
            if row[name] is not None:
                where = f"{table}, {row['scope']} {row['name']}"
                yield Share(where, str(row[part]), str(row[total]), f"{row[name]:.6f}")


@statistic(reads=["subset", "mode"], identities=gap_identities, headline_in_card=False, about_labels=True)
def gap(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """Overall, per mode where one is known, per slice, per source model (and its pass_high_risk), per subset."""
    rows = [gap_row(*scope, settings) for scope in scopes(corpus)]
    high = next(row for row in rows if (row["scope"], row["name"]) == ("slice", HIGH))
    bases = {"passing": rows[0], HIGH: high}
    facts = {f"{base}_{name}": row[name] for base, row in bases.items() for name in FACTS}
    is_pictured = bool(rows[0]["measured"] or rows[0]["baseline"])
    return Section(
        name="gap",
        title="Outcome-process gap by silver labels" if rows[0]["measured"] else "Outcome-process gap: not measured",
        about="Silver, uncorrected: intervals are those of counting trajectories and leave out the judge's errors, "
        "which `corrected_gap` measures. Of the trajectories that pass their oracle, those that are anomalous all the "
        "same. `anomalous_share` is of what a judge decided, whatever the tier: a record in review counts with the "
        "decision it has. Records without a decision are in no share: they stand beside it as `undecided`, and "
        "`if_normal_share` and `if_anomalous_share` are the bounds if all that is undecided or in review were one or "
        "the other. `accepted_share` is of the accepted ones alone. What the rules judge decided is in none of them: "
        f"it stands apart as `baseline`.{baseline_words(rows[0])} {interval_words(settings)}",
        columns=GAP_COLUMNS,
        rows=rows,
        facts=facts,
        definitions={
            f"{base}_{name}": f"{over}: {text}." for base, over in BASES.items() for name, text in FACTS.items()
        },
        plot=partial(pictures.gap, rows, settings.pictured_rows) if is_pictured else None,
    )


def baseline_words(row: Row) -> str:
    """The sentence of the gap on baseline labels, or on what nobody decided; empty where there is neither."""
    if not row["baseline"]:
        return "" if row["measured"] else " Here a judge decided none of them, so this release measures no gap."
    if not row["measured"]:
        return (
            " Here nothing else is decided, so this release measures no gap: `baseline_share` says how often the rules "
            "judge calls a trajectory anomalous, and nothing of how often one is."
        )
    return f" Here they are {row['baseline']} of {row['trajectories']}; the gap says nothing of those."


BASES = {"passing": "Of all oracle-passing trajectories", HIGH: f"Of those of the slice {HIGH} alone"}
FACTS = {
    "trajectories": "how many there are",
    "measured": "how many of them the gap is measured over: what a judge decided, but for the rules judge",
    "undecided": "how many of them have no decision",
    "in_review": "how many of the measured ones are in review",
    "anomalous": "how many of the measured ones are anomalous",
    "anomalous_share": "the anomalous of the measured ones (the gap)",
    "low_share": "lower end of the interval of that share",
    "high_share": "upper end",
    "if_normal_share": "the share if all that is undecided or in review were normal",
    "if_anomalous_share": "the share if all that is undecided or in review were anomalous",
    "accepted_share": "the anomalous of the accepted ones alone",
    "baseline": "how many the rules judge decided",
    "baseline_share": "of those, the ones it calls anomalous: a baseline, not the gap",
}
GAP_COLUMNS = {
    "scope": "all; a mode of collecting, where any is known; a slice; a source model; pass_high_risk of a source "
    "model; a BFCL subset",
    "name": "which",
    "trajectories": "oracle-passing trajectories",
    "measured": "of these, what a judge decided, but for the rules judge",
    "undecided": "of `trajectories`, without a decision",
    "in_review": "of `measured`, in review",
    "anomalous": "of `measured`, with `is_anomalous` true",
    "anomalous_share": "`anomalous` of `measured`: the gap",
    "low_share": "lower end of its interval",
    "high_share": "upper end",
    "if_normal_share": "anomalous of `measured` and `undecided`, if all that is undecided or in review were normal",
    "if_anomalous_share": "the same if all were anomalous",
    "accepted": "accepted ones of `measured`",
    "accepted_anomalous": "of these, anomalous",
    "accepted_share": "`accepted_anomalous` of `accepted`: the gap among accepted records",
    "accepted_low_share": "lower end of its interval",
    "accepted_high_share": "upper end",
    "baseline": "of `trajectories`, what the rules judge decided, in whatever tier",
    "baseline_anomalous": "of these, called anomalous",
    "baseline_share": "`baseline_anomalous` of `baseline`: how often the rules judge says so, which is not the gap",
    "baseline_low_share": "lower end of its interval",
    "baseline_high_share": "upper end",
}


def scopes(corpus: Corpus) -> Iterator[Scope]:
    """(scope, name, oracle-passing records), the whole first."""
    passing = corpus.records.filter(PASS)
    yield "all", "all", passing
    for name, of_mode in by_mode(passing):
        yield "mode", name, of_mode
    for name in PASSING_SLICES:
        yield "slice", name, passing.filter(pl.col("slice_label") == name)
    for model in corpus.models:
        yield "source_model", model, passing.filter(pl.col("source_model") == model)
    high = passing.filter(pl.col("slice_label") == HIGH)
    for model in corpus.models:
        yield f"source_model, {HIGH}", model, high.filter(pl.col("source_model") == model)
    subset = pl.col("subset").fill_null(NO_SUBSET)
    for name in sorted(passing.select(subset).to_series().unique()):
        yield "subset", name, passing.filter(subset == name)


def by_mode(records: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """(mode, its records) in the order of names, NO_MODE for records without a mode; empty if no record has one."""
    if records["mode"].null_count() == records.height:
        return
    mode = pl.col("mode").fill_null(NO_MODE)
    for name in sorted(records.select(mode).to_series().unique()):
        yield name, records.filter(mode == name)


def gap_row(scope: str, name: str, records: pl.DataFrame, settings: StatisticsSettings) -> Row:
    """Counts, shares and intervals of one scope."""
    measured, baseline = records.filter(IS_MEASURED), records.filter(BY_BASELINE_JUDGE & IS_DECIDED)
    accepted = measured.filter(IS_ACCEPTED)
    anomalous, sure = number_of(measured.filter(ANOMALOUS)), number_of(accepted.filter(ANOMALOUS))
    called = number_of(baseline.filter(ANOMALOUS))
    all_of_them = proportion(anomalous, number_of(measured), settings.confidence, settings.interval)
    of_baseline = proportion(called, number_of(baseline), settings.confidence, settings.interval)
    undecided, in_review = (number_of(some) for some in (records.filter(~IS_DECIDED), measured.filter(~IS_ACCEPTED)))
    bounds = review_bounds(number_of(accepted), sure, in_review, undecided)
    of_accepted = proportion(sure, number_of(accepted), settings.confidence, settings.interval)
    return {
        "scope": scope,
        "name": name,
        "trajectories": number_of(records),
        "measured": number_of(measured),
        "undecided": undecided,
        "in_review": in_review,
        "anomalous": anomalous,
        "anomalous_share": all_of_them.value,
        "low_share": all_of_them.low,
        "high_share": all_of_them.high,
        "if_normal_share": bounds[0],
        "if_anomalous_share": bounds[1],
        "accepted": number_of(accepted),
        "accepted_anomalous": sure,
        "accepted_share": of_accepted.value,
        "accepted_low_share": of_accepted.low,
        "accepted_high_share": of_accepted.high,
        "baseline": number_of(baseline),
        "baseline_anomalous": called,
        "baseline_share": of_baseline.value,
        "baseline_low_share": of_baseline.low,
        "baseline_high_share": of_baseline.high,
    }


def anomalies_identities(figures: Figures) -> Iterator[Identity]:
    """Shares are part / whole; the first row is the corpus as the summary counts it."""
    rows, totals = figures.tables["anomalies"], figures.summary["totals"]
    yield from share_identities("anomalies", rows)
    yield same("trajectories", {SUMMARY: totals["trajectories"], "anomalies": rows[0]["trajectories"]})
    accepted = {SUMMARY: totals["anomalous_accepted"], "anomalies": rows[0]["accepted_anomalous"]}
    yield same("accepted anomalous records", accepted)


@statistic(identities=anomalies_identities, in_card=False, about_labels=True)
def anomalies(corpus: Corpus, settings: StatisticsSettings) -> Section:
    """Anomalous of all trajectories, by outcome and slice: those that fail beside those that pass."""
    outcome = pl.col("oracle_outcome").fill_null(NO_OUTCOME)
    label = pl.col("slice_label").fill_null(NO_OUTCOME)
    groups: list[Scope] = [("all", "all", corpus.records)]
    groups += [("outcome", name, corpus.records.filter(outcome == name)) for name in ("pass", "fail", NO_OUTCOME)]
    groups += [("slice", name, corpus.records.filter(label == name)) for name in get_args(SliceLabel)]
    columns = GAP_COLUMNS | {
        "scope": "all; an outcome; a slice",
        "trajectories": "trajectories",
        "anomalous_share": "`anomalous` of `measured`",
        "accepted_share": "`accepted_anomalous` of `accepted`",
    }
    return Section(
        name="anomalies",
        title="Anomalies by outcome and slice",
        about="The same for every trajectory, also those that fail or have no outcome. Outcome and slice are context: "
        f"neither decides a label. {interval_words(settings)}",
        columns=columns,
        rows=[gap_row(*group, settings) for group in groups],
    )
