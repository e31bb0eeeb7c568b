"""Rows of steps and user turns in the making: what the builders of every source share."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from openclawbench.records.session import Step
from openclawbench.rules.normalize import NormalizeRules
from openclawbench.sources.io.bounded_counter import NamedCounts
from openclawbench.sources.io.jsonl import RawLine
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
FLAGS = ("result_synthetic", "has_result", "followed", "partial", "orphan", "order_ambiguous")
BLANK_STEP: dict[str, Any] = {
    name: False if name in FLAGS else None for name in Step.model_fields if name not in Keyed.model_fields
}


class StepRows:
    """Steps and user turns in order. `counts` says where records went, `noise` what was no step."""

    def __init__(self, rules: NormalizeRules) -> None:
        self.rules = rules
        self.steps: list[dict[str, Any]] = []
        self.user_turns: list[dict[str, Any]] = []
        self.counts = NamedCounts(rules.counted_names)
        self.noise: Counter[str] = Counter()
        self.run_errors: set[int | None] = set()  # user turns whose run was aborted, timed out or failed
        self.unknown_blocks = NamedCounts(rules.counted_names)  # by type: content blocks that are none that is read
        self.escaped_fields: list[str] = []
        self.escaped_in_steps: set[str] = set()  # those of them
        self.message_index = 0
        self.open_turn = False  # nothing that answers the latest user turn has come yet

    def current_turn(self) -> int | None:
        """Number of the latest user turn; null before the first."""
        return len(self.user_turns) or None

    def unknown_block(self, kind: str | None) -> None:
        """Count a content block of an unknown type."""
        self.unknown_blocks.note("", self.rules.counted_names.untyped if kind is None else kind)

    def new_turn(self, raw_text: str, row: RawLine) -> None:
        """What a user said, or a runner in a user's name. A turn without a person's words has an empty `text`."""
        self.open_turn = True
        kinds = self.rules.user_kinds_of(raw_text)
        number = len(self.user_turns) + 1
        self.user_turns.append(
            {
                "user_turn": number,
                "kinds": kinds,
                "text": self.rules.own_words(raw_text) if self.rules.person_speaks(kinds) else "",
                "raw_text": raw_text,
                "before_step": None,
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
        """A step with every column of Step but the key; it stands in `steps` already."""
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
        """A result without a call. Which message called it, and together with what, is unknown: it has one of its own,
        so that nothing that another message said is taken for what was said beside it."""
        self.message_index += 1
        self.open_turn &= user_turn != self.current_turn()
        step = self.new_step("tool_call", None, name, user_turn, time, followed=True)
        step["orphan"] = True
        return step

    def add_result(self, step: dict[str, Any], text: str | None, is_error: bool | None, details: str | None) -> None:
        """The feedback of a call; what the runner made up because the real one was lost is never feedback."""
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
            here = first.get(turn["user_turn"])
            after = here if after is None else after if here is None else min(here, after)
            turn["before_step"] = after


def written_out(texts: Mapping[str, str | None]) -> list[str]:
    """Names of the texts in which a lone surrogate or an invalid byte was written out. Only for what is of a record
    where something was: a text may have such characters by itself."""
    return [name for name, text in texts.items() if text and ESCAPED_TEXT.search(text)]


def how_it_ended(rows: StepRows) -> str:
    """completed | unanswered | dangling_call | no_reply: by the last user turn and the last step.

    `unanswered`: nothing at all came after the last turn. A result that the runner made up is none.
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
    """Where a raw record of a step is."""
    return {"part": part, "line": row.line, "offset": row.offset, "length": row.length}
