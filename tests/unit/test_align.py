"""Alignment of tool names across models: exact, fuzzy, kept, ambiguous."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from describe_steps import FLAGS, LANGUAGES, RULES, SHELL, call, reply, steps
from normalizing import SAMPLES
from pydantic import ValidationError

from openclawbench.construct.align import align
from openclawbench.construct.describe.describe import describe
from openclawbench.records.evidence import AlignedDescriptor, Descriptor
from openclawbench.records.packet import Evidence
from openclawbench.records.session import Step
from openclawbench.rules.construct.align import AlignRules, FuzzyRule
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY
from openclawbench.tables.schema import conform, schema
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

ALIGN = AlignRules.load()


def aligned(*given_steps: dict[str, Any], rules: AlignRules = ALIGN, **changes: Any) -> list[dict[str, Any]]:
    """Aligned descriptors of steps; changes overwrite descriptor columns."""
    frame = steps(*given_steps)
    result = describe(frame, RULES, SHELL, FLAGS, LANGUAGES).with_columns(
        pl.lit(value).alias(name) for name, value in changes.items()
    )
    return conform(align(result, frame, rules).collect(), AlignedDescriptor).to_dicts()


CASES = [
    ("web_search", "search", "exact"),
    ("shell", "exec", "exact"),
    ("bash", "exec", "exact"),
    ("Bash", "exec", "exact"),
    ("read_file", "read", "exact"),
    ("exec", "exec", "exact"),
    ("cron", "cron", "exact"),
    ("mcp_web_fetch", "fetch", "fuzzy"),
    ("tavily_url_fetcher", "fetch", "fuzzy"),
    ("my_browse_page", "browser", "fuzzy"),
    ("browser_navigate", "browser", "fuzzy"),
    ("spawn_subagent", "sessions_spawn", "fuzzy"),
    ("bing_web_search", "search", "fuzzy"),
    ("bing-web-search", "search", "fuzzy"),
    ("write-file", "write", "exact"),
    ("replaceStringInFile", "edit", "exact"),
    ("create_agent_report", "create_agent_report", "kept"),
    ("spawn_agents_on_csv", "sessions_spawn", "fuzzy"),
    ("prefetch_cache", "prefetch_cache", "kept"),
    ("fetch_balance_sheet_rows", "fetch_balance_sheet_rows", "kept"),
    ("frobnicate", "frobnicate", "kept"),
    ("web_search_and_browse", "web_search_and_browse", "ambiguous"),
]


def test_case() -> None:
    for row, (raw, name, case) in zip(aligned(*(call(raw, {}) for raw, _, _ in CASES)), CASES, strict=True):
        assert (row["tool_name"], row["alignment_case"]) == (name, case)
        assert row["tool_name_raw"] == raw
        assert (row["alignment_rule"] is None) is (case == "kept")


def test_category_changes_only_where_it_was_other() -> None:
    (other,) = aligned(call("mcp_web_fetch", {}), event_type="other")
    assert (other["event_type"], other["previous_event_type"]) == ("web_interaction", "other")
    (known,) = aligned(call("bash", {"command": "ls"}))
    assert (known["event_type"], known["previous_event_type"]) == ("inspect", "inspect")


def test_ambiguous_and_unknown_keep_the_previous_type() -> None:
    aligned_steps = aligned(call("web_search_and_browse", {}), call("frobnicate", {}), event_type="other")
    assert [aligned_step["event_type"] for aligned_step in aligned_steps] == ["other", "other"]
    assert aligned_steps[0]["alignment_rule"] == "fuzzy.browse fuzzy.web_search"


def test_replies_are_no_tools() -> None:
    (result,) = aligned(reply("hi"))
    assert (result["alignment_case"], result["tool_name"], result["tool_name_raw"]) == ("reply", None, None)


def test_a_wrapped_tool_keeps_the_written_name_beside() -> None:
    (result,) = aligned(call("tool_call", {"id": "web_search", "args": {"query": "x"}}))
    names = (result["tool_name_raw"], result["previous_tool_name"], result["tool_name"])
    assert names == ("tool_call", "web_search", "search")


def test_several_rules_that_agree_are_no_conflict() -> None:
    again = FuzzyRule(id="again", tool="fetch", event_type="web_interaction", pattern="fetch")
    rules = ALIGN.model_copy(update={"fuzzy": [*ALIGN.fuzzy, again]})
    (result,) = aligned(call("mcp_web_fetch", {}), rules=rules)
    assert (result["alignment_case"], result["alignment_rule"]) == ("fuzzy", "fuzzy.fetch")


def test_evidence_is_not_touched_and_order_is_kept() -> None:
    inputs = [call("bash", {"command": "ls"}), reply("I'm not sure."), call("web_search", {"query": "x"})]
    before = describe(steps(*inputs), RULES, SHELL, FLAGS, LANGUAGES).collect().drop("tool_name", "event_type")
    after = aligned(*inputs)
    assert [{name: entry[name] for name in before.columns} for entry in after] == before.to_dicts()


TEXTS = {"thinking", "narration", "action_text", "reflection_text", "arguments", "result_details"}


def test_alignment_has_no_text_column_and_leaves_the_steps_as_they_are() -> None:
    assert align.writes == (AlignedDescriptor,)
    assert not TEXTS & set(schema(AlignedDescriptor))
    assert set(schema(Step)) >= TEXTS
    added = set(schema(AlignedDescriptor)) - set(schema(Descriptor))
    assert added == {"tool_name_raw", "previous_tool_name", "previous_event_type", "alignment_case", "alignment_rule"}


@pytest.mark.slow
def test_the_text_of_real_sessions_is_the_same_behind_alignment(tmp_path: Path) -> None:
    """From normalize to the evidence that a judge is shown: no text of a step has changed."""
    raw = tmp_path / "raw" / "m"
    raw.mkdir(parents=True)
    for name in ("tool-errors", "thinking", "unknown-tool", "sequential-tools"):
        (raw / f"{name}.jsonl").symlink_to(SAMPLES / "2026.2.1" / f"{name}.jsonl")
    data = DataFolder(tmp_path / "data")
    data.save_layout({"shards": 1})
    done = update(data, settings(data, raw=str(tmp_path / "raw"), oracle=None, judge="rules"), "packet", Progress())
    assert done.tables is not None
    texts = sorted(TEXTS - {"arguments", "result_details"})
    before = done.tables[Step].select(*STEP_KEY, *texts).sort(STEP_KEY).collect()
    shown = done.tables[Evidence].select(*TRAJECTORY_KEY, "steps").explode("steps", empty_as_null=True)
    after = shown.unnest("steps").select(*STEP_KEY, *texts).drop_nulls("step_id").sort(STEP_KEY).collect()
    aligned_names = done.tables[AlignedDescriptor].filter(pl.col("tool_name") != pl.col("tool_name_raw")).collect()
    assert aligned_names.height > 0
    assert before.height > 20
    assert before.equals(after)


def test_an_alias_may_stand_once() -> None:
    content = ALIGN.model_dump()
    content["exact"].append({"id": "twice", "tool": "x", "names": ["bash"]})
    with pytest.raises(ValidationError, match="several exact aliases for bash"):
        AlignRules.model_validate(content)
