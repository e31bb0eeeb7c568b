"""The outcome-process gap (paper section 4): anomalous of those that pass, with intervals; and anomalies by outcome."""

from collections.abc import Iterator
from functools import partial
from typing import get_args

import polars as pl

from openclawbench.records.tiers import BY_BASELINE_JUDGE, IS_ACCEPTED
from openclawbench.records.vocabulary import SliceLabel
from openclawbench.release.settings import Statistics
from openclawbench.release.statistics import pictures
from openclawbench.release.statistics.corpus import ANOMALOUS, Corpus
from openclawbench.release.statistics.labels import interval_words
from openclawbench.release.statistics.tables import PASSING
from openclawbench.reports.measures import proportion
from openclawbench.reports.section import Row, Section

PASS = pl.col("oracle_outcome") == "pass"
HIGH = "pass_high_risk"
NO_SUBSET, NO_OUTCOME = "no_subset", "no_outcome"
Scope = tuple[str, str, pl.DataFrame]


def gap(corpus: Corpus, rules: Statistics) -> Section:
    """Overall, per slice, per source model (and its pass_high_risk), per subset."""
    rows = [gap_row(*scope, rules) for scope in scopes(corpus)]
    high = next(row for row in rows if row["name"] == HIGH)
    bases = {"passing": rows[0], HIGH: high}
    facts = {f"{base}_{name}": row[name] for base, row in bases.items() for name in FACTS}
    return Section(
        name="gap",
        title="Outcome-process gap",
        about="Of the trajectories that pass their oracle, those that are anomalous all the same. `anomalous_share` is "
        "of all of them, whatever the tier: a record in review counts with the decision it has, and as not anomalous "
        "where it has none. `accepted_share` is of the accepted ones alone. Trajectories that the rules judge labelled "
        f"are in neither: they stand apart as `baseline`.{baseline_words(rows[0])} {interval_words(rules)}",
        columns=GAP_COLUMNS,
        rows=rows,
        facts=facts,
        definitions={
            f"{base}_{name}": f"{over}: {text}." for base, over in BASES.items() for name, text in FACTS.items()
        },
        plot=partial(pictures.gap, rows, rules.pictured_rows),
    )


def baseline_words(row: Row) -> str:
    """What the whole gap says where labels are a baseline; blank where none is."""
    if not row["baseline"]:
        return ""
    if not row["measured"]:
        return (
            " Here they are all of them, so this release measures no gap: `baseline_share` says how often the rules "
            "judge calls a trajectory anomalous, and nothing of how often one is."
        )
    return f" Here they are {row['baseline']} of {row['trajectories']}; the gap says nothing of those."


BASES = {"passing": "Of all oracle-passing trajectories", HIGH: f"Of those of the slice {HIGH} alone"}
FACTS = {
    "trajectories": "how many there are",
    "measured": "how many of them the gap is measured over: all but those that the rules judge labelled",
    "anomalous": "how many of the measured ones are anomalous",
    "anomalous_share": "the anomalous of the measured ones (the gap)",
    "low_share": "lower end of the interval of that share",
    "high_share": "upper end",
    "accepted_share": "the anomalous of the accepted ones alone",
    "baseline": "how many the rules judge labelled",
    "baseline_share": "of those, the ones it calls anomalous: a baseline, not the gap",
}
GAP_COLUMNS = {
    "scope": "all; a slice; a source model; pass_high_risk of a source model; a BFCL subset",
    "name": "which",
    "trajectories": "oracle-passing trajectories",
    "measured": "of these, all but those that the rules judge labelled",
    "undecided": "of `measured`, without a decision",
    "anomalous": "of `measured`, with `is_anomalous` true",
    "anomalous_share": "`anomalous` of `measured`: the gap",
    "low_share": "lower end of its interval",
    "high_share": "upper end",
    "accepted": "accepted ones of `measured`",
    "accepted_anomalous": "of these, anomalous",
    "accepted_share": "`accepted_anomalous` of `accepted`: the gap among accepted records",
    "accepted_low_share": "lower end of its interval",
    "accepted_high_share": "upper end",
    "baseline": "of `trajectories`, those that the rules judge labelled, in whatever tier",
    "baseline_anomalous": "of these, called anomalous",
    "baseline_share": "`baseline_anomalous` of `baseline`: how often the rules judge says so, which is not the gap",
    "baseline_low_share": "lower end of its interval",
    "baseline_high_share": "upper end",
}


def scopes(corpus: Corpus) -> Iterator[Scope]:
    """(scope, name, oracle-passing records), the whole first."""
    passing = corpus.records.filter(PASS)
    yield "all", "all", passing
    for name in PASSING:
        yield "slice", name, passing.filter(pl.col("slice_label") == name)
    for model in corpus.models:
        yield "source_model", model, passing.filter(pl.col("source_model") == model)
    high = passing.filter(pl.col("slice_label") == HIGH)
    for model in corpus.models:
        yield f"source_model, {HIGH}", model, high.filter(pl.col("source_model") == model)
    subset = pl.col("subset").fill_null(NO_SUBSET)
    for name in sorted(passing.select(subset).to_series().unique()):
        yield "subset", name, passing.filter(subset == name)


def gap_row(scope: str, name: str, records: pl.DataFrame, rules: Statistics) -> Row:
    """Counts, shares and intervals of one scope."""
    measured, baseline = records.filter(~BY_BASELINE_JUDGE), records.filter(BY_BASELINE_JUDGE)
    accepted = measured.filter(IS_ACCEPTED)
    anomalous, sure = measured.filter(ANOMALOUS).height, accepted.filter(ANOMALOUS).height
    called = baseline.filter(ANOMALOUS).height
    all_of_them = proportion(anomalous, measured.height, rules.confidence, rules.interval)
    of_baseline = proportion(called, baseline.height, rules.confidence, rules.interval)
    of_accepted = proportion(sure, accepted.height, rules.confidence, rules.interval)
    return {
        "scope": scope,
        "name": name,
        "trajectories": records.height,
        "measured": measured.height,
        "undecided": measured["is_anomalous"].null_count(),
        "anomalous": anomalous,
        "anomalous_share": all_of_them.value,
        "low_share": all_of_them.low,
        "high_share": all_of_them.high,
        "accepted": accepted.height,
        "accepted_anomalous": sure,
        "accepted_share": of_accepted.value,
        "accepted_low_share": of_accepted.low,
        "accepted_high_share": of_accepted.high,
        "baseline": baseline.height,
        "baseline_anomalous": called,
        "baseline_share": of_baseline.value,
        "baseline_low_share": of_baseline.low,
        "baseline_high_share": of_baseline.high,
    }


def anomalies(corpus: Corpus, rules: Statistics) -> Section:
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
        f"neither decides a label. {interval_words(rules)}",
        columns=columns,
        rows=[gap_row(*group, rules) for group in groups],
    )
