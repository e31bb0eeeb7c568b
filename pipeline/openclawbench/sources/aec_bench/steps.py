"""Lines of an aec-bench trajectory -> ReAct steps and user turns. There are no call ids: a step's k-th call has its
k-th result, by tool name and count."""

import json
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openclawbench.sources.aec_bench.records import Entry, arguments_of, result_details, result_text
from openclawbench.sources.base import MalformedSession
from openclawbench.sources.io.content_text import text_or_json
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.io.timestamps import iso_time
from openclawbench.sources.result_pairing import Called, Pairing, clean_name, pair
from openclawbench.sources.step_builder import Feedback, Moment, Speech, StepList, not_blank


@dataclass
class Message:
    """Assistant and call lines of a step that no result stands between: one message of the agent."""

    moment: Moment
    texts: list[RawLine] = field(default_factory=list)
    calls: list[RawLine] = field(default_factory=list)
    texts_before: int = 0  # of `texts`, those before the first call
    first: int = 0  # index of its first line
    last: int = 0  # of its last one

    def speech(self) -> Speech:
        """All its text, for the first call. Blank lines say nothing."""
        before, after = with_content(self.texts[: self.texts_before]), with_content(self.texts[self.texts_before :])
        rows = before + after
        position = "before" if not after else "both" if before else "after"
        return Speech(narration=join_contents(rows), position=position, rows=rows)


@dataclass
class Turn:
    """The lines of one step number."""

    messages: list[Message] = field(default_factory=list)
    results: list[RawLine] = field(default_factory=list)
    result_moments: list[Moment] = field(default_factory=list)
    result_lines: list[int] = field(default_factory=list)  # their indices
    answered: bool = False  # results came after the last message


class TrajectoryBuilder:
    """Takes the lines in order; `list` is complete after finish(). `torn`: the file breaks off in the line after them.
    Then what was last said may be narration of a lost call, and a result that fits no call may be one of several of
    which the others are lost: these lines are counted, and no step is made of them."""

    def __init__(self, steps: StepList, torn: bool = False) -> None:
        self.list = steps
        self.torn = torn
        self.turns: dict[int, Turn] = {}
        self.highest: int | None = None  # number of an open turn
        self.begun = 0  # turns that there have been
        self.spoken = -1  # index of the last line that a user or the agent wrote
        self.line = -1

    def take(self, row: RawLine) -> None:
        """One line, by role; a role never seen before is counted, not dropped."""
        entry: Entry = row.value
        self.line += 1
        if entry.role == "system":
            self.list.counts["system"] += 1
        elif entry.role == "user":
            self.spoken = self.line
            self.list.counts["user_turn"] += 1
            self.list.user(text_or_json(entry.content), row, iso_time(entry.timestamp))
        elif entry.role in ("assistant", "tool_call"):
            self.spoken = self.line
            self.agent_line(row)
        elif entry.role == "tool_result":
            turn = self.turn(step_number(row))
            turn.results.append(row)
            turn.result_lines.append(self.line)
            time = iso_time(entry.timestamp)
            turn.result_moments.append(Moment(self.list.message_index, len(self.list.user_turns) or None, time))
            turn.answered = True
        else:
            self.list.note_role(entry.role)

    def agent_line(self, row: RawLine) -> None:
        """Text or a call. Step numbers that go back begin anew: what was open is closed."""
        number = step_number(row)
        if self.highest is not None and number < self.highest:
            self.close()
        turn = self.turn(number)
        if not turn.messages or turn.answered:
            turn.messages.append(Message(self.list.moment(iso_time(row.value.timestamp)), first=self.line))
            turn.answered = False
        message = turn.messages[-1]
        message.last = self.line
        if row.value.role == "tool_call":
            message.calls.append(row)
        else:
            message.texts.append(row)
            message.texts_before += not message.calls

    def turn(self, number: int) -> Turn:
        """The turn of a step number; a new one where none is open."""
        if number not in self.turns:
            self.turns[number] = Turn()
            self.highest = number if self.highest is None else max(number, self.highest)
            self.begun += 1
        return self.turns[number]

    def finish(self) -> None:
        """Close what is open."""
        last = list(self.turns)[-1:] if self.torn else []
        self.close(last)
        self.list.finish()

    def close(self, unfinished: Sequence[int] = ()) -> None:
        """Steps of the open turns, in the order in which they began. `unfinished`: numbers of those that may go on in
        what is lost."""
        for number, turn in self.turns.items():
            self.turn_steps(turn, number in unfinished)
        self.turns, self.highest = {}, None

    def turn_steps(self, turn: Turn, unfinished: bool) -> None:
        """Steps of one turn: its messages, calls paired with results; an orphan result where it stands among them."""
        calls = [row for message in turn.messages for row in message.calls]
        pairing = pair_by_order(calls, turn.results)
        dropped = pairing.orphans if unfinished else []
        self.list.counts["unfinished_result"] += len(dropped)
        self.list.counts["step_result"] += len(turn.results) - len(dropped)
        orphans = deque(() if dropped else sorted(pairing.orphans))
        index = 0
        for message in turn.messages:
            while orphans and turn.result_lines[orphans[0]] < message.first:
                self.orphan_step(turn, orphans.popleft())
            message.moment.followed = self.spoken > message.last
            if unfinished and not message.calls and not turn.answered and self.spoken == message.last:
                self.list.counts["unfinished_message"] += len(message.texts)
            elif not message.calls:
                self.reply_or_noise(message)
            for place, row in enumerate(message.calls):
                result = pairing.result_of.get(index)
                feedback = None if result is None else feedback_of(turn.results[result])
                self.call_step(row, message, place == 0, feedback, index in pairing.ambiguous)
                index += 1
        for orphan in orphans:
            self.orphan_step(turn, orphan)

    def orphan_step(self, turn: Turn, place: int) -> None:
        """A result that fits no call."""
        row = turn.results[place]
        before = len(self.list.steps)
        self.list.orphan(name_of(row), feedback_of(row), turn.result_moments[place])
        for step in self.list.steps[before:]:
            step["metadata"] = metadata_of([row])

    def call_step(
        self, row: RawLine, message: Message, first: bool, feedback: Feedback | None, ambiguous: bool
    ) -> None:
        """One call; the first of a message has its narration."""
        speech = message.speech() if first else None
        if speech:
            self.list.counts["step_narration"] += len(speech.rows)
            self.list.counts["runner:no_step"] += len(message.texts) - len(speech.rows)
        self.list.counts["step_call"] += 1
        step = self.list.call(name_of(row), arguments_of(row.value), message.moment, row, speech)
        step["timestamp"] = iso_time(row.value.timestamp) or message.moment.time
        step["order_ambiguous"] = ambiguous
        if feedback is not None:
            self.list.answer(step, feedback)
        step["metadata"] = metadata_of([*(speech.rows if speech else ()), row, *(feedback.rows if feedback else ())])

    def reply_or_noise(self, message: Message) -> None:
        """A reply where there is text."""
        speech = message.speech()
        self.list.counts["step_reply"] += len(speech.rows)
        self.list.counts["runner:no_step"] += len(message.texts) - len(speech.rows)
        if speech.narration is None:
            self.list.noise["empty_replies"] += 1
        else:
            step = self.list.reply(speech.narration, message.moment, speech.rows)
            step["metadata"] = metadata_of(speech.rows)


