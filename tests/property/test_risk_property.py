"""The risk score: never less for more of a signal, between 0 and 100, the sum of its breakdown."""

import math
from typing import Any, get_args

import polars as pl
from aligned_steps import aligned
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.construct.slice import score, slice
from openclawbench.records.vocabulary import AutoFlag, EventType
from openclawbench.rules.construct.risk import RiskRules

RULES = RiskRules.load()
SIGNALS = [rule.field for rule in RULES.signals]
BONUSES = list(RULES.bonus.model_dump())
PRIORS = [rule.weight for rule in RULES.priors]
counts = st.fixed_dictionaries(
    {name: st.integers(0, 20) for name in SIGNALS}
    | {name: st.integers(0, 1) for name in BONUSES}
    | {"prior": st.sampled_from(PRIORS), "oracle_outcome": st.sampled_from([None, "pass", "fail"])}
)


def scored(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    keyed = [{"source_model": "m", "trajectory_id": str(number), **row} for number, row in enumerate(rows)]
    types = {"oracle_outcome": pl.String, "prior": pl.Float64} | dict.fromkeys([*SIGNALS, *BONUSES], pl.Int64)
    return score(pl.DataFrame(keyed, schema_overrides=types), RULES).collect().to_dicts()


@given(counts, st.sampled_from([*SIGNALS, *BONUSES]), st.integers(1, 1000))
def test_more_of_a_signal_is_never_less_risk(record: dict[str, Any], name: str, more: int) -> None:
    before, after = scored(record, record | {name: record[name] + more})
    assert after["risk_score_raw"] > before["risk_score_raw"]
    assert after["risk_score"] >= before["risk_score"]
    order = ["low", "medium", "high"]
    assert order.index(after["risk_bucket"]) >= order.index(before["risk_bucket"])


@given(counts)
def test_the_score_is_in_range_and_the_sum_of_its_breakdown(record: dict[str, Any]) -> None:
    (result,) = scored(record)
    assert 0 < result["risk_score"] < 100 or result["risk_score_raw"] > 240  # 100 is reached by rounding alone
    assert result["risk_score"] <= 100
    assert math.isclose(result["risk_score_raw"], sum(part["contribution"] for part in result["risk_breakdown"]))
    assert math.isclose(
        result["risk_score"], 100 * (1 - math.exp(-result["risk_score_raw"] / RULES.scale)), abs_tol=1e-4
    )
    assert {part["signal"]: part["count"] for part in result["risk_breakdown"]}["subset_prior"] == 1
    assert result["risk_signals"] == {name: record[name] for name in SIGNALS}


@given(counts)
def test_slices_need_an_outcome_and_the_score_does_not(record: dict[str, Any]) -> None:
    outcomes = [None, "pass", "fail"]
    unknown, passed, failed = scored(*[record | {"oracle_outcome": outcome} for outcome in outcomes])
    assert unknown["risk_score"] == passed["risk_score"] == failed["risk_score"]
    bucket = unknown["risk_bucket"]
    flags = ("slice_label", "pass_but_high_risk", "fail_but_low_risk")
    assert [unknown[name] for name in flags] == [None, None, None]
    assert [passed[name] for name in flags] == [f"pass_{bucket}_risk", bucket == "high", False]
    assert [failed[name] for name in flags] == [f"fail_{bucket}_risk", False, bucket == "low"]


step = st.fixed_dictionaries(
    {
        "event_type": st.sampled_from(get_args(EventType)),
        "tool_status": st.sampled_from(["ok", "error", "not_found", None]),
        "side_effect": st.booleans(),
        "auto_flags": st.lists(st.sampled_from(get_args(AutoFlag)), unique=True, max_size=4),
    }
)
trajectory = st.lists(step, max_size=8)
subset = st.sampled_from([None, "simple", "multi_turn_base", "never heard of"])


def sliced(trajectories: dict[str, list[dict[str, Any]]], subset: str | None) -> dict[str, dict[str, Any]]:
    """Trajectory id -> its Risk row."""
    fused = [
        {"source_model": "m", "trajectory_id": name, "subset": subset, "oracle_outcome": None} for name in trajectories
    ]
    types = {"subset": pl.String, "oracle_outcome": pl.String}
    risks, _ = slice(pl.LazyFrame(fused, schema_overrides=types), aligned(trajectories), RULES)
    return {row["trajectory_id"]: row for row in risks.collect().iter_rows(named=True)}


def contribution(row: dict[str, Any], signal: str) -> float:
    return next(part["contribution"] for part in row["risk_breakdown"] if part["signal"] == signal)


@given(trajectory, step, subset)
def test_a_further_step_never_lowers_the_raw_score_but_for_the_share_of_other(
    steps: list[dict[str, Any]], more: dict[str, Any], subset: str | None
) -> None:
    rows = sliced({"before": steps, "after": [*steps, more]}, subset)
    before, after = (
        row["risk_score_raw"] - contribution(row, "high_other_ratio_bonus") for row in (rows["before"], rows["after"])
    )
    assert after >= before - 1e-9


@given(trajectory, st.lists(trajectory, max_size=3), subset)
def test_a_score_does_not_depend_on_the_corpus(
    steps: list[dict[str, Any]], others: list[list[dict[str, Any]]], subset: str | None
) -> None:
    company = {f"other{number}": other for number, other in enumerate(others)}
    assert sliced({"t": steps}, subset)["t"] == sliced({"t": steps} | company, subset)["t"]
