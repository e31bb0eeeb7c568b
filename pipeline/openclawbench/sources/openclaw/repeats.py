"""What a session file says twice: a message once more behind itself, a turn delivered or replayed again, an action that
a rewrite of the file left on a branch. The identity of a model's message is its `responseId`, that of an action its
`toolCallId`; equal words alone make nothing the same."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.bounded_counter import NamedCounts
from openclawbench.sources.io.jsonl import RawLine
from openclawbench.sources.openclaw.dialect import CALL_BLOCKS
from openclawbench.sources.openclaw.records import Block, Message, blocks_of
from openclawbench.sources.openclaw.texts import result_text

CALLS = ("toolCall", *CALL_BLOCKS)
FIGURES = ("input", "output", "cacheRead", "cacheWrite", "totalTokens")  # of a message's usage
Used = tuple[object, ...]


class Speech(NamedTuple):
    """What a model's message says and asks for, without its thoughts. Two with equal digests say the same."""

    digest: bytes
    calls: dict[str, bytes]  # digest of name and arguments by the call's id
    response: str | None
    used: Used | None  # its figures of usage; None where all of them are zero or missing
    stop: str | None


class Known(NamedTuple):
    """A message that was said before, with the user's words right before it and the time of its record."""

    speech: Speech
    words: tuple[str, ...]
    time: object


Action = tuple[str, bytes]  # id of a call, and the digest of what it calls: some providers use an id again


@dataclass
class LeftActions:
    """Actions on branches that the session left, which may be on the active one too: a rewrite of a record appends all
    that follows it once more."""

    responses: dict[Action, str | None] = field(default_factory=dict)  # id of the message of each
    results: dict[Action, RawLine] = field(default_factory=dict)  # the fullest of each
    open: dict[str, bytes] = field(default_factory=dict)  # the latest call of each id
    loose: dict[str, list[RawLine]] = field(default_factory=dict)  # results whose call is before the branch, by its id

    def add(self, row: RawLine, message: Message, rules: NormalizeRules) -> None:
        """Note a message of a branch that was left."""
        name = message.toolCallId
        if message.role == "assistant" and (speech := speech_in(message)):
            self.open |= speech.calls
            self.responses |= dict.fromkeys(speech.calls.items(), speech.response)
        elif message.role == "toolResult" and name in self.open:
            action = name, self.open[name]
            former = self.results.get(action)
            if former is None or is_fuller(message, former.value.message, rules):
                self.results[action] = row
        elif message.role == "toolResult" and name is not None:
            self.loose.setdefault(name, []).append(row)

    def holds(self, action: Action, response: str | None) -> bool:
        """True for an action that is one of these, if its message has this id."""
        left = self.responses.get(action)
        return action in self.responses and (response is None or left in (None, response))

    def result_of(self, action: Action, line: int) -> RawLine | None:
        """The result of an action of the active branch, whose call stands in this line, off that branch."""
        behind = (row for row in self.loose.get(action[0], ()) if row.line > line)
        return self.results.get(action) if action in self.responses else next(behind, None)


