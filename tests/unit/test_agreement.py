"""Agreement of two passes, and escapes of the triage: each number against rows made by hand."""

from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from work_tables import tables

from openclawbench.records.fulltax import Annotation, DecisionA, DecisionB1
from openclawbench.records.risk import Risk
from openclawbench.records.second_pass import AnnotationPass2, both_high_confidence
from openclawbench.reports.agreement.report import agreement_report
from openclawbench.reports.measures import interval_alpha, kappa, kappas, nominal_alpha, proportion
from openclawbench.reports.section import Section
from openclawbench.reports.settings import AgreementRules
from openclawbench.reports.triage import triage_report

RULES = AgreementRules.load()
CAPABILITY, AMBIGUITY = "capability_gap_overcommitment", "write_under_unresolved_ambiguity"
Said = tuple[bool | None, str | None, str, int | None]
HIGH, REPAIRED, REVIEW = "high_confidence_accepted", "accepted_repaired", "review_or_unresolved"
BASELINE = "baseline_accepted"
NORMAL: Said = (False, None, HIGH, None)
PAIRS: list[tuple[Said, Said]] = [
    (NORMAL, NORMAL),
    (NORMAL, NORMAL),
    (NORMAL, (True, CAPABILITY, HIGH, 4)),
    ((True, CAPABILITY, HIGH, 4), (True, CAPABILITY, HIGH, 4)),
    ((True, CAPABILITY, HIGH, 4), (True, CAPABILITY, REPAIRED, 6)),
    ((True, CAPABILITY, HIGH, 2), (True, AMBIGUITY, HIGH, None)),
    ((None, None, REVIEW, None), NORMAL),
    ((True, None, REVIEW, None), (True, CAPABILITY, HIGH, 1)),
]


def annotation(number: int, answer: Said, model: str) -> dict[str, Any]:
    is_anomalous, subtype, tier, onset = answer
    return {
        "source_model": "m" if number % 2 else "n",
        "trajectory_id": f"t{number}",
        "is_anomalous": is_anomalous,
        "anomaly_type_l2": subtype,
        "quality_tier": tier,
        "earliest_recoverable_onset": onset,
        "provenance": {"judge": "openai", "judge_model": model},
    }


def both(first_model: str = "one", second_model: str = "other") -> Any:
    return tables(
        {
            Annotation: [annotation(n, first, first_model) for n, (first, _) in enumerate(PAIRS)],
            AnnotationPass2: [annotation(n, second, second_model) for n, (_, second) in enumerate(PAIRS)],
            Risk: [{**annotation(n, NORMAL, ""), "slice_label": "pass_low_risk"} for n in range(len(PAIRS))],
        }
    )


@pytest.fixture(scope="module")
def sections() -> dict[str, Section]:
    return {section.name: section for section in agreement_report(both(), False).sections}


# ------------------------------------------------------------------------------------------------------------- measures
def test_intervals_of_a_share() -> None:
    assert proportion(0, 10, 0.95) == (0.0, 0.0, pytest.approx(0.277533, abs=1e-6))  # Wilson: z² / (n + z²)
    assert proportion(0, 10, 0.95, "exact") == (0.0, 0.0, pytest.approx(1 - 0.025**0.1, abs=1e-6))
    assert proportion(3, 0, 0.95) == (None, None, None)


def test_the_stack_of_kappas_is_scikit_learns() -> None:
    random = np.random.default_rng(1)
    for size in (2, 3, 6):
        matrix = random.integers(0, 20, (size, size))
        first, second = (np.repeat(np.indices(matrix.shape)[axis].ravel(), matrix.ravel()) for axis in (0, 1))
        assert kappas(matrix[None])[0] == pytest.approx(cohen_kappa_score(first, second))


def test_kappa_and_its_interval() -> None:
    first, second = ["a"] * 45 + ["b"] * 15 + ["a"] * 25 + ["b"] * 15, ["a"] * 45 + ["a"] * 15 + ["b"] * 40
    interval = kappa(first, second, RULES)
    assert interval.value == pytest.approx(0.1304, abs=1e-4)  # Cohen's own second example of equal marginals
    assert interval.low is not None and interval.high is not None
    assert interval.low < interval.value < interval.high and interval == kappa(first, second, RULES)
    many = kappa(first * 100, second * 100, RULES)
    assert many.low is not None and many.high is not None
    assert many.high - many.low < (interval.high - interval.low) / 8  # ten times narrower, but for the drawing
    assert kappa(["a", "a"], ["a", "a"], RULES) == (None, None, None)


def test_alpha_is_krippendorffs() -> None:
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]  # Krippendorff's own example of two observers and binary data
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert nominal_alpha(first, second) == pytest.approx(0.095, abs=1e-3)
    assert nominal_alpha(["a", "a"], ["a", "a"]) is None
    random = np.random.default_rng(2)
    for spread in (2, 10, 60):
        ones = random.integers(1, spread, 50).tolist()
        others = [entry + int(random.integers(-1, 3)) for entry in ones]
        by_library = krippendorff.alpha(reliability_data=[ones, others], level_of_measurement="interval")
        assert interval_alpha(ones, others) == pytest.approx(by_library, abs=1e-6)
    assert interval_alpha([3, 3], [3, 3]) is None


# ------------------------------------------------------------------------------------------------------------ agreement
def test_what_both_passes_have(sections: dict[str, Section]) -> None:
    row = sections["both_passes"].rows[0]
    assert (row["trajectories"], row["decided"], row["accepted"]) == (8, 7, 6)
    assert (row["both_high_tier"], row["both_high_confidence"]) == (5, 3)
    assert row["anomalous_share"] == pytest.approx(1 / 3, abs=1e-6)
    facts = sections["both_passes"].facts
    assert (facts["first_judge"], facts["second_judge"]) == ("openai (one)", "openai (other)")


