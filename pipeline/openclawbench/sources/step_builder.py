"""Builders of steps and user turns, which every adapter shares."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from openclawbench.records.session import Step
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.bounded_counter import NamedCounts
from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.io.usd import UNKNOWN
from openclawbench.tables.record import Keyed

ESCAPED_TEXT = re.compile(r"\\ud[89a-f][0-9a-f]{2}|\\x[89a-f][0-9a-f]", re.IGNORECASE)
TEXT_FIELDS = (
    "thinking",
    "narration",
    "action_text",
    "reflection_text",
    "tool_name_raw",
    "arguments",
    "result_details",
)
# What is counted and is not a step; of replies, what is odd about them.
NOISE = (
    "provider_errors",
    "unexecuted_calls",
    "empty_replies",
    "silent_replies",
    "runner_texts",
    "mirrored_replies",
)
FLAGS = ("result_synthetic", "has_result", "followed", "partial", "orphan", "order_ambiguous")
BLANK_STEP: dict[str, Any] = {
    name: False if name in FLAGS else None for name in Step.model_fields if name not in Keyed.model_fields
}


class StepRows:
    """Steps and user turns in order. `counts` says where records went, `noise` what was not a step."""

    def __init__(self, rules: NormalizeRules) -> None:
        self.rules = rules
        self.steps: list[dict[str, Any]] = []
        self.user_turns: list[dict[str, Any]] = []
        self.counts = NamedCounts(rules.counted_names)
        self.noise: Counter[str] = Counter()
        self.run_errors: set[int | None] = set()  # user turns whose run was aborted, timed out or failed
        self.unknown_blocks = NamedCounts(rules.counted_names)  # content blocks that are not read, by type
        self.escaped_fields: list[str] = []
        self.escaped_in_steps: set[str] = set()  # those of them
        self.message_index = 0
        self.open_turn = False  # nothing that answers the latest user turn has come yet

    def current_turn(self) -> int | None:
        """Number of the latest user turn; None before the first."""
        return len(self.user_turns) or None

    def unknown_block(self, kind: str | None) -> None:
        """Count a content block of an unknown type."""
        self.unknown_blocks.note("", self.rules.counted_names.untyped if kind is None else kind)

    def new_turn(self, raw_text: str, row: RawLine, time: str | None = None) -> None:
        """What a user said, or a runner in a user's name. A turn without a person's words has an empty `text`."""
        self.open_turn = True
        kinds, text = self.rules.turns.read(raw_text)
        number = len(self.user_turns) + 1
        self.user_turns.append(
            {
                "user_turn": number,
                "kinds": kinds,
                "text": text,
                "raw_text": raw_text,
                "before_step": None,
                "timestamp": time,
                "line": row.line,
            }
        )
        if row.escaped and ESCAPED_TEXT.search(raw_text):
            self.escaped_fields.append(f"user_turns[{number}].text")

    def new_step(
        self,
        kind: str,
        action_text: str | None,
        name: str | None,
        user_turn: int | None,
        time: str | None,
        followed: bool = False,
        message_index: int | None = None,
    ) -> dict[str, Any]:
        """A step with every column of Step but the key; it is already in `steps`."""
        silent = self.rules.silent_token(action_text) if kind == "reply" and action_text else None
        if silent is not None:
            self.noise["silent_replies"] += 1
        step = BLANK_STEP.copy()  # half the time of any other way; columns are taken over in its order
        step["step_id"] = self.steps[-1]["step_id"] + 1 if self.steps else 1
        step["user_turn"] = user_turn
        step["message_index"] = self.message_index if message_index is None else message_index
        step["action_kind"] = kind
        step["action_text"] = action_text
        step["tool_name_raw"] = name
        step["followed"] = followed
        step["silent_token"] = silent
        step["timestamp"] = time
        step["raw"] = []
        self.steps.append(step)
        return step

    def new_orphan(self, name: str | None, user_turn: int | None, time: str | None) -> dict[str, Any]:
        """A result without a call. The message that called it is unknown. It gets a message of its own, so that the
        text of another message is not taken for its narration."""
        self.message_index += 1
        self.open_turn &= user_turn != self.current_turn()
        step = self.new_step("tool_call", None, name, user_turn, time, followed=True)
        step["orphan"] = True
        return step

    def add_result(self, step: dict[str, Any], text: str | None, is_error: bool | None, details: str | None) -> None:
        """The feedback of a call. A result that the runner made up for a lost one is never feedback."""
        synthetic = self.is_synthetic(text)
        step["has_result"] = True
        step["result_synthetic"] = synthetic
        step["reflection_text"] = None if synthetic else text
        step["result_is_error"] = is_error
        step["result_details"] = details

    def is_synthetic(self, text: str | None) -> bool:
        """True for the text of a result that the runner made up because the real one was lost."""
        return text is not None and text.startswith(self.rules.synthetic_prefixes)

    def note_escapes(self, step: dict[str, Any], rows: Iterable[RawLine | None]) -> None:
        """Name the fields in which lone surrogates or invalid bytes of these records were written out."""
        if not any(row is not None and row.escaped for row in rows):
            return
        labels = written_out({f"steps[{step['step_id']}].{name}": step[name] for name in TEXT_FIELDS})
        new = [label for label in labels if label not in self.escaped_in_steps]
        self.escaped_fields += new
        self.escaped_in_steps.update(new)

    def number_turns(self) -> None:
        """Tell each user turn which step follows it."""
        first: dict[int, int] = {}
        for step in self.steps:
            first.setdefault(step["user_turn"] or 0, step["step_id"])
        after: int | None = None
        for turn in reversed(self.user_turns):
            first_step = first.get(turn["user_turn"])
            after = first_step if after is None else after if first_step is None else min(first_step, after)
            turn["before_step"] = after


def written_out(texts: Mapping[str, str | None]) -> list[str]:
    """Names of the texts in which a lone surrogate or an invalid byte was written out. Only for what is of a record
    where something was: a text may have such characters by itself."""
    return [name for name, text in texts.items() if text and ESCAPED_TEXT.search(text)]


def how_it_ended(rows: StepRows) -> str:
    """completed | unanswered | dangling_call | no_reply: by the last user turn and the last step.

    `unanswered`: nothing at all came after the last turn. A result that the runner made up does not count.
    """
    if rows.open_turn:
        return "unanswered"
    last = rows.steps[-1] if rows.steps else None
    if last is None or (rows.user_turns and rows.user_turns[-1]["before_step"] is None):
        return "no_reply"
    if last["action_kind"] == "reply":
        return "completed"
    return "no_reply" if last["has_result"] and not last["result_synthetic"] else "dangling_call"


def pointer(part: str, row: RawLine) -> dict[str, Any]:
    """The place of a raw record of a step."""
    return {"part": part, "line": row.line, "offset": row.offset, "length": row.length, "file": row.file}


@dataclass
class Moment:
    """When an action was issued. `followed`: something other than its results comes after it."""

    message_index: int
    user_turn: int | None
    time: str | None
    followed: bool = False


@dataclass
class Feedback:
    """What came back from a call. `rows` are the records that hold it."""

    text: str | None
    rows: list[RawLine]
    details: str | None = None
    is_error: bool | None = None


@dataclass
class Speech:
    """The texts of an agent message beside its action."""

    thinking: str | None = None
    narration: str | None = None
    position: str | None = None
    rows: list[RawLine] = field(default_factory=list)  # where it is, if not in the record of the action


class StepList(StepRows):
    """Takes actions and user turns in order."""

    def moment(self, time: str | None) -> Moment:
        """A new agent message. All calls of one message get the same moment."""
        self.open_turn = False
        self.message_index += 1
        return Moment(self.message_index, self.current_turn(), time)

    def user(self, text: str | None, row: RawLine, time: str | None = None) -> None:
        """What a user said, or a runner in a user's name."""
        self.new_turn(text or "", row, time)

    def note_role(self, role: object) -> None:
        """Count a record of a role never seen before, or of none."""
        if role is None:
            self.counts["unknown_record"] += 1
        else:
            self.counts.note("unknown_role:", role)

    def reply(self, text: str, moment: Moment, rows: list[RawLine], thinking: str | None = None) -> dict[str, Any]:
        """A text reply; it has no feedback."""
        step = self.step("reply", text, None, moment)
        step["thinking"] = thinking
        step["raw"] = [pointer("reply", row) for row in rows]
        self.note_escapes(step, rows)
        return step

    def call(
        self,
        name: str | None,
        arguments: str | None,
        moment: Moment,
        row: RawLine,
        speech: Speech | None,
        call_id: str | None = None,
    ) -> dict[str, Any]:
        """A tool call. `arguments` is JSON text as written; None if the record has none. `call_id`: as written."""
        shown = name or "(no name)"
        step = self.step("tool_call", shown if arguments is None else f"{shown} {arguments}", name, moment)
        step["call_id"], step["arguments"] = call_id, arguments
        speech = speech or Speech()
        step["thinking"] = speech.thinking
        step["narration"] = speech.narration
        step["narration_position"] = speech.position if speech.narration is not None else None
        step["raw"] = [*(pointer("narration", speech_row) for speech_row in speech.rows), pointer("call", row)]
        self.note_escapes(step, [row, *speech.rows])
        return step

    def orphan(self, name: str | None, feedback: Feedback, moment: Moment) -> None:
        """A result without a call: a step with unknown arguments. One that the runner made up is counted only."""
        if self.is_synthetic(feedback.text):
            self.noise["synthetic_orphans"] += 1
            return
        step = self.new_orphan(name, moment.user_turn, moment.time)
        self.answer(step, feedback)

    def answer(self, step: dict[str, Any], feedback: Feedback) -> None:
        """Give a call its result."""
        self.add_result(step, feedback.text, feedback.is_error, feedback.details)
        offsets = {raw["offset"] for raw in step["raw"]}
        step["raw"].extend(pointer("result", row) for row in feedback.rows if row.offset not in offsets)
        self.note_escapes(step, feedback.rows)

    def step(self, kind: str, action_text: str | None, name: str | None, moment: Moment) -> dict[str, Any]:
        """A step that the message of this moment issued."""
        return self.new_step(
            kind, action_text, name, moment.user_turn, moment.time, moment.followed, moment.message_index
        )

    def finish(self) -> None:
        """Tell each user turn which step follows it."""
        self.number_turns()

    def run_summary(self, times: list[str], **known: Any) -> dict[str, Any]:
        """The RunSummary: what was counted here, the records' times, and what `known` says (its nulls included)."""
        return {
            **{name: self.noise.get(name, 0) for name in NOISE},
            "run_errors": len(self.run_errors),
            "end": how_it_ended(self),
            "stop_reason": None,
            "first_provider_error": None,
            "first_provider_error_after": None,
            **UNKNOWN,
            "unreported_usage": 0,
            "unpriced_usage": 0,
            "impossible_usage": 0,
            **span_of(times),
        } | known


def note_message(step: dict[str, Any], model: str | None, usage: dict[str, Any] | None) -> None:
    """Which model wrote a step's message, and what it used (MessageUsage). Only the first step of a message has it, so
    that a sum over steps counts nothing twice."""
    step["model"], step["usage"] = model, usage


def not_blank(text: str | None) -> str | None:
    """The text itself; None if it is absent or blank."""
    return text if text is not None and text.strip() else None


def span_of(times: list[str]) -> dict[str, Any]:
    """When the earliest and the latest record were written, and the seconds between them: None if fewer than two
    have a time."""
    first, last = min(times, default=None), max(times, default=None)
    seconds = None
    if first is not None and last is not None and len(times) > 1:
        seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
    return {"wall_time_s": seconds, "started_at": first, "ended_at": last}
