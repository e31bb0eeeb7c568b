"""Steps and user turns in the making, for formats whose records are no OpenClaw messages (aec-bench, ATIF)."""

from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.run_summary import NOISE, span_of
from openclawbench.sources.step_builder import StepRows, how_it_ended, pointer


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
    """What an agent message says beside its action."""

    thinking: str | None = None
    narration: str | None = None
    position: str | None = None
    rows: list[RawLine] = field(default_factory=list)  # where it is, if not in the record of the action


class StepList(StepRows):
    """Takes actions and user turns in order."""

    def moment(self, time: str | None) -> Moment:
        """A new agent message."""
        self.open_turn = False
        self.message_index += 1
        return Moment(self.message_index, self.current_turn(), time)

    def user(self, text: str | None, row: RawLine) -> None:
        """What a user said, or a runner in a user's name."""
        self.new_turn(text or "", row)

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
        self, name: str | None, arguments: str | None, moment: Moment, row: RawLine, speech: Speech | None
    ) -> dict[str, Any]:
        """A tool call. `arguments` is JSON text as written; null where the record has none."""
        shown = name or "(no name)"
        step = self.step("tool_call", shown if arguments is None else f"{shown} {arguments}", name, moment)
        step["arguments"] = arguments
        speech = speech or Speech()
        step["thinking"] = speech.thinking
        step["narration"] = speech.narration
        step["narration_position"] = speech.position if speech.narration is not None else None
        step["raw"] = [*(pointer("narration", one) for one in speech.rows), pointer("call", row)]
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
        known = {raw["offset"] for raw in step["raw"]}
        step["raw"].extend(pointer("result", row) for row in feedback.rows if row.offset not in known)
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
            "input_tokens": None,
            "output_tokens": None,
            "total_tokens": None,
            "cost_usd": None,
            "impossible_usage": 0,
            **span_of(times),
        } | known


def not_blank(text: str | None) -> str | None:
    """The text itself; null where it is absent or blank."""
    return text if text is not None and text.strip() else None
