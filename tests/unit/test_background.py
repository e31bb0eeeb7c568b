"""Notices about commands and silent tokens: what the texts that releases write say, and what only looks like them."""

from typing import Any

import pytest

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.openclaw.background_commands import link_background

RULES = NormalizeRules.load()
STAMP = "System: [2026-03-11 02:10:20 EDT] "
PROMPT = "An async command you ran earlier has completed. The command completion details are:\n\n"


def open_step(number: int, details: str) -> dict[str, Any]:
    blank = {"tool_name_raw": "exec", "arguments": "{}", "reflection_text": "", "resolved_by_step": None}
    return blank | {
        "step_id": number,
        "result_details": details,
        "resolved_by_user_turn": None,
        "resolved_status": None,
    }


def running(number: int, session: str) -> dict[str, Any]:
    return open_step(number, f'{{"status": "running", "sessionId": "{session}"}}')


def turn(number: int, text: str, before_step: int | None = None) -> dict[str, Any]:
    return {"user_turn": number, "raw_text": text, "before_step": before_step}


@pytest.mark.parametrize(
    ("text", "names", "status"),
    [
        (f"{STAMP}Exec completed (tidal-sl, code 0) :: done", ["tidal-sl"], "ok"),
        (f"{STAMP}Exec completed (tidal-sl, code 3)", ["tidal-sl"], "error"),
        (f"{STAMP}Exec failed (tidal-sl, code 0) :: killed", ["tidal-sl"], "error"),
        (f"{STAMP}Exec failed (tidal-sl, signal SIGKILL)", ["tidal-sl"], "aborted"),
        ("System (untrusted): [now] Exec failed (tidal-sl, code 137)", ["tidal-sl"], "error"),
        (f"{STAMP}Exec finished (gateway id=ap-1, session=tidal, code 0)\nout", ["gateway", "ap-1", "tidal"], "ok"),
        (f"{STAMP}Exec finished (node=mac id=ap-1, timeout)", ["node", "ap-1"], "timeout"),
        (f"{STAMP}Exec denied (gateway id=ap-1, user-denied): rm -rf /", ["gateway", "ap-1"], "denied"),
        (f"{PROMPT}Exec completed (tidal-sl, code 1) without captured stdout/stderr.", ["tidal-sl"], "error"),
    ],
)  # fmt: skip
def test_a_notice_says_what_it_is_about_and_how_that_ended(text: str, names: list[str], status: str) -> None:
    assert [tuple(notice) for notice in RULES.notices(text)] == [(names, status)]


@pytest.mark.parametrize(
    "text",
    [
        "Exec failed (tidal-sl, code 1)",  # nobody but a person says so
        "Why does it say `Exec failed (tidal-sl, code 1)`?",
        f"{STAMP}Exec running (gateway id=ap-1, session=tidal-sloop, >10s): make",
        f"{STAMP}Exec finished (node=mac id=ap-1, code ?)",
        f"{STAMP}Model switched. Exec failed (tidal-sl, code 1)",
    ],
)
def test_what_only_looks_like_a_notice_says_nothing(text: str) -> None:
    assert not list(RULES.notices(text))


def test_a_notice_that_fits_two_commands_ends_neither() -> None:
    steps = [running(1, "grand-atlas"), running(2, "grand-atoll")]
    link_background(steps, [turn(1, f"{STAMP}Exec completed (grand-at, code 0)")], RULES)
    assert [step["resolved_by_user_turn"] for step in steps] == [None, None]


def test_a_notice_before_a_command_ends_the_one_before_it() -> None:
    steps = [running(1, "grand-atlas"), running(2, "grand-atoll")]
    link_background(steps, [turn(1, "go"), turn(2, f"{STAMP}Exec failed (grand-at, code 2)", 2)], RULES)
    assert [(step["resolved_by_user_turn"], step["resolved_status"]) for step in steps] == [(2, "error"), (None, None)]


