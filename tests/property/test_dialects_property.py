"""The same behaviour has the same descriptors and risk, whatever model wrote it and whatever files are called."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from describe_steps import DEFAULTS, FLAGS, LANGUAGES, RULES, SHELL
from dialects import DIALECTS, SHELLS, SPELLINGS, UNLISTED, Act, written
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import SAMPLES, normalized_rows, raw_row

from openclawbench.construct.align import align
from openclawbench.construct.describe.describe import describe
from openclawbench.construct.slice import slice
from openclawbench.records.oracle import Fused
from openclawbench.records.session import Step
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.construct.describe import COMMAND_KINDS
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.rules.loading.tool_names import plain_name, spelled
from openclawbench.tables.schema import from_records

ALIGN, RISK = AlignRules.load(), RiskRules.load()
ALIKE = [
    "event_type",
    "tool_name",
    "tool_status",
    "side_effect",
    "side_effect_rule",
    "artifact_target",
    "state_write_target",
    "auto_flags",
    "command_parts",
]
COMMANDS = ["ls -la", "cat a | head -3", "rm -rf build", "git push", "echo x >> memory/a.md", "kill 7", "python3 x.py"]
PATHS = ["a.txt", "memory/2026-01-01.md", "src/ü 🦞.py", "MEMORY.md", "SOUL.md"]
THOUGHTS = [None, "I'm not sure which file is meant.", "This is probably it.", "I can't verify that.", "Plain."]
act = st.one_of(
    *(
        st.tuples(st.just(what), st.sampled_from(on), st.sampled_from(outcomes), st.sampled_from(THOUGHTS))
        for what, on, outcomes in [
            ("run", COMMANDS, ["ok", "lost"]),
            ("read", PATHS, ["ok", "error", "not_found", "lost"]),
            ("write", PATHS, ["ok", "error", "lost"]),
            ("edit", PATHS, ["ok", "error", "not_found"]),
            ("find", ["weather", "日本"], ["ok", "error"]),
            ("fetch", ["https://a.io/x", "http://localhost:3000"], ["ok", "error", "not_found"]),
            ("send", ["@bob", "-100200"], ["ok", "error"]),
            ("say", ["Done.", "I don't have access.", "我不确定"], ["ok"]),
        ]
    )
)


def tables(steps: list[dict[str, Any]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Aligned descriptors and risks of steps."""
    frame = from_records([DEFAULTS | step for step in steps], Step).lazy()
    aligned = align(describe(frame, RULES, SHELL, FLAGS, LANGUAGES), frame, ALIGN).collect()
    names = dict.fromkeys((step["source_model"], step["trajectory_id"]) for step in steps)
    fused = [{"source_model": model, "trajectory_id": name, "subset": "simple"} for model, name in names]
    risks, _ = slice(from_records(fused, Fused).lazy(), aligned.lazy(), RISK)
    return aligned, risks.collect()


@settings(max_examples=4)  # each is 25 behaviours in six dialects, described at once
@given(st.lists(st.lists(act, min_size=1, max_size=5), min_size=25, max_size=25))
def test_six_dialects_of_one_behaviour(behaviours: list[list[Act]]) -> None:
    steps = [
        written(entry, dialect)
        | {"source_model": dialect.name, "trajectory_id": str(number), "step_id": place, "message_index": place}
        for dialect in DIALECTS
        for number, acts in enumerate(behaviours)
        for place, entry in enumerate(acts, start=1)
    ]
    aligned, risks = tables(steps)
    first = aligned.filter(source_model=DIALECTS[0].name).select(ALIKE).to_dicts()
    for dialect in DIALECTS:
        assert aligned.filter(source_model=dialect.name).select(ALIKE).to_dicts() == first, dialect.name
    scores = risks.group_by("trajectory_id").agg(pl.col("risk_score").n_unique(), pl.col("risk_score_raw").n_unique())
    assert scores.filter((pl.col("risk_score") > 1) | (pl.col("risk_score_raw") > 1)).is_empty()
    assert "other" not in aligned["event_type"].to_list()


def test_the_dialects_differ_in_what_they_write() -> None:
    acts: list[Act] = [("run", "rm a", "ok", None), ("read", "a", "error", None), ("send", "@bob", "ok", None)]
    for entry in acts:
        seen = [
            (step["tool_name_raw"], step["arguments"]) for step in (written(entry, dialect) for dialect in DIALECTS)
        ]
        assert len(set(seen)) == len(DIALECTS) == 6


def test_a_shell_is_a_shell_under_any_name() -> None:
    own = DIALECTS[0]
    named = [own, *(replace(own, name=name, tools=own.tools | {"run": name}) for name in SHELLS)]
    steps = [
        written(("run", command, "ok", None), dialect)
        | {"source_model": dialect.name, "trajectory_id": "t", "step_id": place, "message_index": place}
        for dialect in named
        for place, command in enumerate(COMMANDS, start=1)
    ]
    aligned, _ = tables(steps)
    first = aligned.filter(source_model=own.name).select(ALIKE).to_dicts()
    assert sum(entry["side_effect"] for entry in first) >= 4
    for name in SHELLS:
        assert aligned.filter(source_model=name).select(ALIKE).to_dicts() == first, name


