"""What a session used: the same six numbers of tokens in every format, null where nothing says them."""

import json
from typing import Any

import pytest
from normalizing import read

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.aec_bench.context import run_summary
from openclawbench.sources.io.usd import TOKENS, stated_usage
from openclawbench.sources.step_builder import StepList

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-02-01T00:00:00.000Z"}


def used(run: dict[str, Any]) -> tuple[Any, ...]:
    """Tokens of a run in the order of TOKENS, and its cost."""
    return (*(run[f"{name}_tokens"] for name in TOKENS), run["cost_usd"])


def openclaw(*usages: Any, **message: Any) -> dict[str, Any]:
    """The run summary of a session whose replies report these usages."""
    speech = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "stopReason": "stop"} | message
    replies = [{"type": "message", "message": speech | {"usage": usage}} for usage in usages]
    session = read("".join(json.dumps(line) + "\n" for line in [HEADER, *replies]).encode()).session
    assert session is not None
    return session.run


def usage(read: int, out: int, cached: int, written: int, total: int, usd: float) -> dict[str, Any]:
    counts = {"input": read, "output": out, "cacheRead": cached, "cacheWrite": written, "totalTokens": total}
    return counts | {"cost": {"input": 0, "output": 0, "total": usd}}


def atif(final: Any = None, agent: str = "claude-code", *metrics: Any) -> dict[str, Any]:
    """The run summary of a document with a step for each of these metrics."""
    steps = [{"step_id": at, "source": "agent", "message": "hi", "metrics": own} for at, own in enumerate(metrics, 1)]
    steps = steps or [{"step_id": 1, "source": "agent", "message": "hi"}]
    agent_of_run = {"name": agent, "version": "1"}
    document = {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": agent_of_run, "steps": steps}
    session = read(json.dumps(document | {"final_metrics": final}).encode(), path="m/t.json").session
    assert session is not None
    return session.run


def test_cached_and_written_tokens_are_kept_apart_and_belong_to_the_input() -> None:
    """A session of real life reads nearly everything from the cache: 492 of 62.7 million tokens were not cached."""
    run = openclaw(usage(3, 40, 0, 50_000, 50_043, 0.5), usage(2, 10, 50_000, 200, 50_212, 0.5))
    assert used(run) == (100_205, 50_000, 50_200, 50, None, 100_255, 1.0)
    assert (run["unreported_usage"], run["unpriced_usage"]) == (0, 0)


def test_a_provider_that_counts_cached_tokens_into_its_input_is_not_counted_twice() -> None:
    run = openclaw(usage(11_524, 167, 8_316, 0, 11_691, 0.027))
    assert used(run)[:4] == (11_524, 8_316, 0, 167)


@pytest.mark.parametrize("nothing", [None, {}, usage(0, 0, 0, 0, 0, 0.0), {"input": 0, "total": 0, "cost": None}])
def test_nothing_but_zeros_is_unknown_and_counted(nothing: Any) -> None:
    assert used(openclaw(nothing)) == (None,) * 7
    assert openclaw(nothing)["unreported_usage"] == 1
    some = openclaw(nothing, usage(5, 1, 0, 0, 6, 0.25))
    assert used(some) == (5, 0, 0, 1, None, 6, 0.25)
    assert (some["unreported_usage"], some["unpriced_usage"]) == (1, 0)


def test_a_message_that_broke_off_before_it_said_anything_is_no_message_without_tokens() -> None:
    run = openclaw(usage(0, 0, 0, 0, 0, 0.0), content=[], stopReason="error", errorMessage="429")
    assert (used(run), run["unreported_usage"]) == ((None,) * 7, 0)


def test_a_price_of_zero_for_tokens_is_unknown() -> None:
    """OpenClaw writes it for a model whose price it does not know."""
    run = openclaw(usage(5, 1, 0, 0, 6, 0.0), usage(7, 1, 0, 0, 8, 0.5))
    assert (run["cost_usd"], run["unpriced_usage"], run["total_tokens"]) == (0.5, 1, 14)
    assert openclaw(usage(5, 1, 0, 0, 6, 0.0))["cost_usd"] is None


def test_a_total_that_nobody_states_is_input_and_output() -> None:
    assert used(openclaw({"input": 5, "output": 2, "cacheRead": 10})) == (15, 10, None, 2, None, 17, None)
    assert openclaw({"input": 5, "cacheRead": 10})["total_tokens"] is None


@pytest.mark.parametrize(
    ("extra", "written", "reasoning"),
    [
        ({"cache_creation_input_tokens": 7, "cache_read_input_tokens": 80}, 7, None),
        ({"cache_write_tokens": 7, "reasoning_output_tokens": 3}, 7, 3),
        ({"thoughts_tokens": 3, "tool_tokens": 1}, None, 3),
        ("a text", None, None),
    ],
)
def test_steps_of_atif(extra: Any, written: int | None, reasoning: int | None) -> None:
    """What is not of the format stands in `extra`, by the names of each of Harbor's agents."""
    metrics = {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 80, "cost_usd": 0.5, "extra": extra}
    assert used(atif(None, "codex", metrics)) == (100, 80, written, 9, reasoning, 109, 0.5)


def test_totals_that_atif_states_come_first_unless_they_are_nothing() -> None:
    step = {"prompt_tokens": 100, "completion_tokens": 9}
    stated = {"total_prompt_tokens": 300, "total_cached_tokens": 80, "extra": {"total_cache_creation_input_tokens": 7}}
    assert used(atif(stated, "claude-code", step)) == (300, 80, 7, 9, None, 309, None)
    zeros = {"total_prompt_tokens": 0, "total_completion_tokens": 0, "total_cost_usd": 0.0}
    assert used(atif(zeros, "claude-code", step)) == (100, None, None, 9, None, 109, None)
    nothing = atif(zeros)
    assert (used(nothing), nothing["unreported_usage"]) == ((None,) * 7, 1)


def test_harbors_openclaw_converter_leaves_written_tokens_out_of_the_prompt() -> None:
    metrics = {"prompt_tokens": 50_002, "completion_tokens": 10, "cached_tokens": 50_000}
    run = atif(None, "openclaw", metrics | {"extra": {"cache_write_tokens": 200}})
    assert used(run)[:4] == (50_202, 50_000, 200, 10)


def test_a_trial_of_aec_bench() -> None:
    """The cost record comes first; the agent's result fills in what it does not say."""
    rules = NormalizeRules.load()
    result = {"input_tokens": 1, "output_tokens": 2, "reported_analysis_tokens": 5, "cache_write_tokens": 6}
    cost = {"tokens_in": 100, "tokens_out": 20, "cache_read_tokens": 80, "estimated_cost_usd": 0.5}
    run = run_summary(StepList(rules), [], {"agent_result": result, "trial": {"cost": cost}}, rules)
    assert used(run) == (100, 80, 6, 20, 5, 120, 0.5)
    apart = run_summary(StepList(rules), [], {"trial": {"cost": cost | {"tokens_in": 3}}}, rules)
    assert used(apart)[:2] == (83, 80)
    nothing = run_summary(StepList(rules), [], {"agent_result": {"input_tokens": 0, "output_tokens": 0}}, rules)
    assert used(nothing) == (None,) * 7


def test_stated_totals_of_nothing_are_unknown() -> None:
    assert set(stated_usage({"input": 0, "output": 0, "usd": 0.0}).values()) == {None}
    assert stated_usage({"input": 3, "output": 0, "usd": 0.0})["cost_usd"] == 0.0
