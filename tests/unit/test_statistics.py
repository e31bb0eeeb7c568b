"""Statistics of a release: the paper's own counts give the paper's own percentages, and nothing divides by nothing."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_tables import T14, T31

from openclawbench.records.release import Master, PoolRow
from openclawbench.records.statistics import StatisticsFile, StatisticsSections
from openclawbench.release.baseline_notice import RULES_NOTICE, RULES_STAMP
from openclawbench.release.settings import PublishRules, StatisticsSettings
from openclawbench.release.statistics import composition
from openclawbench.release.statistics.consistency import contradictions
from openclawbench.release.statistics.corpus import (
    HUMAN_COLUMNS,
    LABEL_COLUMNS,
    RECORDS,
    SUMMED,
    Corpus,
    count_labels,
    count_records,
    record_columns,
    with_verdicts,
)
from openclawbench.release.statistics.corrected_gap import gap_sentence
from openclawbench.release.statistics.declaration import share_of, statistic
from openclawbench.release.statistics.files import statistics_files, text
from openclawbench.release.statistics.onsets import rank
from openclawbench.release.statistics.statistics import COLUMNS, STATISTICS, TABLES, identities, statistics
from openclawbench.reports.files import as_json
from openclawbench.reports.section import Report, Section
from openclawbench.tables.schema import schema

RULES = PublishRules.load()
PAGE = Path(__file__).parents[2] / "docs" / "develop" / "add_a_statistic.md"
KINDS = pl.DataFrame(schema=schema(Master)).select(record_columns(COLUMNS)).schema
LABELS = dict.fromkeys(LABEL_COLUMNS, pl.String)
EVENTS = dict.fromkeys(Master.model_fields["event_type_counts"].annotation.model_fields, 0)  # type: ignore[union-attr]
BLANK: dict[str, Any] = dict.fromkeys(KINDS) | {
    "source_model": "m",
    "trajectory_id": "t",
    "num_steps": 4,
    "event_type_counts": EVENTS | {"read": 3, "reply": 1},
    "language_counts": {"covered": 3, "uncovered": 0, "unsure": 0, "no_words": 1},
    "oracle_outcome": "pass",
    "risk_bucket": "low",
    "risk_score": 10.0,
    "slice_label": "pass_low_risk",
    "is_anomalous": False,
    "quality_tier": "high_confidence_accepted",
    "judge": "openai",
    "failures_only": False,
}
PICTURES = ("event_categories", "gap", "onset_steps", "quality_tiers", "severity", "slices", "subtypes")
SUBTYPE = "capability_gap_overcommitment"
ANOMALOUS: dict[str, Any] = {
    "is_anomalous": True,
    "anomaly_type_l2": SUBTYPE,
    "earliest_recoverable_onset": 2,
    "earliest_harmful_onset": 4,
    "severity": "low",
    "recoverability": "recoverable",
}
T4 = {
    "deepseek-r1-bfcl": (5_017, 51),
    "glm-4.5-air-bfcl": (5_251, 50),
    "gpt-oss-20b-bfcl": (5_251, 50),
    "qwen3.5_9b-bfcl": (5_250, 43),
    "qwen3.6_27b-bfcl": (5_249, 47),
    "qwen3.6_35b_a3b-bfcl": (5_246, 59),
}


def corpus(
    rows: list[dict[str, Any]],
    pool: list[dict[str, Any]] | None = None,
    labels: int = 0,
    human: pl.DataFrame | None = None,
) -> Corpus:
    """A corpus of these rows, everything else blank; the first `labels` accepted ones stand on the test side."""
    own = pl.DataFrame(
        [dict.fromkeys(PoolRow.model_fields) | member for member in pool or []], schema=dict(schema(PoolRow))
    )
    return counted(pl.DataFrame([BLANK | row for row in rows], schema=KINDS), own, labels, human)


def counted(records: pl.DataFrame, pool: pl.DataFrame, labels: int = 0, human: pl.DataFrame | None = None) -> Corpus:
    """A corpus of these records: each as it is, for counting here in another way, and counted as a release's are."""
    tables, step_counts = count_records([records[:2], records[2:]], COLUMNS, TABLES, human)
    rows = [{name: row[name] for name in LABELS if name in row} for row in records.head(labels).to_dicts()]
    tested = pl.DataFrame([row | {"label_status": "accepted"} for row in rows], schema=LABELS)
    each = with_verdicts(records.drop(SUMMED), human).with_columns(pl.lit(1).alias(RECORDS))
    sides = count_labels(tested.lazy(), "default_cut", "test").collect()
    return Corpus(each, step_counts, sides, pool, None, human, tables)


