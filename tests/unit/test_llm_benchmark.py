"""Rows of the OpenClaw LLM Benchmark: one reply step at most, no guessed actions, every line accounted for."""

import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import check_accounting, normalized_folder

from openclawbench.records.oracle import OracleRecord
from openclawbench.records.session import RunSummary, Step
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession
from openclawbench.sources.llm_benchmark import LlmBenchmark, rows_of
from openclawbench.tables.record import Keyed

RULES, ADAPTER = NormalizeRules.load(), LlmBenchmark()
EVENT = {"record_type": "event", "tag": "t_pre", "event": "ollama_stop", "model": "m", "ok": True, "error": None}


def row(**more: Any) -> dict[str, Any]:
    """A result of a call that went through."""
    return {
        "record_type": "result",
        "run_id": "20260213_235930",
        "provider": "ollama_openai",
        "model": "small/llama:3b",
        "thinking_level": None,
        "prompt_id": "P3",
        "prompt_name": "count_words",
        "availability_status": "ok",
        "started_at_ms": 1770000000000,
        "ended_at_ms": 1770000001500,
        "e2e_ms": 1499,
        "ttft_ms": 210,
        "success": True,
        "failure_type": None,
        "objective_pass": True,
        "violation": None,
        "input_tokens": 30,
        "output_tokens": 12,
        "raw_output": "Run `df -h` first.",
        "parsed_output": {"words": 4},
        "tool_calls": ["df"],
        "tool_call_count": 1,
        "tool_use_success": True,
    } | more


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def parse(value: Any) -> ParsedSession:
    """Parse a row (or its bytes); the accounting has to hold, and columns have to be there."""
    session = ADAPTER.parse(value if isinstance(value, bytes) else line(value), {}, RULES)
    assert session.records_in == sum(session.record_counts.values()) == len(session.record_digests) == 1
    assert all(set(step) == set(Step.model_fields) - set(Keyed.model_fields) for step in session.steps)
    assert set(session.run) == set(RunSummary.model_fields)
    assert session.outcome is not None
    assert set(session.outcome) <= set(OracleRecord.model_fields)
    return session


def refusal(content: bytes) -> str:
    with pytest.raises(MalformedSession) as caught:
        ADAPTER.parse(content, {}, RULES)
    return caught.value.fault.reason


def test_a_completion_is_one_reply() -> None:
    content = b"  " + line(row()) + b"\r\n"
    session = parse(content)
    (step,) = session.steps
    assert (step["action_kind"], step["action_text"], step["tool_name_raw"]) == ("reply", "Run `df -h` first.", None)
    assert (step["user_turn"], step["thinking"], step["reflection_text"], session.user_turns) == (None, None, None, [])
    (raw,) = step["raw"]
    assert (raw["part"], raw["line"]) == ("reply", 1)
    assert json.loads(content[raw["offset"] : raw["offset"] + raw["length"]]) == row()
    assert session.record_counts == {"step_reply": 1}
    assert session.models == ["ollama_openai/small/llama:3b"]
    assert session.benchmark is not None
    assert session.benchmark["ttft_ms"] == row()["ttft_ms"]
    assert session.session_id == "ollama_openai__small/llama:3b__none__P3__20260213_235930"
    known = {"end": "completed", "input_tokens": 30, "output_tokens": 12, "total_tokens": 42, "wall_time_s": 1.499}
    assert session.run | known == session.run
    assert session.run["started_at"] == "2026-02-02T02:40:00.000Z"
    assert session.context == {"status": "ok", "label": "count_words"}


@pytest.mark.parametrize(
    ("passed", "status", "success"), [(True, "scored", True), (False, "scored", False), (None, "not_scored", None)]
)
def test_the_validator_gives_an_outcome(passed: bool | None, status: str, success: bool | None) -> None:
    outcome = parse(row(objective_pass=passed, violation=None if passed else "too_many_words")).outcome
    assert outcome is not None
    assert (outcome["status"], outcome["success"], outcome["task_id"]) == (status, success, "P3")
    assert outcome["error_message"] == (None if passed else "too_many_words")


@pytest.mark.parametrize(
    ("more", "errors", "empty", "words"),
    [
        (
            {"failure_type": "http_429", "availability_status": "rate_limited", "raw_output": "slow down"},
            1,
            0,
            "slow down",
        ),
        ({"failure_type": "exception", "availability_status": "error", "raw_output": ""}, 1, 0, "exception"),
        ({"failure_type": "empty_response", "availability_status": "error", "raw_output": ""}, 0, 1, None),
        ({"failure_type": None, "availability_status": "skipped_unavailable", "raw_output": "x"}, 1, 0, "x"),
    ],
)
def test_a_failed_call_is_no_step(more: dict[str, Any], errors: int, empty: int, words: str | None) -> None:
    session = parse(row(success=False, violation=more["failure_type"], **more))
    assert (session.steps, session.models, session.run["end"]) == ([], [], "error")
    assert (session.run["provider_errors"], session.run["empty_replies"]) == (errors, empty)
    assert session.run["first_provider_error"] == words
    assert session.record_counts == {"failed_call": 1}
    assert session.outcome is not None
    assert (session.outcome["status"], session.outcome["success"]) == ("infra_error", None)
    assert session.outcome["flags"] == [f"availability_{more['availability_status']}"]