def test_a_command_may_be_ended_by_a_poll_and_by_a_notice() -> None:
    poll = open_step(2, '{"status": "completed", "exitCode": 0}')
    poll |= {"tool_name_raw": "process", "arguments": '{"action": "poll", "sessionId": "grand-atlas"}'}
    steps = [running(1, "grand-atlas"), poll]
    link_background(steps, [turn(1, f"{STAMP}Exec completed (grand-at, code 0)")], RULES)
    assert (steps[0]["resolved_by_step"], steps[0]["resolved_by_user_turn"]) == (2, 1)
    assert steps[1]["resolved_by_step"] is None


@pytest.mark.parametrize(
    ("text", "details", "ended"),
    [
        ("Killed session grand-atlas.", '{"status": "failed"}', True),
        ("Termination requested for session grand-atlas.", '{"status": "failed"}', True),
        ("Termination requested for session grand-atlas.", '{"status": "completed"}', True),
        ("Removed session grand-atlas (termination requested).", '{"status": "failed"}', True),
        ("(no new output)\n\nProcess stopped by request (signal SIGTERM).", '{"status": "completed"}', True),
        ("Session grand-atlas is not backgrounded.", '{"status": "failed"}', False),
        ("Unable to terminate session grand-atlas: no active supervisor run.", '{"status": "failed"}', False),
        ("Sent 6 bytes to session grand-atlas.", '{"status": "running"}', False),
        ("it said:\nKilled session grand-atlas.", '{"status": "running"}', False),
    ],
)
def test_a_command_that_the_agent_ends_has_ended(text: str, details: str, ended: bool) -> None:
    kill = open_step(2, details) | {"tool_name_raw": "process", "reflection_text": text}
    kill |= {"arguments": '{"action": "kill", "sessionId": "grand-atlas"}'}
    steps = [running(1, "grand-atlas"), kill]
    link_background(steps, [], RULES)
    assert steps[0]["resolved_by_step"] == (2 if ended else None)


@pytest.mark.parametrize(
    ("reply", "token"),
    [
        ("NO_REPLY", "no_reply"),
        (" no_reply\n", "no_reply"),
        ('"NO_REPLY"', "no_reply"),
        ('{"action": "NO_REPLY"}', "no_reply"),
        ("NO_REPLY\nNO_REPLY", "no_reply"),
        ("[[reply_to_current]] NO_REPLY", "no_reply"),
        ("**HEARTBEAT_OK**", "heartbeat_ok"),
        ("HEARTBEAT_OK.", "heartbeat_ok"),
        ("ANNOUNCE_SKIP", "announce_skip"),
        ("REPLY_SKIP", "reply_skip"),
        ("HEARTBEAT_OK\n\nGateway: running", None),
        ("I answer NO_REPLY", None),
        ("NO_REPLYING", None),
        ("Done.", None),
    ],
)
def test_a_reply_is_silent_only_where_it_is_nothing_but_a_token(reply: str, token: str | None) -> None:
    assert RULES.silent_token(reply) == token


def test_what_a_notice_hides_is_seen() -> None:
    beat = "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly."
    assert RULES.turns.read(f"{STAMP}Exec completed (a, code 0)\nSystem: more\n\n{beat}")[0] == [
        "heartbeat",
        "system_notice",
    ]
    assert RULES.turns.read(f"{STAMP}Exec completed (a, code 0)\nSystem: more")[0] == ["system_notice"]
    assert RULES.turns.read(f"{STAMP}Exec completed (a, code 0)\n\nAnd now?")[0] == ["system_notice", "user"]
    assert RULES.turns.read(f"{PROMPT}Exec completed (a, code 0)\n\nPlease relay. Explain what went wrong.")[0] != [
        "user"
    ]
    assert RULES.turns.own_words(f"{STAMP}x\nSystem: more\n\nAnd now?") == "And now?"