def paper() -> Corpus:
    """31,264 records with exactly T4's, T14's and T31's counts; 2,904 that pass are anomalous, 1,765 of high risk."""
    slices = [name for name, (count, _) in T14.items() for _ in range(count)]
    anomalous = {"pass_high_risk": 1_765, "pass_medium_risk": 739, "pass_low_risk": 400}
    left = dict(anomalous)
    flags = []
    for name in slices:
        flags.append(left.get(name, 0) > 0)
        left[name] = left.get(name, 0) - 1
    models = [name for name, (count, _) in T4.items() for _ in range(count)]
    # Interleaved, so that no table is a copy of another; review takes records that are not anomalous.
    order = [number * 7919 % len(slices) for number in range(len(slices))]
    slices, flags = [slices[n] for n in order], [flags[n] for n in order]
    tiers: list[str] = []
    need = {"review_or_unresolved": 866, "accepted_repaired": 514}
    for flag in flags:
        tier = next((name for name, count in need.items() if count and not flag), "high_confidence_accepted")
        need[tier] = need.get(tier, 0) - 1
        tiers.append(tier)
    plain = pl.DataFrame([BLANK], schema=KINDS)
    records = plain[[0] * len(slices)].with_columns(
        source_model=pl.Series(models),
        slice_label=pl.Series(slices),
        oracle_outcome=pl.Series(slices).str.slice(0, 4),
        risk_bucket=pl.Series(slices).str.split("_").list.get(1),
        is_anomalous=pl.Series(flags),
        quality_tier=pl.Series(tiers),
        anomaly_type_l2=pl.Series([SUBTYPE if flag else None for flag in flags]),
    )
    pool = [
        {"source_model": name, "slice_label": slice_label}
        for number, name in enumerate(key for key, (_, count) in T4.items() for _ in range(count))
        for slice_label in [("pass_low_risk", "pass_medium_risk", "pass_high_risk")[number % 3]]
    ]
    return counted(records, corpus([], pool).pool)


def report_with_sections(some: Corpus) -> tuple[Report, dict[str, Section]]:
    report = statistics(some, RULES.statistics)
    return report, {section.name: section for section in report.sections}


def by(section: Section) -> dict[Any, dict[str, Any]]:
    return {row[next(iter(row))]: row for row in section.rows}


