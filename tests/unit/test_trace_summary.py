"""How a run went: what is a failure of a tool, the end of a run, waiting; what it cost, to the last digit."""

import json
from typing import Any

import pytest
from describe_steps import FLAGS, LANGUAGES, RULES, SHELL
from normalizing import normalized_rows, raw_row
from run_artifact_builders import call, failed, message, result, stored, written

from openclawbench.construct.describe.describe import describe
from openclawbench.construct.summarize_run import summary
from openclawbench.records.session import Step, Trajectory, UserTurn
from openclawbench.rules.construct.trace import TraceRules
from openclawbench.tables.schema import from_records

SYNTHETIC = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
Row = dict[str, Any]


def user(text: str = "do it") -> Row:
    return {"role": "user", "content": text}


def agent(*blocks: Row, stop: str = "stop", usd: float = 0.001, **more: Any) -> Row:
    return {
        "role": "assistant",
        "content": list(blocks),
        "model": "m",
        "stopReason": stop,
        "usage": {"input": 1, "cost": {"total": usd}},
    } | more


def text(words: str) -> Row:
    return {"type": "text", "text": words}


def tool(number: int, name: str = "exec", **arguments: Any) -> Row:
    return {"type": "toolCall", "id": f"c{number}", "name": name, "arguments": arguments or {"command": "ls"}}


def came(number: int, words: str, error: bool = False, **details: Any) -> Row:
    more = {"details": details} if details else {}
    return {"role": "toolResult", "toolCallId": f"c{number}", "content": [text(words)], "isError": error} | more


def session(*messages: Row) -> bytes:
    lines = [{"type": "session", "version": 3, "id": "s", "timestamp": "2026-03-01T10:00:00.000Z"}]
    lines += [
        {"type": "message", "id": str(n), "parentId": str(n - 1) if n else None, "message": entry}
        for n, entry in enumerate(messages)
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def summarized(content: bytes, path: str = "m/s.jsonl") -> Row:
    """The trace summary of one file."""
    normalized = normalized_rows([raw_row(content, path) | {"content": [content], "sha256": "0"}])
    steps = from_records(normalized.steps, Step).lazy()
    tables = (
        from_records(normalized.trajectories, Trajectory).lazy(),
        steps,
        from_records(normalized.turns, UserTurn).lazy(),
    )
    frame = summary(*tables, describe(steps, RULES, SHELL, FLAGS, LANGUAGES), TraceRules.load())
    row: Row = frame.collect().to_dicts()[0]["trace_summary"]
    return row


def picked(summary_row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(summary_row[name] for name in names)


ERRORS = ("tool_errors", "calls_without_result", "first_error", "first_error_step")
CLASS = ("end", "behaviour", "behaviour_rule")


@pytest.mark.parametrize("repaired", [False, True])
def test_a_call_without_a_result_is_no_error_and_ends_the_run(repaired: bool) -> None:
    lines = [user(), agent(tool(1), stop="toolUse"), *([came(1, SYNTHETIC, True)] if repaired else [])]
    row = summarized(session(*lines))
    assert picked(row, *ERRORS) == (0, 1, None, None)
    assert picked(row, *CLASS) == ("dangling_call", "aborted", "call_without_end")
    row = summarized(session(*lines, user("go on"), agent(text("I could not find it"))))
    assert picked(row, *ERRORS) == (0, 1, None, None)
    assert picked(row, *CLASS) == ("completed", "completed", "otherwise")


def test_the_first_error_is_text_of_the_session() -> None:
    lines = [user(), agent(tool(1), tool(2), stop="toolUse"), came(1, "", True), came(2, "no such file", True)]
    row = summarized(session(*lines, agent(text("Done."))))
    assert picked(row, *ERRORS) == (2, 0, None, 1)
    lines = [user(), agent(tool(1), stop="toolUse"), came(1, "running", status="running", sessionId="tidal-sloop")]
    notice = "System: [2026-03-11 02:10:20 EDT] Exec failed (tidal-sl, code 2) :: no disk"
    row = summarized(session(*lines, agent(text("It runs.")), user(notice), agent(text("It failed."))))
    assert picked(row, *ERRORS) == (1, 0, notice, 1)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([], ("unanswered", "aborted", "last_turn_unanswered")),
        ([agent(stop="stop")], ("no_reply", "aborted", "ended_without_a_reply")),
        ([agent(text("There."))], ("completed", "completed", "otherwise")),
        ([agent(stop="error", errorMessage="500")], ("error", "errored_out", "provider_failed")),
    ],
)
def test_the_last_turn_decides_how_a_run_ended(last: list[Row], expected: tuple[str, ...]) -> None:
    for before in (
        [agent(text("Done."))],
        [agent(tool(1), stop="toolUse"), came(1, "a")],
        [agent(text("Do"), stop="aborted")],
    ):
        assert picked(summarized(session(user(), *before, user("and now?"), *last)), *CLASS) == expected