class Repeats:
    """Passes on the records of the active branch, without those that say again what was said, and with the fullest
    result of each action. `left`: the messages of branches that the session left."""

    def __init__(self, rules: NormalizeRules, counts: NamedCounts, left: Iterable[RawLine] = ()) -> None:
        self.rules, self.counts = rules, counts
        self.left = LeftActions()
        for row in left:
            if row.value.type == "message" and row.value.message is not None:
                self.left.add(row, row.value.message, rules)
        self.on_branch: set[Action] = set()  # those among the actions left that are on the active branch
        self.others: dict[str, RawLine] = {}  # results off the branch of its latest calls, by the call's id
        self.shown: set[int] = set()  # lines of results off the branch that belong to calls on it
        self.seen: dict[tuple[str | None, bytes], Known] = {}
        self.last: Speech | None = None  # the message right before, with nothing but metadata since
        self.held: list[RawLine] = []  # a user's turn and what follows, until it is known whether it was replayed
        self.words: list[str] = []  # of the user's turns among these
        self.answered: set[str] = set()
        self.replayed: set[str] | None = None  # ids of the calls of the message that was just replayed
        self.waiting: dict[str, RawLine] = {}  # results off the branch of calls that have none on it so far

    def once(self, rows: Iterable[RawLine]) -> Iterator[RawLine]:
        """The records, each said once."""
        for row in rows:
            message = row.value.message if row.value.type == "message" else None
            if message is None or message.role not in ("user", "assistant", "toolResult"):
                yield from self.aside(row)
            elif message.role == "user":
                self.held.append(row)
                self.words.append(result_text(message) or "")
            elif message.role == "toolResult":
                yield from self.result(row, message)
            elif (message.model or "") in self.rules.injected_models:
                yield from self.aside(row)
            else:
                yield from self.say(row, message)
        yield from self.late_results()
        yield from self.release()

    def aside(self, row: RawLine) -> Iterator[RawLine]:
        """A record that no model and no user wrote: behind a user's turn it waits with that."""
        if self.words:
            self.held.append(row)
        else:
            yield row

    def release(self) -> Iterator[RawLine]:
        """What was held."""
        held, self.held, self.words = self.held, [], []
        if held:
            yield from self.late_results()
        yield from held

    def late_results(self) -> Iterator[RawLine]:
        """The results that a rewrite left on the other branch."""
        for row in self.waiting.values():
            self.counts["off_branch"] -= 1
            yield row
        self.waiting = {}

    def result(self, row: RawLine, message: Message) -> Iterator[RawLine]:
        """A tool's result: the fullest of those that the file has of it."""
        name = message.toolCallId
        self.last = None
        if name is not None and self.replayed is not None and name in self.replayed and name in self.answered:
            self.counts["repeated_record"] += 1
            return
        held, self.held, self.words = self.held, [], []
        yield from held
        if name is not None:
            self.answered.add(name)
            self.waiting.pop(name, None)
            other = self.others.get(name)
            if other is not None and is_fuller(other.value.message, message, self.rules):
                row = other
        yield row

    def say(self, row: RawLine, message: Message) -> Iterator[RawLine]:
        """A model's message."""
        speech = speech_in(message)
        if speech is None:
            self.last = None
            yield from self.late_results()
            yield from self.release()
            yield row
            return
        is_twin = not self.words and self.last is not None and are_twins(self.last, speech)
        if is_twin or self.is_replayed(speech, row.value.timestamp):
            self.counts["repeated_record"] += 1 + len(self.words)
            if not is_twin:
                self.replayed = set(speech.calls)
            held, self.held, self.words, self.last = self.held, [], [], speech
            yield from (kept for kept in held if not is_user(kept))
            return
        self.seen[speech.response, speech.digest] = Known(speech, tuple(self.words), row.value.timestamp)
        self.last, self.replayed = speech, None
        yield from self.late_results()
        yield from self.release()
        yield row
        for action in speech.calls.items():
            self.others.pop(action[0], None)
            if self.left.holds(action, speech.response):
                self.on_branch.add(action)
            elif action in self.left.responses:
                continue
            if (other := self.left.result_of(action, row.line)) is not None:
                self.others[action[0]] = self.waiting[action[0]] = other
                self.shown.update(left.line for left in self.left.loose.get(action[0], ()) if left.line > row.line)

    def is_replayed(self, speech: Speech, time: object) -> bool:
        """True for a message that was said before, in answer to the same words: its ids, or its record's time, and its
        usage are those of then."""
        known = self.seen.get((speech.response, speech.digest))
        if known is None or (known.speech.used, known.speech.stop) != (speech.used, speech.stop):
            return False
        is_same = bool(speech.response or speech.calls or self.replayed is not None or (time and known.time == time))
        if not is_same:
            return False
        if self.words:
            return tuple(map(self.rules.turns.own_words, self.words)) == tuple(
                map(self.rules.turns.own_words, known.words)
            )
        return self.replayed is not None or speech.used is not None

    def without_known(self, rows: Iterable[RawLine], copies: set[int]) -> Iterator[RawLine]:
        """Messages of branches that were left, without the actions that are on the active branch, each once. `copies`:
        lines of records that stand on that branch word for word."""
        passed_on: set[Action] = set()
        current: dict[str, Action | None] = {}  # the latest call of each id; None where it was passed on before
        for row in rows:
            message = row.value.message if row.value.type == "message" else None
            speech = speech_in(message) if message is not None and message.role == "assistant" else None
            if message is not None and speech is not None:
                known = {
                    action[0] for action in speech.calls.items() if action in passed_on or action in self.on_branch
                }
                current |= {action[0]: None if action[0] in known else action for action in speech.calls.items()}
                if row.line in copies or (known and known == speech.calls.keys()):
                    continue
                yield without_calls(row, message, known) if known else row
                continue
            name = message.toolCallId if message is not None and message.role == "toolResult" else None
            if name is not None and name in current:
                action = current[name]
                if action is None:
                    continue
                passed_on.add(action)
                yield self.left.results[action]
            elif row.line not in self.shown and row.line not in copies:
                yield row