def summary(some: Corpus) -> dict[str, Any]:
    """dataset_summary.json of a corpus, counted here in another way."""
    rows = some.records.to_dicts()
    accepted = [row for row in rows if row["quality_tier"] in ("high_confidence_accepted", "accepted_repaired")]
    baseline = [row for row in rows if row["quality_tier"] == "baseline_accepted"]
    gap = {}
    for base, column, value in [
        ("passing", "oracle_outcome", "pass"),
        ("pass_high_risk", "slice_label", "pass_high_risk"),
    ]:
        own = [row for row in rows if row[column] == value]
        decided = [row for row in own if row["is_anomalous"] is not None]
        parts = {
            "measured": [row for row in decided if row["judge"] != "rules"],
            "accepted": [row for row in accepted if row[column] == value],
            "baseline": [row for row in decided if row["judge"] == "rules"],
        }
        gap[base] = len(own)
        gap[f"{base}_undecided"] = len(own) - len(decided)
        gap[f"{base}_in_review"] = len(parts["measured"]) - len(parts["accepted"])
        for name, part in parts.items():
            gap[f"{base}_{name}"] = len(part)
            gap[f"{base}_{name}_anomalous"] = sum(bool(row["is_anomalous"]) for row in part)
    slices = [row["slice_label"] or "no_outcome" for row in rows]
    counted = some.step_counts.filter(pl.col("column") == "event_type_counts")
    return {
        "totals": {
            "trajectories": len(rows),
            "accepted": len(accepted),
            "anomalous_accepted": sum(bool(row["is_anomalous"]) for row in accepted),
            "baseline": len(baseline),
            "anomalous_baseline": sum(bool(row["is_anomalous"]) for row in baseline),
        },
        "outcome_process_gap": gap,
        "slice_label": {name: slices.count(name) for name in set(slices)},
        "event_type": dict.fromkeys(EVENTS, 0) | dict(counted.group_by("name").agg(pl.col("steps").sum()).iter_rows()),
    }


def contradicting(some: Corpus) -> list[str]:
    data = json.loads(as_json(report_with_sections(some)[0].data()))
    return [str(contradiction) for contradiction in contradictions(identities(data["sections"], summary(some)))]


def test_each_statistic_is_described_and_named_as_it_is_declared() -> None:
    names = [statistic.name for statistic in STATISTICS]
    listed = "list each statistic in [StatisticsSections] of records/fields.toml, in the order of STATISTICS"
    assert names == list(StatisticsSections.model_fields), listed
    assert [section.name for section in report_with_sections(corpus([{}]))[0].sections] == names


def test_a_statistic_reads_no_column_that_it_does_not_declare() -> None:
    def undeclared(corpus: Corpus, _settings: StatisticsSettings) -> Section:
        rows = [{"severity": corpus.records["severity"].n_unique()}]
        return Section("undeclared", "Undeclared", "", {"severity": ""}, rows)

    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="severity"):
        statistic()(undeclared).compute(corpus([{}]), RULES.statistics)
    assert statistic(reads=["severity"])(undeclared).compute(corpus([{}]), RULES.statistics).rows == [{"severity": 1}]


def test_counted_records_give_the_statistics_of_the_records_themselves() -> None:
    some = paper()
    assert report_with_sections(some)[0].data() == report_with_sections(replace(some, counted={}))[0].data()
    assert some.records.height == 31_264
    assert max(table.height for table in some.counted.values()) < 100
    assert {table[RECORDS].sum() for table in some.counted.values()} == {31_264}


@pytest.mark.parametrize("columns", [{}, {"length": "", "more": ""}])
def test_rows_and_columns_of_a_statistic_are_the_same(columns: dict[str, str]) -> None:
    def lengths(corpus: Corpus, _settings: StatisticsSettings) -> Section:
        return Section("lengths", "Lengths", "", columns, [{"length": 1}])

    with pytest.raises(ValueError, match=r"statistic lengths: .*: describe each column"):
        statistic()(lengths).compute(corpus([{}]), RULES.statistics)


def test_a_share_of_nothing_is_compared_with_nothing() -> None:
    assert [*share_of("x", 0, 0, None)] == []
    assert contradictions([*share_of("x", 1, 3, 0.333333)]) == []
    assert contradictions([*share_of("x", 1, 3, 0.4)]) != []