def test_an_orphan_is_something_that_came() -> None:
    orphan = came(9, "Tool frobnicate not found", True)
    assert summarized(session(user(), agent(text("Done.")), user("more"), orphan))["end"] == "no_reply"
    lines = [user(), agent(tool(1), stop="toolUse"), came(1, "a"), orphan, user("more")]
    assert summarized(session(*lines))["end"] == "unanswered"


def test_a_session_of_nothing_but_a_question_is_empty() -> None:
    assert picked(summarized(session(user())), *CLASS) == ("unanswered", "empty", "no_steps")


def test_an_error_of_the_provider_counts_where_something_was_done_before_it() -> None:
    lines = [user(), agent(tool(1), stop="error", errorMessage="terminated"), came(1, "a")]
    row = summarized(session(*lines, agent(text("Done."))))
    assert picked(row, "provider_errors", "first_error", "tool_errors") == (1, "terminated", 0)


def polls(status: str, words: str, arguments: Row, count: int = 6) -> list[Row]:
    actual = []
    for number in range(count):
        actual += [agent(tool(number, **arguments), stop="toolUse"), came(number, words, status=status)]
    return actual


def test_to_wait_for_a_command_is_no_loop() -> None:
    poll = {"name": "process", "action": "poll", "sessionId": "tidal-sloop"}
    for waiting in (polls("running", "(no new output)", poll), polls("", "\n\nProcess still running.", poll)):
        assert summarized(session(user(), *waiting, agent(text("Built."))))["behaviour"] == "completed"
    for again in (polls("completed", "a", {"command": "ls"}), polls("failed", "No session found", poll)):
        assert summarized(session(user(), *again, agent(text("Built."))))["behaviour"] == "looping"


@pytest.mark.parametrize(("usd", "count", "sum_"), [(6e-7, 301, 0.0001806), (4e-7, 201, 8.04e-05), (0.1, 3, 0.3)])
def test_costs_add_up_to_the_last_digit(usd: float, count: int, sum_: float) -> None:
    lines = [agent(text(str(number)), usd=usd) for number in range(count)]
    assert summarized(session(user(), *lines))["cost_usd"] == sum_


@pytest.mark.parametrize("status", ["failed", "timed_out", "invalid", "provider_error"])
def test_a_run_artifact_says_why_it_failed(status: str) -> None:
    document = written(stored(message("user", "q"), **failed(status, message="no room left")))
    assert picked(summarized(document, "m/run_1.json"), "first_error", "tool_errors") == ("no room left", 0)
    trace = [
        message("user", "q"),
        message("assistant", "a"),
        call("c", "exec", {}),
        result("c", "disk is full", "error"),
    ]
    document = written(stored(*trace, **failed(status, message="no room left")))
    assert summarized(document, "m/run_1.json")["first_error"] == "disk is full"


@pytest.mark.parametrize("written", [None, "absent"])
def test_arguments_that_are_not_there_are_null(written: str | None) -> None:
    block = {"type": "toolCall", "id": "c1", "name": "status"} | ({} if written else {"arguments": None})
    content = session(user(), agent(block, stop="toolUse"), came(1, "a"))
    (step,) = normalized_rows([raw_row(content) | {"content": [content], "sha256": "0"}]).steps
    assert picked(step, "arguments", "action_text", "reflection_text") == (None, "status", "a")