def test_the_spelling_of_a_name_changes_nothing() -> None:
    """Every name that a rule lists, and names known by their verb, as each convention writes it."""
    listed = {name for rule in [*RULES.tools, *ALIGN.exact] for name in rule.names}
    listed |= {name for rule in RULES.clears for name in rule.tools} | set(RULES.status.content_tools)
    names = sorted(name for name in listed if spelled(name) == name) + UNLISTED
    inputs = {"path": "a.txt", "command": "rm b.txt", "action": "list", "query": "x", "url": "https://a.io", "to": "@b"}
    failed = json.dumps({"status": "error", "message": "boom"})
    steps = [
        {"action_kind": "tool_call", "tool_name_raw": write(name.split("_")), "arguments": json.dumps(inputs)}
        | {"reflection_text": failed, "source_model": spelling, "trajectory_id": name, "step_id": 1, "message_index": 1}
        for spelling, write in SPELLINGS.items()
        for name in names
    ]
    aligned, risks = tables(steps)
    alike = [name for name in ALIKE if name != "tool_name"] + ["event_rule", "status_rule", "alignment_rule"]
    as_listed = aligned.filter(source_model="snake")
    for spelling in SPELLINGS:
        result = aligned.filter(source_model=spelling)
        assert result.select(alike).to_dicts() == as_listed.select(alike).to_dicts(), spelling
        known = pl.col("alignment_rule").is_not_null()
        assert result.filter(known)["tool_name"].to_list() == as_listed.filter(known)["tool_name"].to_list()
        raw = [SPELLINGS[spelling](name.split("_")) for name in names]
        assert result["tool_name_raw"].to_list() == raw  # beside, as the session wrote it
    assert risks.group_by("trajectory_id").agg(pl.col("risk_score_raw").n_unique()).filter(risk_score_raw=2).is_empty()
    assert set(as_listed.filter(event_type="other")["trajectory_id"]) <= {
        "frobnicate_all",
        "openclaw",
        "mcp__files__get_file",
    }


def test_words_of_a_name() -> None:
    written = {
        "sendSMSMessage": "send_sms_message",
        "fetchURLs": "fetch_urls",
        "HTTPGet": "http_get",
        "v2Search": "v2_search",
        "mcp__github__createIssue": "mcp_github_create_issue",
        " Read File ": "read_file",
        "MULTIEDIT": "multiedit",
        "APIAssert": "api_assert",
        "": "",
    }
    assert {name: spelled(name) for name in written} == written
    assert plain_name("Multi-Edit") == plain_name("multiedit") == "multiedit"


def test_describe_and_align_know_the_same_shells() -> None:
    shells = {name for rule in RULES.tools if rule.kind in COMMAND_KINDS for name in rule.names}
    assert {name for alias in ALIGN.exact if alias.tool == "exec" for name in alias.names} == shells
    patterns = {rule.pattern for rule in ALIGN.fuzzy if rule.tool == "exec"}
    assert patterns == {rule.pattern for rule in RULES.verbs if rule.kind in COMMAND_KINDS}


# ---- names of files, ids, times

SCRIPTS = ["tool-errors", "sequential-tools", "thinking", "memory-write", "killed-midtool-resumed", "exec-background"]
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
IDS = {"id", "parentId", "toolCallId", "responseId", "runId", "sessionId"}


def renamed(value: Any, prefix: str, later: int, key: str = "") -> Any:
    """A record with other ids and times, and nothing else changed."""
    if isinstance(value, dict):
        return {name: renamed(entry, prefix, later, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [renamed(entry, prefix, later) for entry in value]
    if isinstance(value, str) and key in IDS:
        return f"{prefix}{value}"
    if isinstance(value, str) and key == "timestamp" and STAMP.match(value):
        moved = datetime.fromisoformat(value) + timedelta(milliseconds=later)
        return moved.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moved.microsecond // 1000:03}Z"
    return value + later if isinstance(value, int) and key == "timestamp" else value


changes = st.tuples(
    st.text("abcxyz0189-_", min_size=1, max_size=12),  # file
    st.text("abcdef0123456789", min_size=1, max_size=6),  # ids
    st.integers(0, 10**11),  # ms
)


@settings(max_examples=4)
@given(st.fixed_dictionaries(dict.fromkeys(SCRIPTS, changes)))
def test_renaming_files_ids_and_times_changes_nothing(changed: dict[str, tuple[str, str, int]]) -> None:
    before, after = [], []
    for number, (script, (name, prefix, later)) in enumerate(changed.items()):
        content = (SAMPLES / "2026.6.11" / f"{script}.jsonl").read_bytes()
        records = [json.loads(line) for line in content.split(b"\n") if line]
        other = b"".join(json.dumps(renamed(record, prefix, later)).encode() + b"\n" for record in records)
        # One source model a session: the order of the rows then is that of the scripts, whatever the files are called.
        before.append(raw_row([content], f"m{number}/{script}.jsonl", source_model=f"m{number}"))
        after.append(raw_row([other], f"m{number}/deep/er/{name}.jsonl", source_model=f"m{number}"))
    (aligned, risks), (others, other_risks) = (tables(normalized_rows(rows).steps) for rows in (before, after))
    assert aligned.height > 20
    assert others.drop("trajectory_id").equals(aligned.drop("trajectory_id"))
    assert other_risks.drop("trajectory_id").equals(risks.drop("trajectory_id"))
    assert not set(others["trajectory_id"]) & set(aligned["trajectory_id"])