def test_the_papers_counts_give_the_papers_percentages() -> None:
    some = paper()
    report, result = report_with_sections(some)
    facts = result["gap"].facts | result["slices"].facts
    assert (facts["passing_trajectories"], facts["passing_anomalous"]) == (31_135, 2_904)
    assert (facts["pass_high_risk_trajectories"], facts["pass_high_risk_anomalous"]) == (1_904, 1_765)
    percent = {
        name: round(100 * fact, 2) for name, fact in facts.items() if name.endswith("share") and fact is not None
    }
    assert percent["passing_anomalous_share"] == 9.33
    assert percent["pass_high_risk_anomalous_share"] == 92.70
    assert percent["passing_that_are_high_risk_share"] == 6.12
    assert percent["high_risk_that_are_passing_share"] == 96.75
    assert percent["passing_low_share"] < 9.33 < percent["passing_high_share"] < percent["passing_low_share"] + 0.7
    for name, table in {"slices": T14, "quality_tiers": T31}.items():
        rows = by(result[name])
        assert {entry: (rows[entry]["trajectories"], round(100 * rows[entry]["share"], 2)) for entry in table} == table
    models = by(result["source_models"])
    assert {name: (models[name]["trajectories"], models[name]["calibration"]) for name in T4} == T4
    assert [(row["count"], round(100 * row["share"], 2)) for row in result["calibration_pool"].rows] == [
        (100, 33.33), (100, 33.33), (100, 33.33), (300, 100.0),
    ]  # fmt: skip
    assert by(result["partitions"])["corpus"]["size"] == 31_264
    assert contradicting(some) == []
    StatisticsFile.model_validate(report.data())


def test_failures_of_which_no_pass_can_be_known_are_told_and_in_no_share() -> None:
    failed = {"oracle_outcome": "fail", "risk_bucket": "high", "slice_label": "fail_high_risk"}
    passed = {"risk_bucket": "high", "slice_label": "pass_high_risk"}
    some = corpus([passed, failed, failed | {"failures_only": True}, {}])
    slices = report_with_sections(some)[1]["slices"]
    assert slices.facts["high_risk_that_are_passing_share"] == 0.5
    assert (by(slices)["fail_high_risk"]["failures_only"], by(slices)["total"]["failures_only"]) == (1, 1)
    assert contradicting(some) == []


def test_figures_that_do_not_fit_are_named() -> None:
    some = corpus([ANOMALOUS, {}])
    sections, figures = report_with_sections(some)[0].data()["sections"], summary(some)
    assert contradictions(identities(sections, figures)) == []
    figures["outcome_process_gap"]["passing_measured_anomalous"] = 2
    (result,) = contradictions(identities(sections, figures))
    assert str(result).startswith("gap, passing, anomalous: gap and dataset_summary.json give the same")


def test_an_interval_is_the_one_that_is_named() -> None:
    """Wilson 9/65 and Clopper-Pearson 9/65, from the textbook formulas."""
    rows = [ANOMALOUS] * 9 + [{}] * 56
    _, wilson = report_with_sections(corpus(rows))
    z, p, n = 1.959963984540054, 9 / 65, 65
    middle, half = (p + z * z / (2 * n)), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    row = wilson["gap"].rows[0]
    assert row["low_share"] == pytest.approx((middle - half) / (1 + z * z / n), abs=1e-6)
    assert row["high_share"] == pytest.approx((middle + half) / (1 + z * z / n), abs=1e-6)
    assert "Wilson's score intervals of 95 %" in wilson["gap"].about
    exact = RULES.statistics.model_copy(update={"interval": "exact"})
    other = next(each for each in statistics(corpus(rows), exact).sections if each.name == "gap")
    assert "exact intervals (Clopper and Pearson) of 95 %" in other.about
    assert other.rows[0]["low_share"] < row["low_share"]


