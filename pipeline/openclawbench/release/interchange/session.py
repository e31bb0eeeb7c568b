"""A labelled trajectory for exports: its user turns and messages in order, with its label."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec

Row = dict[str, Any]
NO_NAME = "(no name)"  # what stands for an action that is a call without a name and arguments
OPENCLAW = "openclaw"  # the program, whatever form its sessions have
NO_LABEL = ("steps", "user_turns", "escaped_fields", "event_type_counts")  # of a merged record: texts, and their counts
DESCRIBED = ("step_id", "event_type", "tool_name", "tool_name_raw", "tool_status", "side_effect", "auto_flags")


@dataclass(frozen=True)
class Labelled:
    """One trajectory: rows of Trajectory, Step (by step_id), UserTurn (by number), and its merged record."""

    trajectory: Row
    steps: list[Row]
    user_turns: list[Row]
    master: Row

    @property
    def rows(self) -> list[Row]:
        """Every row, in an order that `with_rows` reads."""
        return [self.trajectory, *self.steps, *self.user_turns, self.master]

    def with_rows(self, rows: Iterator[Row]) -> "Labelled":
        """The same trajectory with its share of other rows, which come in the order of `rows`."""
        trajectory, steps = next(rows), [next(rows) for _ in self.steps]
        return Labelled(trajectory, steps, [next(rows) for _ in self.user_turns], next(rows))

    @property
    def agent(self) -> str:
        """Name of the program that ran the agent; the format, where the source names none."""
        row = self.trajectory
        name: str = row["harness"]["name"] or row["source_format"]
        return OPENCLAW if name.startswith(OPENCLAW) else name

    @cached_property
    def call_ids(self) -> dict[int, str]:
        """Id of each call by its step_id: the source's, unless it has none, or the same one for several calls."""
        ids = Counter(step["call_id"] for step in self.steps)
        return {
            step["step_id"]: step["call_id"]
            if step["call_id"] and ids[step["call_id"]] == 1
            else f"call-{step['step_id']}"
            for step in self.steps
        }

    @property
    def label(self) -> Row:
        """The merged record without its texts: label, context, provenance."""
        return {name: value for name, value in self.master.items() if name not in NO_LABEL}

    def described(self, steps: list[Row]) -> list[Row]:
        """Descriptors of these steps, keyed by the step_id that evidence, spans and onsets name."""
        descriptors = {step["step_id"]: step for step in self.master["steps"]}
        return [{name: descriptors[step["step_id"]][name] for name in DESCRIBED} for step in steps]

    def in_order(self) -> Iterator[Row | list[Row]]:
        """User turns, and the steps of each agent message, as they came. An orphan is a message of its own."""
        waiting = list(self.user_turns)
        for _, group in groupby(self.steps, key=lambda step: step["message_index"]):
            steps = list(group)
            while waiting and waiting[0]["user_turn"] <= (steps[0]["user_turn"] or 0):
                yield waiting.pop(0)
            yield steps
        yield from waiting


def is_in_words(step: Row) -> bool:
    """True for an action of an agent without tool calls: it has its words, and neither a tool nor arguments."""
    words = step["action_text"] not in (None, NO_NAME)
    return step["action_kind"] == "tool_call" and step["tool_name_raw"] is None and step["arguments"] is None and words


def arguments_of(step: Row) -> msgspec.Raw:
    """A call's arguments as written; `{}` where they are unknown, a JSON string where they are not JSON. An action that
    stands in words is the argument `action`."""
    text = step["arguments"]
    if text is None:
        return msgspec.Raw(msgspec.json.encode({"action": step["action_text"]} if is_in_words(step) else {}))
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return msgspec.Raw(msgspec.json.encode(text))
    return msgspec.Raw(text.encode())


def as_object(value: msgspec.Raw) -> msgspec.Raw:
    """The arguments if they are an object, else `{"arguments": …}`, because most formats require an object."""
    data = bytes(value)
    return value if data.lstrip().startswith(b"{") else msgspec.Raw(b'{"arguments":' + data + b"}")


def details_of(step: Row) -> dict[str, msgspec.Raw]:
    """The details of a result by name; empty if they are not an object."""
    try:
        return msgspec.json.decode(step["result_details"] or "{}", type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return {}


def result_text(step: Row, synthetic: str) -> str | None:
    """The text of a result; for a result that the runner made up, the words that say so."""
    return synthetic if step["result_synthetic"] else step["reflection_text"]


def without_nulls(row: Row) -> Row:
    """The fields that are not null."""
    return {name: value for name, value in row.items() if value is not None}


# Characters at which some programs end a line though JSON does not: `datasets` splits a session there.
LINE_ENDS = {"\u0085": b"\\u0085", "\u2028": b"\\u2028", "\u2029": b"\\u2029"}


def encode_json(value: Any) -> bytes:
    """A value as JSON on one line, for every program that reads lines."""
    data = msgspec.json.encode(value)
    for character, escape in LINE_ENDS.items():
        data = data.replace(character.encode(), escape)
    return data


def definitions_of(harness: Row) -> list[Any] | None:
    """Definitions of the agent's tools, if the source has a list of them."""
    definitions = msgspec.json.decode(harness["tool_definitions"] or "null")
    return definitions if isinstance(definitions, list) and definitions else None
