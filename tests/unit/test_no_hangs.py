"""What is long in an unusual way takes no longer than its length: each of these would take minutes if it were looked at
again for each of its parts."""

import json

import pytest
from normalizing import RULES, Row, read

from openclawbench.sources.chat_text import called_in_text, results_in_text, thought_in_text
from openclawbench.sources.openclaw.texts import without_thought
from openclawbench.sources.result_pairing import Called, Pairing, pair

MANY = 30_000
HEADER: Row = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z"}
AEC: Row = {"version": 1, "format": "aec-bench-trajectory", "timestamp": "2026-01-01T00:00:00Z"}


def steps(*records: Row) -> int:
    """How many steps a session of these records has."""
    session_file = read("".join(json.dumps(record) + "\n" for record in records).encode())
    assert session_file.session is not None
    return len(session_file.session.steps)


def message(**fields: object) -> Row:
    return {"type": "message", "message": fields}


def test_calls_whose_results_come_back_in_another_order() -> None:
    ids = [str(number) for number in range(MANY)]
    backwards = pair([Called(row_id, "exec") for row_id in ids], [Called(row_id, "exec") for row_id in reversed(ids)])
    assert backwards == Pairing({number: MANY - 1 - number for number in range(MANY)})


def test_calls_of_as_many_tools() -> None:
    names = [f"tool-{number}" for number in range(MANY)]
    by_name = pair(
        [Called(None, name) for name in names], [Called("other", name) for name in [*reversed(names), "more"]]
    )
    assert by_name == Pairing({number: MANY - 1 - number for number in range(MANY)}, orphans=[MANY])


def test_calls_and_results_that_have_nothing_in_common() -> None:
    apart = pair([Called(f"a{n}", "x") for n in range(MANY)], [Called(f"b{n}", f"y{n}") for n in range(MANY)])
    assert apart == Pairing(orphans=list(range(MANY)))


@pytest.mark.parametrize(
    "tag", ["<tool_response>", "<tool_call>", "<parameter=", "<parameter=a>", "<think>", " ", "\n"]
)
def test_tags_of_chat_templates_again_and_again(tag: str) -> None:
    for text in (tag * MANY, f"<tool_call><function=f>{tag * MANY}</tool_call>", f"<tool_response>{tag * MANY}"):
        called_in_text(text)
        results_in_text(text)
        thought_in_text(text)


@pytest.mark.parametrize("tag", ["<think>", "<think>a</think>", "<final>", "</final>", "x ", "\n"])
def test_tags_and_blanks_again_and_again(tag: str) -> None:
    for text in ("<think>" + tag * MANY, "<final>" + tag * MANY, tag * MANY):
        without_thought(text)


@pytest.mark.parametrize(
    "begins",
    [
        "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>",
        "<active_memory_plugin>",
        "An async command you ran earlier completed\n",
        "[message_id: ",
        "Sender (untrusted metadata):\n```json\n",
        "Sender (untrusted\n",
        "Untrusted context (metadata",
        "Untrusted context (metadata):\n",
        "<<<EXTERNAL_UNTRUSTED_CONTENT",
        "<<<EXTERNAL_UNTRUSTED_CONTENT>>><<<END_EXTERNAL_UNTRUSTED_CONTENT",
        "[media attached",
        "[Subagent Context]",
        "System: [x]\n",
        "Current time: x\n",
        "[Bootstrap truncation warning]\n",
        "[Bootstrap truncation warning]\nx\n\n",
        " ",
        "[Telegram Ann id:1 +1m Mon 2026-01-01 10:00 UTC] ",
        "[Slack #a] b: ",
        "[Queued messages while agent was busy]\n\n---\nQueued #1\n",
        "[Audio]\nUser text:\n",
        "User text:\n[Audio 1/2]\nTranscript:\n",
        "[Image]\nUser text:\nx\nDescription:\n",
        "Chat (untrusted, chronological):\nx\n",
        "Context: ⟦openclaw:ctx⟧\n",
        "[Thread starter - for context]\n[Slack x\n\n",
    ],
)
def test_an_envelope_that_begins_again_and_again(begins: str) -> None:
    holds = "<active_memory_plugin>```json\nSource: "  # what is looked for before some of the patterns
    assert RULES.turns.own_words("x\n" + begins * MANY + holds).startswith("x")
    assert RULES.turns.read(begins * MANY + holds)[0]


@pytest.mark.slow
def test_what_an_envelope_waits_for_again_and_again() -> None:
    for begins in sorted({rule.holds for rule in [*RULES.envelopes, *RULES.user_kinds]} - {""}):
        assert RULES.turns.read("x\n" + begins * MANY)[0]
        assert RULES.turns.read(f"{begins}\n" * MANY)[0]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("a<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n1 < 2 <b> <<< x\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\n\nb", "ab"),
        ("<active_memory_plugin>1 < 2</p></active_memory_plugin> b", "b"),
        ("a [message_id: 1-2]  ", "a"),
        ("a [message_id: 1] b", "a [message_id: 1] b"),
        ("An async command you ran earlier has completed\nout\n, explain what went wrong. b", "b"),
    ],
)
def test_an_envelope_is_removed_whole(text: str, own: str) -> None:
    assert RULES.turns.own_words(text) == own


@pytest.mark.slow
def test_notices_about_commands_that_are_none_of_those_that_run() -> None:
    running = [
        message(role="toolResult", toolCallId="x", toolName="exec", content=[], details=details)
        for details in ({"status": "running", "sessionId": f"{number:08}-x"} for number in range(MANY))
    ]
    notices = [message(role="user", content=f"System: Exec completed (zz{number}, code 0)") for number in range(MANY)]
    assert steps(HEADER, *running, *notices) == MANY


@pytest.mark.slow
def test_steps_of_an_aec_trajectory() -> None:
    lines = [{"step": number, "role": "tool_call", "tool_name": "bash"} for number in range(MANY)]
    assert steps(AEC, *lines) == MANY


@pytest.mark.slow
def test_fields_that_are_written_out() -> None:
    messages = [message(role="assistant", content=[{"type": "text", "text": "\ud83d"}], stopReason="stop")] * MANY
    assert steps(HEADER, *messages) == MANY