def test_the_gap_of_each_scope_counts_what_it_says() -> None:
    rows = [
        {"subset": "s", **ANOMALOUS},
        {"subset": "s", "is_anomalous": None, "quality_tier": "review_or_unresolved"},
        {"source_model": "n", "slice_label": "pass_high_risk", "risk_bucket": "high", **ANOMALOUS}
        | {"quality_tier": "review_or_unresolved"},
        {"source_model": "n", "oracle_outcome": "fail", "slice_label": "fail_low_risk", **ANOMALOUS},
        {"source_model": "n", "oracle_outcome": None, "slice_label": None},
    ]
    some = corpus(rows)
    gap = {(row["scope"], row["name"]): row for row in report_with_sections(some)[1]["gap"].rows}
    columns = ("trajectories", "undecided", "anomalous", "accepted", "accepted_anomalous")

    def counts(*scope: str) -> tuple[int, ...]:
        return tuple(gap[scope[0], scope[1]][column] for column in columns)

    assert counts("all", "all") == (3, 1, 2, 1, 1)
    assert counts("slice", "pass_high_risk") == (1, 0, 1, 0, 0)
    assert counts("source_model", "n") == (1, 0, 1, 0, 0)
    assert counts("source_model, pass_high_risk", "m") == (0, 0, 0, 0, 0)
    assert counts("subset", "s") == (2, 1, 1, 1, 1)
    assert counts("subset", "no_subset") == (1, 0, 1, 0, 0)
    assert gap["slice", "pass_high_risk"]["accepted_share"] is None
    assert contradicting(some) == []


def test_what_nobody_decided_is_in_no_share_and_stands_beside_it() -> None:
    review = {"quality_tier": "review_or_unresolved"}
    some = corpus([ANOMALOUS, {}, {}, ANOMALOUS | review, {"is_anomalous": None} | review])
    _, sections = report_with_sections(some)
    row, facts = sections["gap"].rows[0], sections["corrected_gap"].facts
    assert [row[name] for name in ("trajectories", "measured", "undecided", "in_review")] == [5, 4, 1, 1]
    assert (row["anomalous_share"], row["if_normal_share"], row["if_anomalous_share"]) == (0.5, 0.2, 0.6)
    assert (facts["if_normal_share"], facts["if_anomalous_share"]) == (0.2, 0.6)
    assert "Not in it: 1 in review and 1 undecided: 20.00 % if all of these were normal" in gap_sentence(facts)
    assert contradicting(some) == []


@pytest.mark.parametrize("judge", ["rules", None, "openai"])
def test_where_nobody_decided_no_gap_is_measured_and_none_is_drawn(judge: str | None) -> None:
    waiting = {"quality_tier": "review_or_unresolved", "is_anomalous": None, "judge": judge}
    some = corpus([waiting, waiting])
    _, sections = report_with_sections(some)
    assert sections["gap"].title == "Outcome-process gap: not measured" and sections["gap"].plot is None
    assert {row["anomalous_share"] for row in sections["gap"].rows} == {None}
    assert "not measured" in gap_sentence(sections["corrected_gap"].facts)
    assert contradicting(some) == []


def test_modes_of_collecting_stand_beside_the_whole_where_one_is_known() -> None:
    """One is called like a slice: the slice's numbers stay its own."""
    rows = [
        {"mode": "functions", **ANOMALOUS},
        {"mode": "pass_high_risk"},
        {"mode": "pass_high_risk", **ANOMALOUS},
        {},
        {"mode": "own_tools", "oracle_outcome": "fail", "slice_label": "fail_low_risk"},
    ]
    some = corpus(rows)
    section = report_with_sections(some)[1]["gap"]
    modes = {row["name"]: (row["trajectories"], row["anomalous"]) for row in section.rows if row["scope"] == "mode"}
    assert modes == {"functions": (1, 1), "no_mode": (1, 0), "pass_high_risk": (2, 1)}
    assert section.rows[0]["trajectories"] == 4
    assert section.facts["pass_high_risk_trajectories"] == 0
    assert contradicting(some) == []
    data = json.loads(as_json(report_with_sections(some)[0].data()))
    next(row for row in data["sections"]["gap"]["rows"] if row["scope"] == "mode")["trajectories"] += 1
    wrong = [str(contradiction) for contradiction in contradictions(identities(data["sections"], summary(some)))]
    assert any("gap, trajectories by mode" in entry for entry in wrong)


