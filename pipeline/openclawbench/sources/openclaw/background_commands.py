"""Background commands: which later poll, log or notice tells the outcome of a command left running (own choice)."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules, Notice
from openclawbench.sources.io.json_values import load_json

Row = dict[str, Any]


def loads(text: str | None) -> Row:
    """A JSON object, or an empty one where the text is not one."""
    try:
        value = load_json(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def link_background(steps: list[Row], user_turns: list[Row], rules: NormalizeRules) -> None:
    """Say of each command left running which later step and which user turn tell its end.

    `resolved_by_step`: the first poll or log of its process with a final status, or the call that ended it.
    `resolved_by_user_turn`: the first turn with a notice that names it and no other, `resolved_status` what the notice
    says. One may have both.
    """
    background = rules.background
    if not any(is_open(details, rules) for details in open_candidates(steps, rules)):
        return  # most sessions leave nothing running: their turns need not be searched for notices
    running: dict[str, Row] = {}  # process id -> step, of what no step has ended
    open_commands = OpenCommands(background.short_name)
    turns = notices_before(user_turns, rules)
    for step in steps:
        while turns and turns[0][0] <= step["step_id"]:
            _, number, notice = turns.popleft()
            open_commands.resolve(number, notice)
        text = step["result_details"]
        polled = bool(running) and step["tool_name_raw"] in background.process_tools
        details = loads(text) if text and (polled or may_be_open(text, rules)) else {}
        status = details.get("status")
        if status == background.running and isinstance(details.get("sessionId"), str):
            if step["tool_name_raw"] not in background.process_tools:
                running[details["sessionId"]] = step
                open_commands.add(details["sessionId"], step)
        elif status in background.awaiting and isinstance(details.get("approvalId"), str):
            open_commands.add(details["approvalId"], step)
        elif polled:
            session = loads(step["arguments"]).get("sessionId")
            if isinstance(session, str) and session in running and is_final(details, step["reflection_text"], rules):
                running.pop(session)["resolved_by_step"] = step["step_id"]
    for _, number, notice in turns:
        open_commands.resolve(number, notice)


class OpenCommands:
    """Commands that no notice has ended yet: process or approval id -> step. `short`: characters of an id in a
    notice."""

    def __init__(self, short: int) -> None:
        self.short = short
        self.steps: dict[str, Row] = {}
        self.shortened: dict[str, set[str]] = {}  # ids by their beginning

    def add(self, key: str, step: Row) -> None:
        """Add a command."""
        self.steps[key] = step
        self.shortened.setdefault(key[: self.short], set()).add(key)

    def resolve(self, user_turn: int, notice: Notice) -> None:
        """Link the one command that a notice names; nothing if it names none, or its short name fits several."""
        names = set(notice.names)
        keys = names & self.steps.keys() or set().union(*(self.shortened.get(name, ()) for name in names))
        if len(keys) == 1:
            key = keys.pop()
            self.steps.pop(key).update(resolved_by_user_turn=user_turn, resolved_status=notice.status)
            self.shortened[key[: self.short]].discard(key)


def notices_before(user_turns: list[Row], rules: NormalizeRules) -> deque[tuple[int | float, int, Notice]]:
    """(step that follows, user turn, notice) of every notice, in order; what no step follows is at infinity."""

    def notices() -> Iterator[tuple[int | float, int, Notice]]:
        for turn in user_turns:
            for notice in rules.notices(turn["raw_text"]):
                yield turn["before_step"] or float("inf"), turn["user_turn"], notice

    return deque(notices())


def open_candidates(steps: list[Row], rules: NormalizeRules) -> list[Row]:
    """Details of the results that may say that a command has not ended."""
    texts = [text for step in steps if (text := step["result_details"])]
    if not may_be_open("\n".join(texts), rules):
        return []
    return [loads(text) for text in texts if may_be_open(text, rules)]


def is_open(details: Row, rules: NormalizeRules) -> bool:
    """True if details say that a command is running, or waits to be approved."""
    status = details.get("status")
    return status == rules.background.running or status in rules.background.awaiting


def may_be_open(details: str, rules: NormalizeRules) -> bool:
    """False if the text of the details cannot say that a command has not ended; spares reading all of them."""
    return any(sign in details for sign in rules.open_signs)


def is_final(details: Row, text: str | None, rules: NormalizeRules) -> bool:
    """True if a process result says that the process has ended, or that it was told to."""
    background = rules.background
    own_text = text or ""
    if details.get("exitCode") is not None or any(words in own_text for words in background.final_words):
        return True
    if re.match(background.final_text, own_text):
        return True
    return details.get("status") in background.final_statuses and "sessions" not in details and "exitSignal" in details
