"""Labels of the rules judge are a baseline in the data, whatever stands beside them."""

import pytest

from pipeline.fulltax.repair import tier_of
from pipeline.records.vocabulary import label_status_of
from pipeline.release.second_pass import both_high_confidence
from pipeline.release.split import label_status


@pytest.mark.parametrize("repaired", [True, False])
def test_the_best_tier_of_the_rules_judge_is_the_baseline(repaired: bool) -> None:
    assert tier_of(None, repaired, "rules") == "baseline_accepted"
    assert tier_of("verifier_review", repaired, "rules") == "review_or_unresolved"
    assert tier_of(None, repaired, "openai") == ("accepted_repaired" if repaired else "high_confidence_accepted")


@pytest.mark.parametrize(
    ("tier", "status"),
    [
        ("high_confidence_accepted", "accepted"),
        ("accepted_repaired", "accepted"),
        ("baseline_accepted", "baseline"),
        ("review_or_unresolved", "needs_review"),
    ],
)
def test_each_tier_has_one_status(tier: str, status: str) -> None:
    assert label_status_of(tier) == status
    assert label_status({"quality_tier": tier, "is_anomalous": True}) == status
    undecided = label_status({"quality_tier": tier, "is_anomalous": None})
    assert undecided == (None if status == "needs_review" else status)


@pytest.mark.parametrize("other", ["high_confidence_accepted", "baseline_accepted"])
def test_a_baseline_is_in_no_pool_of_both_passes(other: str) -> None:
    label = {"is_anomalous": True, "anomaly_type_l2": "capability_gap_overcommitment"}
    first, second = {**label, "quality_tier": "baseline_accepted"}, {**label, "quality_tier": other}
    assert not both_high_confidence(first, second)
    assert not both_high_confidence(second, first)