def test_a_corpus_without_modes_has_no_rows_of_them() -> None:
    unsaid = [{}, {"oracle_outcome": "fail", "slice_label": "fail_low_risk", "mode": "own_tools"}]
    for rows in ([{}], unsaid, []):
        assert "mode" not in {row["scope"] for row in report_with_sections(corpus(rows))[1]["gap"].rows}


RULES_LABEL: dict[str, Any] = {"judge": "rules", "quality_tier": "baseline_accepted"}


def test_labels_of_the_rules_judge_are_beside_the_gap_and_not_in_it() -> None:
    """A corpus of two judges: no share, no subtype and no onset of the accepted ones moves with the baseline."""
    judged = [{"source_model": "n", **ANOMALOUS}, {"source_model": "n"}]
    rules = [ANOMALOUS | RULES_LABEL, RULES_LABEL, {"judge": "rules", "quality_tier": "review_or_unresolved"}]
    alone, mixed = corpus(judged), corpus(judged + rules)
    gap = by(report_with_sections(mixed)[1]["gap"])["all"]
    assert (gap["trajectories"], gap["measured"], gap["anomalous"], gap["anomalous_share"]) == (5, 2, 1, 0.5)
    assert (gap["baseline"], gap["baseline_anomalous"], gap["baseline_share"]) == (3, 1, 0.333333)
    assert "Here they are 3 of 5" in report_with_sections(mixed)[1]["gap"].about
    same = ("subtypes", "onsets", "onset_steps", "severity")
    assert [
        report_with_sections(alone)[1][name].rows[0]["trajectories" if name != "onsets" else "known"] for name in same
    ] == [
        report_with_sections(mixed)[1][name].rows[0]["trajectories" if name != "onsets" else "known"] for name in same
    ]
    assert (
        "Labels of the rules judge, a baseline, are not counted: 2 records"
        in report_with_sections(mixed)[1]["subtypes"].about
    )
    assert (mixed.status, report_with_sections(mixed)[1]["subtypes"].facts["label_status"]) == ("accepted", "accepted")
    tiers = by(report_with_sections(mixed)[1]["quality_tiers"])
    assert (tiers["baseline_accepted"]["trajectories"], tiers["high_confidence_accepted"]["trajectories"]) == (2, 2)
    assert contradicting(mixed) == []


def test_a_corpus_of_the_rules_judge_alone_has_no_gap_and_says_so() -> None:
    some = corpus([ANOMALOUS | RULES_LABEL, RULES_LABEL])
    report, result = report_with_sections(some)
    row = by(result["gap"])["all"]
    assert (row["anomalous_share"], row["accepted_share"], row["baseline_share"]) == (None, None, 0.5)
    assert "this release measures no gap" in result["gap"].about
    assert result["subtypes"].facts["label_status"] == "baseline"
    assert by(result["subtypes"])[SUBTYPE]["trajectories"] == 1
    assert "No record of this release is accepted" in result["subtypes"].about
    assert "accepted anomalous" not in " ".join(result["subtypes"].columns.values())
    assert contradicting(some) == []
    StatisticsFile.model_validate_json(as_json(report.data()))


BARE = {
    "no session": [],
    "no outcome": [{"oracle_outcome": None, "slice_label": None, "judge": None}],
    "one model, nothing anomalous": [{}],
    "no severity, no onset": [ANOMALOUS | {"severity": None, "earliest_recoverable_onset": None}],
}