def pair_by_order(calls: list[RawLine], results: list[RawLine]) -> Pairing:
    """k-th call of a tool with its k-th result, only where their counts are equal; nothing is guessed.

    Results that name no tool pair by place alone, if there are as many as calls. A tool that is called twice is
    ambiguous: the format has no ids that could say which result is whose.
    """
    names = [name_of(row) for row in calls]
    unnamed = all(name_of(row) is None for row in results) and len(results) == len(calls)
    pairing = pair(
        [Called(None, None if unnamed else name) for name in names], [Called(None, name_of(row)) for row in results]
    )
    repeated = {name for name, count in Counter(names).items() if count > 1}
    pairing.ambiguous |= {index for index, name in enumerate(names) if name in repeated}
    return pairing


def step_number(row: RawLine) -> int:
    """The step of an agent or tool line. Raises MalformedSession if it has none: its place would be a guess."""
    step = row.value.step
    if isinstance(step, int) and not isinstance(step, bool):
        return step
    message = f"line {row.line}: a {row.value.role} record without a step number"
    raise MalformedSession(Fault("unexpected_shape", row.line, message))


def metadata_of(rows: list[RawLine]) -> str | None:
    """What the lines of a step say of themselves, by their role; of several of a role a list. None if they do not."""
    by_role: dict[str, list[Any]] = {}
    for row in rows:
        if row.value.metadata not in (None, {}):
            by_role.setdefault(row.value.role, []).append(row.value.metadata)
    metadata = {role: values[0] if len(values) == 1 else values for role, values in by_role.items()}
    return json.dumps(metadata, ensure_ascii=False) if metadata else None


def name_of(row: RawLine) -> str | None:
    """Tool name of a call or a result."""
    return clean_name(text_or_json(row.value.tool_name))


def feedback_of(row: RawLine) -> Feedback:
    """What a result line says."""
    return Feedback(result_text(row.value), [row], result_details(row.value))


def with_content(rows: list[RawLine]) -> list[RawLine]:
    """Lines whose content is not blank."""
    return [row for row in rows if not_blank(text_or_json(row.value.content))]


def join_contents(rows: list[RawLine]) -> str | None:
    """Contents of lines in order, a newline between, or None."""
    return "\n".join(text_or_json(row.value.content) or "" for row in rows) if rows else None