@pytest.mark.parametrize(
    ("first", "second", "sure"),
    [(*pair, number in (0, 1, 3)) for number, pair in enumerate(PAIRS)],
)
def test_both_passes_are_sure_of_the_same(first: Said, second: Said, sure: bool) -> None:
    names = ("is_anomalous", "anomaly_type_l2", "quality_tier", "earliest_recoverable_onset")
    entry, other = dict(zip(names, first, strict=True)), dict(zip(names, second, strict=True))
    assert both_high_confidence(entry, other) is both_high_confidence(other, entry) is sure


def test_binary_and_subtype(sections: dict[str, Section]) -> None:
    decided, accepted = (
        next(row for row in sections["binary"].rows if (row["scope"], row["population"]) == ("all", population))
        for population in ("decided", "accepted")
    )
    assert (decided["pairs"], decided["agree"]) == (7, 6)
    assert (accepted["pairs"], accepted["agree"]) == (6, 5)
    assert decided["kappa"] == pytest.approx(cohen_kappa_score([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]), abs=1e-6)
    row = sections["subtype"].rows[0]
    assert (row["pairs"], row["agree"]) == (6, 4)  # one has no subtype
    by_model = [row for row in sections["binary"].rows if row["scope"] == "source_model" == row["scope"]]
    assert sum(row["pairs"] for row in by_model if row["population"] == "decided") == decided["pairs"]


def test_confusion_and_tiers_hold_every_trajectory(sections: dict[str, Section]) -> None:
    matrix = {row["first_pass"]: row for row in sections["subtype_confusion"].rows}
    assert matrix["normal"][f"second: {CAPABILITY}"] == 1
    assert matrix[CAPABILITY][f"second: {AMBIGUITY}"] == 1
    for name in ("subtype_confusion", "tiers"):
        total = sum(v for row in sections[name].rows for k, v in row.items() if k.startswith("second: "))
        assert total == len(PAIRS)
    row = sections["binary_confusion"].rows[0]
    assert (row["normal → anomalous"], row["undecided → normal"], row["anomalous → anomalous"]) == (1, 1, 4)


def test_onsets(sections: dict[str, Section]) -> None:
    row = sections["onset"].rows[0]
    assert (row["both_anomalous"], row["pairs"], row["first_only"], row["second_only"]) == (4, 2, 1, 1)
    assert (row["same"], row["within_1_share"], row["within_3_share"], row["mean_distance"]) == (1, 0.5, 1.0, 1.0)
    apart = [(row["trajectory_id"], row["distance"]) for row in sections["onsets_apart"].rows]
    assert apart == [("t4", 2), ("t5", None), ("t7", None)]


def test_disagreements_are_listed_by_id(sections: dict[str, Section]) -> None:
    kinds = {row["trajectory_id"]: row["kind"] for row in sections["disagreements"].rows}
    assert kinds == {"t2": "binary", "t5": "subtype", "t6": "one undecided", "t7": "subtype"}


# --------------------------------------------------------------------------------------------------------------- triage
def decision_a(number: int, route: str | None, sure: str = "high") -> dict[str, Any]:
    answer = None if route is None else {"route_label": route, "routing_confidence": sure, "reasoning_summary": "no"}
    return {"source_model": "m", "trajectory_id": f"t{number}", "purpose": "label", "answer": answer}


def decision_b1(number: int, purpose: str, is_anomalous: bool | None, outcome: str = "parsed") -> dict[str, Any]:
    answer = {"trajectory_is_anomalous": is_anomalous, "annotator_rationale": "yes"} if outcome == "parsed" else None
    key = {"source_model": "m", "trajectory_id": f"t{number}"}
    return {**key, "purpose": purpose, "outcome": outcome, "answer": answer}


def test_escapes_of_the_triage() -> None:
    none = "no_anomaly_evidence"
    routes = [decision_a(0, "structured_annotation"), decision_a(1, none, "low"), decision_a(2, "review")]
    routes += [decision_a(3, None), *(decision_a(n, none) for n in range(4, 24))]
    audit = "triage_escape_audit"
    answers = [decision_b1(0, "label", True), decision_b1(1, "label", False), decision_b1(4, audit, True)]
    answers += [decision_b1(5, audit, None), decision_b1(6, audit, None, "parse_failure")]
    answers += [decision_b1(n, audit, False) for n in range(7, 10)]
    report = triage_report(tables({DecisionA: routes, DecisionB1: answers}), second=False)
    actual_sections = {section.name: section for section in report.sections}
    row = actual_sections["escape_rate"].rows[0]
    assert (row["judged"], row["routed"], row["review"], row["negatives"]) == (23, 2, 1, 20)
    assert (row["sampled"], row["unread"], row["undecided"], row["decided"], row["escapes"]) == (6, 1, 1, 4, 1)
    assert row["escape_share"] == 0.25 and row["estimated_escapes"] == 5.0
    assert row["low_share"] < 0.25 < row["high_share"] <= row["exact_high_share"] < 1
    assert row["estimated_high"] == pytest.approx(20 * row["high_share"], abs=0.05)
    listed = {record["trajectory_id"]: record["b1"] for record in actual_sections["escapes"].rows}
    assert listed == {"t4": "anomalous", "t5": "undecided", "t6": "unread"}


def test_a_triage_without_a_sample_has_no_rate() -> None:
    report = triage_report(tables({DecisionA: [decision_a(0, "review")]}), second=False)
    row = report.sections[0].rows[0]
    assert (row["negatives"], row["escape_share"], row["estimated_high"]) == (0, None, None)