def test_an_empty_answer_is_no_step() -> None:
    session = parse(row(raw_output=" \n"))
    assert (session.steps, session.run["end"], session.run["empty_replies"]) == ([], "error", 1)
    assert session.record_counts == {"empty_reply": 1}


def test_text_is_not_rewritten() -> None:
    text = "  a\u2028b \\n é "
    assert parse(row(raw_output=text)).steps[0]["action_text"] == text
    cut = parse(line(row(raw_output="CUT")).replace(b"CUT", b"cut \\ud83d"))
    assert (cut.steps[0]["action_text"], cut.escaped_fields) == ("cut \\ud83d", ["steps[1].action_text"])


def test_detect() -> None:
    assert ADAPTER.detect(row())
    assert ADAPTER.detect(EVENT)
    assert ADAPTER.detect({"record_type": "event", "event": "ollama_ps_failed"})
    for other in (None, [], {}, {"record_type": "result"}, {"record_type": "event"}, row(record_type="summary")):
        assert not ADAPTER.detect(other)


def test_identity() -> None:
    def identity(**more: Any) -> tuple[str | None, str]:
        return ADAPTER.identity(row(**more), line(row(**more)))

    entry = identity()
    assert ADAPTER.identity(row(), line(row()) + b"\r") == entry
    again = identity(raw_output="again", success=False)
    assert again[0] == entry[0]
    assert again[1] != entry[1]
    for key in ("provider", "model", "thinking_level", "prompt_id", "run_id"):
        assert identity(**{key: "other"})[0] != entry[0]
    assert ADAPTER.identity(EVENT, b"a") != ADAPTER.identity(EVENT, b"b")


def test_equal_lines_are_copies_and_other_attempts_are_not() -> None:
    assert parse(row()).record_digests == parse(row()).record_digests
    assert parse(row()).record_digests != parse(row(e2e_ms=3)).record_digests


def test_members_of_a_file() -> None:
    second = line(row(prompt_id="P4"))
    parts = [
        line(EVENT),
        line(row()),
        b"",
        b'{"record_type": "res',
        line({"record_type": "note"}),
        second + b" " + second,
    ]
    content = b"\xef\xbb\xbf" + b"\n".join(parts) + b'\n{"torn'
    rows = rows_of(content)
    assert [(result.name, result.line) for result in rows.results] == [("line2", 2), ("line6", 6), ("line6-2", 6)]
    assert [content[result.offset : result.offset + result.length] for result in rows.results] == [
        line(row()),
        second,
        second,
    ]
    assert rows.counts == {"event:ollama_stop": 1, "broken_line": 2, "unknown_type:note": 1}
    assert [(fault.reason, fault.line) for fault in rows.faults] == [("broken_json", 4), ("broken_json", 7)]
    members = ADAPTER.find_members(content)
    assert [member.line for member in members] == [1, 2, 4, 5, 6, 6, 7]
    assert len(members) == len(rows.results) + sum(rows.counts.values())
    assert len({member.name for member in members}) == len(members)


def test_what_is_not_one_result_is_refused() -> None:
    assert refusal(line(EVENT)) == "no_result"
    assert refusal(b"[1]") == "no_result"
    assert refusal(line(row()) + b"\n" + line(row())) == "several_records"
    assert refusal(line(row())[:-5]) == "broken_json"
    assert refusal(b"") == "several_records"


def test_what_is_no_result_is_skipped_and_counted(tmp_path: Path) -> None:
    rows = [
        {"record_type": "event", "event": "ollama_ps_failed", "error": "x"},
        row(),
        {"record_type": "event"},
        {"record_type": "summary", "models": []},
        {"record_type": "result", "provider": "p"},
        {"provider": "p"},
        7,
    ]
    (tmp_path / "raw" / "m").mkdir(parents=True)
    (tmp_path / "raw" / "m" / "results.jsonl").write_bytes(b"\n".join([*map(line, rows), b"{broken"]))
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    fates = {int(file["member"][4:]): (file["disposition"], file["reason"]) for file in result.files}
    assert fates == {
        1: ("sidecar", "llm_benchmark_event"),
        2: ("trajectory", None),
        3: ("sidecar", "llm_benchmark_other"),
        4: ("sidecar", "llm_benchmark_other"),
        **dict.fromkeys((5, 6, 7), ("quarantined", "not_a_session")),
        8: ("quarantined", "not_json"),
    }