@pytest.mark.parametrize("rows", BARE.values(), ids=BARE)
def test_what_is_not_there_has_no_share_and_still_a_page(rows: list[dict[str, Any]]) -> None:
    some = corpus(rows)
    report, result = report_with_sections(some)
    StatisticsFile.model_validate_json(as_json(report.data()))
    assert not re.search(r"\bnan\b", text(report, RULES).decode(), re.IGNORECASE)
    assert contradicting(some) == []
    if not some.records.filter(pl.col("oracle_outcome") == "pass").height:
        assert {row["anomalous_share"] for row in result["gap"].rows} == {None}


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", BARE)
def test_what_is_not_there_is_drawn_without_a_warning(case: str) -> None:
    report = report_with_sections(corpus(BARE[case]))[0]
    names = {name for name in statistics_files(report, RULES) if name.endswith(".png")}
    unmeasured = {"gap"} if case in ("no session", "no outcome") else set()
    assert names == {f"statistics/{name}.png" for name in set(PICTURES) - unmeasured}


@pytest.mark.slow
def test_the_rules_judge_is_named_on_the_page_and_on_every_picture() -> None:
    for judge, stated in (("rules", True), ("openai", False)):
        tier = {"quality_tier": "baseline_accepted"} if judge == "rules" else {}
        report, result = report_with_sections(corpus([ANOMALOUS | {"judge": judge} | tier]))
        page = text(report, RULES).decode()
        assert (RULES_NOTICE in page) == stated
        drawn = [section.plot() for section in result.values() if section.plot]
        assert len(drawn) == len(PICTURES)
        assert {(entry.get_suptitle() == RULES_STAMP) for entry in drawn} == {stated}


@pytest.mark.slow
def test_pictures_are_the_same_every_time_and_say_what_they_show() -> None:
    report, _ = report_with_sections(corpus([ANOMALOUS, {}]))
    first, second = (
        statistics_files(report, RULES),
        statistics_files(report_with_sections(corpus([ANOMALOUS, {}]))[0], RULES),
    )
    assert first == second
    assert sorted(first) == [
        "STATISTICS.md", "statistics.json", *(f"statistics/{name}.png" for name in
        PICTURES),
    ]  # fmt: skip
    assert b"statistics.json gap sha256:" in first["statistics/gap.png"]


@pytest.mark.slow
def test_a_picture_is_the_same_whatever_else_is_drawn() -> None:
    both = RULES.model_copy(update={"statistics": RULES.statistics.model_copy(update={"pictures": ["svg", "png"]})})
    report, _ = report_with_sections(corpus([ANOMALOUS, {}]))
    alone, together = statistics_files(report, RULES), statistics_files(report, both)
    assert {name: together[name] for name in alone if name.endswith(".png")} == {
        name: content for name, content in alone.items() if name.endswith(".png")
    }
    assert b"![Severity and recoverability (T27)](statistics/severity.svg)" in together["STATISTICS.md"]
    assert b"sha256:" in together["statistics/severity.svg"]


def test_onsets_by_step_and_by_part() -> None:
    rows = [ANOMALOUS | {"earliest_recoverable_onset": step, "num_steps": 40} for step in (1, 6, 7, 30, 31, 40)]
    rows.append(ANOMALOUS | {"earliest_recoverable_onset": 1, "num_steps": 1})
    _, result = report_with_sections(corpus(rows))
    steps = {row["steps"]: row["trajectories"] for row in result["onset_steps"].rows if row["trajectories"]}
    assert steps == {"1": 2, "6–7": 2, "21–30": 1, "31 or later": 2}
    assert [row["trajectories"] for row in result["onset_parts"].rows] == [4, 0, 1, 2]
    assert result["onset_parts"].facts == {"of_one_step": 1}
    row = by(result["onsets"])["earliest_recoverable_onset"]
    assert [row[name] for name in ("known", "first", "median", "ninth_decile", "last")] == [7, 1, 7, 40, 40]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(0, 10))
def test_a_rank_is_the_smallest_value_with_so_many_at_or_below(values: list[int], part: int) -> None:
    number = rank(sorted(Counter(values).items()), part, 10)
    enough = [value for value in sorted(values) if sum(other <= value for other in values) * 10 >= part * len(values)]
    assert number == enough[0]