def may_repeat(rows: Iterable[RawLine]) -> bool:
    """True if two messages of a model have the same usage, or the same ids where they have none: without that none is a
    repeat. In most sessions it is so: what a model reads grows from message to message."""
    seen: set[object] = set()
    for row in rows:
        message = row.value.message
        if message is None or message.role != "assistant" or not message.content:
            continue
        usage = message.usage or {}
        sign: tuple[object, ...] = usage.get("input"), usage.get("output"), usage.get("totalTokens")
        if not any(sign):
            ids = [block.id for block in blocks_of(message) if is_call(block)]
            sign = (message.responseId, *ids) if ids or message.responseId else (row.value.timestamp,)
        try:
            if sign in seen:
                return True
            seen.add(sign)
        except TypeError:  # a figure that is a list
            return True
    return False


def without_calls(row: RawLine, message: Message, names: set[str]) -> RawLine:
    """The record of a message without the calls of these ids."""
    content = [block for block in blocks_of(message) if not (is_call(block) and block.id in names)]
    value = msgspec.structs.replace(row.value, message=msgspec.structs.replace(message, content=content))
    return msgspec.structs.replace(row, value=value)


def speech_in(message: Message) -> Speech | None:
    """What a model's message says; None where it neither says nor calls anything."""
    digest = blake2b(digest_size=16)
    calls: dict[str, bytes] = {}
    is_empty = True
    for block in blocks_of(message):
        if block.type == "text" and block.text:
            is_empty = False
            digest.update(b"\0text\0" + block.text.strip().encode("utf-8", "surrogatepass"))
        elif is_call(block):
            is_empty = False
            called = f"{block.name}\0".encode("utf-8", "surrogatepass") + (bytes(block.arguments) or bytes(block.input))
            digest.update(f"\0call\0{block.id}\0".encode("utf-8", "surrogatepass") + called)
            if block.id:
                calls[block.id] = blake2b(called, digest_size=16).digest()
    if is_empty:
        return None
    figures = tuple((message.usage or {}).get(name) for name in FIGURES)
    used = figures if any(figures) else None
    response = message.responseId if isinstance(message.responseId, str) else None
    return Speech(digest.digest(), calls, response or None, used, message.stopReason)


def are_twins(first: Speech, second: Speech) -> bool:
    """True for a message that stands twice, one record behind the other: the same words at the same usage, and not the
    answers to two requests."""
    is_one = first.response is None or second.response is None or first.response == second.response
    same_ids = first.response is not None and first.response == second.response
    used = first.used == second.used and (first.used is not None or same_ids)
    return is_one and used and (first.digest, first.stop) == (second.digest, second.stop)


def is_call(block: Block) -> bool:
    """True for a block that calls a tool."""
    return block.type in CALLS


def is_user(row: RawLine) -> bool:
    """True for the record of a user's turn."""
    return row.value.message is not None and row.value.message.role == "user"


def is_fuller(message: Message, other: Message, rules: NormalizeRules) -> bool:
    """True for a result that holds more of what the tool returned than another of the same call: one that was not cut
    or cleared, else the longer one."""
    texts = [result_text(result) or "" for result in (message, other)]
    first_cut, other_cut = (rules.is_cut(text) for text in texts)
    return other_cut if first_cut != other_cut else len(texts[0]) > len(texts[1])
