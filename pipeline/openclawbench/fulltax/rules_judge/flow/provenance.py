"""Where figures come from.

A source is a user turn or the output of a tool. What the agent wrote is no source, and reading it back makes it none.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from operator import contains
from typing import TYPE_CHECKING

from openclawbench.fulltax.rules_judge.flow.calls import arguments, named_in, paths, written
from openclawbench.fulltax.rules_judge.flow.values import (
    all_numbers,
    all_readings,
    codes,
    decimals_of,
    figure_texts,
    readings,
)
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

if TYPE_CHECKING:
    from openclawbench.fulltax.rules_judge.flow.derivation import Derivation, Numbers


@dataclass
class Sources:
    """User turns and tool outputs so far. A source is added when a text is looked up, and its numbers are read when a
    figure is: most are never read."""

    new: list[str | EvidenceStep] = field(default_factory=list)  # user turns and calls since the last look-up of a text
    texts: list[str] = field(default_factory=list)
    own_files: set[str] = field(default_factory=set)  # that the agent wrote
    pending: deque[tuple[str, EvidenceStep | None]] = field(default_factory=deque)  # sources with unread numbers
    numbers: set[float] = field(default_factory=set)
    columns: list[list[float]] = field(default_factory=list)  # numbers of each output that were read last
    totals: "list[Numbers]" = field(default_factory=list)  # what numbers of each output before add up to
    lasts: dict[str, list[float]] = field(default_factory=dict)  # last number of each output, by folder of its file
    derivation: "Derivation | None" = None  # of all numbers; None until one is asked for

    def add_user_turn(self, text: str) -> None:
        """Take in a user turn."""
        self.texts.append(text)
        self.pending.append((text, None))

    def add_call(self, step: EvidenceStep) -> None:
        """Take in the output of a call, but for numbers that its own arguments brought in."""
        if written(step):
            self.own_files |= own_paths(step)
            return
        asked, output = step.action_text or "", step.reflection_text or ""
        if not holds(asked, self.own_files):
            self.texts.append(output)
            self.pending.append((output, step))

    def contains(self, text: str) -> bool:
        """True if a source so far contains a text."""
        for source in self.new:
            if isinstance(source, str):
                self.add_user_turn(source)
            else:
                self.add_call(source)
        self.new.clear()
        return any(map(contains, self.texts, repeat(text)))

    def makes(self, figure: str) -> bool:
        """True if a figure follows from the sources so far; a code, which means no number, never does."""
        numbers = readings(figure)
        if not numbers:
            return False
        while self.numbers.isdisjoint(numbers):
            if not self.pending:
                return self.derives(numbers, decimals_of(figure))
            self.read(*self.pending.popleft())
            self.derivation = None
        return True

    def derives(self, numbers: Iterable[float], decimals: int = 0) -> bool:
        """True if one of the numbers is made of known ones. `decimals`: the digits behind its point."""
        if self.derivation is None:
            from openclawbench.fulltax.rules_judge.flow.derivation import Derivation  # loads numpy

            self.derivation = Derivation(self.numbers, self.sums())
        return any(self.derivation.makes(number, decimals) for number in numbers)

    def sums(self) -> "list[Numbers]":
        """What columns of numbers add up to."""
        from openclawbench.fulltax.rules_judge.flow.derivation import totals

        self.totals += map(totals, self.columns)
        self.columns.clear()
        return [*self.totals, *map(totals, self.lasts.values())]

    def read(self, text: str, step: EvidenceStep | None) -> None:
        """Take in the numbers of a user turn, or of a call's output."""
        if step is None:
            self.numbers |= all_numbers(text)
            return
        read, column = all_readings(text)
        if not column:
            return
        brought = all_numbers(step.action_text or "") - self.numbers
        self.numbers |= read - brought
        self.columns.append(column[:60])
        for folder in {path.rpartition("/")[0] for path in paths(named_in(step))} | {""}:
            self.lasts.setdefault(folder, []).append(column[-1])


@dataclass(frozen=True)
class Unsourced:
    """A figure or code that a step commits to and that no source holds."""

    step: EvidenceStep
    text: str
    later: EvidenceStep | None  # the step whose output holds it afterwards, of what a call wrote


def unsourced_values(trace: Trace, is_open: Callable[[EvidenceStep], bool]) -> Iterator[Unsourced]:
    """Every first commitment, in a reply or in what a call writes, to a value that no source holds by then.

    A value matters if a call writes it and a later output confirms it, or if `is_open` says so of its step. Other
    values are skipped, because looking for their sources takes long.
    """
    sources, added = Sources(), 0
    turns = sorted(trace.evidence.user_turns, key=lambda turn: turn.user_turn)
    named: set[str] = set()
    passed: list[str] = []  # commitments whose values are to be named yet
    for place, step in enumerate(trace.steps):
        while added < len(turns) and (step.user_turn is None or turns[added].user_turn <= step.user_turn):
            sources.new.append(turns[added].text)
            added += 1
        is_reply = step.action_kind == "reply"
        commitment = (step.action_text or "") if is_reply else written(step)
        new_values: list[str] = []
        if commitment and (not is_reply or is_open(step)):
            named.update(text for earlier in passed for text in committed(earlier))
            passed.clear()
            new_values = [text for text in committed(commitment) if text not in named and not sources.contains(text)]
        passed.append(commitment)
        if not is_reply:
            sources.new.append(step)
        confirming = [] if is_reply else confirming_calls(trace.steps[place + 1 :], step, new_values)
        for text in new_values:
            later = next((other for other in confirming if confirms(other, text)), None)
            matters = later is not None or is_open(step)
            if matters and not sources.makes(text):
                yield Unsourced(step, text, later)


def committed(text: str) -> list[str]:
    """Figures and codes of a text, each once."""
    return list(dict.fromkeys([*figure_texts(text), *codes(text)]))


def own_paths(step: EvidenceStep) -> frozenset[str]:
    """Paths that a call names in its arguments."""
    return paths(" ".join(str(value) for value in arguments(step).values() if isinstance(value, str)))


def confirming_calls(later: list[EvidenceStep], step: EvidenceStep, texts: list[str]) -> list[EvidenceStep]:
    """Those of these calls that are not about the files of a step, and whose output holds one of the texts."""
    calls = [other for other in later if other.action_kind == "tool_call" and holds(other.reflection_text, texts)]
    own = own_paths(step) if calls else frozenset()
    return [call for call in calls if not holds(call.action_text, own)]


def holds(text: str | None, parts: Iterable[str]) -> bool:
    """True if one of the parts stands in a text."""
    return any(map(contains, repeat(text or ""), parts))


def confirms(step: EvidenceStep, text: str) -> bool:
    """True if the output of a call holds a text that the call does not name."""
    return text in (step.reflection_text or "") and text not in (step.action_text or "")
