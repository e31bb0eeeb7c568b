"""The tier of a label: what a baseline judge made is a baseline, whoever else judged beside it."""

from typing import get_args

import pytest

from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.records.second_pass import both_high_confidence
from openclawbench.records.tiers import BASELINE_JUDGES, STATUS_OF, TIERS, main_status, tier_of
from openclawbench.records.vocabulary import LabelStatus, QualityTier
from openclawbench.release.baseline_notice import RULES_NOTICE, notice_of
from openclawbench.release.files.names import TIER_FILES


@pytest.mark.parametrize(
    ("cause", "repaired", "judges", "tier"),
    [
        (None, False, ["openai"], "high_confidence_accepted"),
        (None, True, ["openai", "openai"], "accepted_repaired"),
        (None, False, ["rules"], "baseline_accepted"),
        (None, True, ["rules", "rules"], "baseline_accepted"),
        (None, False, ["openai", "rules"], "baseline_accepted"),
        ("verifier_review", False, ["rules"], "review_or_unresolved"),
        ("no_agent_action", False, [], "review_or_unresolved"),
    ],
)
def test_the_tier_follows_from_cause_repairs_and_judges(
    cause: str | None, repaired: bool, judges: list[str], tier: str
) -> None:
    assert tier_of(cause, repaired, judges) == tier


def test_the_rules_judge_is_a_baseline_judge_and_every_tier_has_a_status_and_a_file() -> None:
    assert RulesJudge.name in BASELINE_JUDGES
    assert set(STATUS_OF) - {None} == set(TIERS) == set(get_args(QualityTier)) == set(TIER_FILES)
    assert set(STATUS_OF.values()) == set(get_args(LabelStatus))
    assert {tier for tier, status in STATUS_OF.items() if status == "accepted"} == set(TIERS[:2])


def test_a_corpus_is_about_its_accepted_labels_where_it_has_one() -> None:
    assert main_status(["baseline", "needs_review", "accepted"]) == "accepted"
    assert main_status(["baseline", "needs_review"]) == "baseline"
    assert main_status(["needs_review"]) == main_status([]) == "accepted"


@pytest.mark.parametrize("other", TIERS)
def test_no_pair_of_passes_is_sure_of_a_baseline_label(other: str) -> None:
    label = {"is_anomalous": False, "anomaly_type_l2": None}
    baseline, second = label | {"quality_tier": "baseline_accepted"}, label | {"quality_tier": other}
    assert not both_high_confidence(baseline, second)
    assert not both_high_confidence(second, baseline)


def test_the_notice_is_given_as_soon_as_one_judge_is_a_baseline() -> None:
    assert notice_of(["openai", None, "rules"]) == RULES_NOTICE
    assert notice_of(["openai", None]) is None