def test_support_on_the_test_side_is_counted_by_subtype() -> None:
    _, result = report_with_sections(corpus([ANOMALOUS] * 3 + [{}], labels=2))
    row = by(result["subtypes"])[SUBTYPE]
    assert (row["trajectories"], row["default_cut_test"], row["paper_cut_test"]) == (3, 2, 0)


def test_human_verdicts_correct_the_gap() -> None:
    """Two strata of one slice, 4 anomalous and 6 normal: people agree with 1 of 2 and find 1 of 4 normals anomalous."""
    rows = [ANOMALOUS | {"trajectory_id": f"a{number}"} for number in range(4)]
    rows += [{"trajectory_id": f"n{number}"} for number in range(6)]
    rows += [{"trajectory_id": "r", "quality_tier": "review_or_unresolved", "is_anomalous": None}]
    rows += [ANOMALOUS | {"trajectory_id": "f", "oracle_outcome": "fail", "slice_label": "fail_low_risk"}]
    verdicts = {"a0": True, "a1": False, "a2": None, "n0": True, "n1": False, "n2": False, "n3": False}
    human = pl.DataFrame(
        [("m", name, label, True) for name, label in verdicts.items()] + [("m", "a3", False, False)],
        schema=dict(zip(HUMAN_COLUMNS, (pl.String, pl.String, pl.Boolean, pl.Boolean), strict=True)),
        orient="row",
    )
    some = corpus(rows, human=human)
    report, sections = report_with_sections(some)
    section = sections["corrected_gap"]
    assert section.data() == report_with_sections(replace(some, counted={}))[1]["corrected_gap"].data()
    assert [list(row.values())[1:-1] for row in section.rows[:-1]] == [
        ["pass_low_risk", "accepted", True, 4, 1, 1, 1],
        ["pass_low_risk", "accepted", False, 6, 1, 3, 0],
    ]
    facts = section.facts
    assert facts["silver_share"] == 0.4 and facts["verdicts"] == 6
    assert facts["corrected_share"] == pytest.approx(0.4 * 0.5 + 0.6 * 0.25)
    assert facts["sensitivity_share"] == pytest.approx(0.2 / 0.35, abs=1e-6)
    assert facts["unresolved_normal_share"] == pytest.approx(0.4 / 3 + 0.15, abs=1e-6)
    assert "1 oracle-passing records in review" in section.about and "1 verdicts on labels that have" in section.about
    assert "(2)" in facts["few_verdicts"] and "(4)" in facts["few_verdicts"]
    assert gap_sentence(facts).startswith("Outcome-process gap: 35.00 % (")
    assert report.sections[0].name == "corrected_gap"


def test_a_gap_without_verdicts_has_no_interval() -> None:
    _, sections = report_with_sections(corpus([ANOMALOUS, {}]))
    facts = sections["corrected_gap"].facts
    nothing_open = {"in_review": 0, "undecided": 0, "if_normal_share": 0.5, "if_anomalous_share": 0.5}
    assert facts == {"state": "silver, uncorrected", "verdicts": 0, "silver_share": 0.5} | nothing_open
    assert "50.00 % (silver, uncorrected" in gap_sentence(facts)
    baseline = {"quality_tier": "baseline_accepted", "judge": "rules"}
    _, sections = report_with_sections(corpus([ANOMALOUS | baseline, baseline]))
    assert "not measured" in gap_sentence(sections["corrected_gap"].facts)
    _, sections = report_with_sections(corpus([]))
    assert gap_sentence(sections["corrected_gap"].facts).endswith("no oracle-passing record has an accepted label.")


def test_the_statistic_of_the_recipe_passes_the_test_of_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    function, example = (compile(block, PAGE.name, "exec") for block in blocks)
    names, helpers = dict(vars(composition)), dict(globals())
    exec(function, names)
    monkeypatch.setattr(f"{statistics.__module__}.STATISTICS", [*STATISTICS, names["lengths"]])
    exec(example, helpers)
    helpers["test_trajectories_are_counted_by_length"]()
