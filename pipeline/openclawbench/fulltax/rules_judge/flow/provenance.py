"""Where figures come from.

A source is a user turn or the output of a tool. What the agent wrote is no source, and reading it back makes it none.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from operator import contains
from typing import TYPE_CHECKING

from openclawbench.fulltax.rules_judge.flow.calls import arguments, named_in, paths, written
from openclawbench.fulltax.rules_judge.flow.values import (
    ANY_NUMBER,
    all_numbers,
    all_readings,
    codes,
    commits,
    decimals_of,
    figure_texts,
    readings,
)
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

if TYPE_CHECKING:
    from openclawbench.fulltax.rules_judge.flow.derivation import Derivation, Numbers

SENTENCE = re.compile(r"(?<=[.!?])\s|[。！？\n]")
EQUALS = re.compile(r"=\s*[^\w\s]?\s*\Z")
LEAST_SHOWN = 3  # numbers of a sentence that can show a reckoning: two and what follows
MOST_NUMBERS = 40  # of a sentence that are looked at
MOST_RESULTS = 8  # of sentences before that are looked at
SMALL = 12  # counts that need no source: of people, months, legs


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

    def holds(self, figure: str) -> bool:
        """True if a figure is known, is a small number, or follows from what is known."""
        return self.knows(figure) or self.derives(readings(figure), decimals_of(figure))

    def knows(self, figure: str) -> bool:
        """True if a figure is known, or is a small number."""
        numbers = readings(figure)
        return not self.numbers.isdisjoint(numbers) or any(
            number.is_integer() and number <= SMALL for number in numbers
        )

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


class Shown:
    """The arithmetic that a text shows: figures that follow from the numbers beside them."""

    def __init__(self, text: str, sources: Sources, wanted: list[str]) -> None:
        self.sources = sources
        self.figures: set[str] = set()
        self.results: list[float] = []  # figures, and what stands behind "=", of the sentences so far
        for sentence in SENTENCE.split(text):
            numbers = [(match[0], match.start()) for match in ANY_NUMBER.finditer(sentence)][:MOST_NUMBERS]
            if any(figure in wanted for figure, _ in numbers):
                self.reckon(sentence, numbers)
            else:
                known = [figure for figure, _ in numbers if commits(figure) and sources.knows(figure)]
                self.results += (max(readings(figure)) for figure in known)

    def reckon(self, sentence: str, numbers: list[tuple[str, int]]) -> None:
        """Find what follows from the other numbers of a sentence, or from the results before it."""
        if len(numbers) < LEAST_SHOWN and len(self.results) < LEAST_SHOWN - 1:
            return
        from openclawbench.fulltax.rules_judge.flow.derivation import reckoned  # loads numpy

        held = {figure for figure, _ in numbers if readings(figure) and self.sources.holds(figure)}
        terms = [max(readings(figure)) for figure, _ in numbers if figure in held]
        for figure, start in numbers:
            results = self.results[-MOST_RESULTS:]
            if figure not in held:
                following = (number for number in readings(figure) if reckoned(number, [*terms, *results], results))
                if (number := next(following, None)) is None:
                    continue
                self.figures.add(figure)
                terms.append(number)
            if commits(figure) or EQUALS.search(sentence[:start]):
                self.results.append(max(readings(figure)))


@dataclass(frozen=True)
class Unsourced:
    """A figure or code that a step commits to and that no source holds."""

    step: EvidenceStep
    text: str
    later: EvidenceStep | None  # the step whose output holds it afterwards, of what a call wrote


def unsourced_values(
    trace: Trace, is_open: Callable[[EvidenceStep, int], bool] = lambda step, count: True
) -> Iterator[Unsourced]:
    """Every first commitment, in a reply or in what a call writes, to a value that no source holds by then.

    A value matters if a call writes it and a later output confirms it, or if `is_open` says so of its step and the
    number of its new values. Other values are skipped, because looking for their sources takes long.
    """
    sources, added = Sources(), 0
    turns = sorted(trace.evidence.user_turns, key=lambda turn: turn.user_turn)
    named: set[str] = set()
    for place, step in enumerate(trace.steps):
        while added < len(turns) and (step.user_turn is None or turns[added].user_turn <= step.user_turn):
            sources.new.append(turns[added].text)
            added += 1
        is_reply = step.action_kind == "reply"
        commitment = (step.action_text or "") if is_reply else written(step)
        values = committed(commitment) if commitment else []
        new_values = [text for text in values if text not in named and not sources.contains(text)]
        shown: Shown | None = None
        named.update(new_values)
        if step.action_kind == "tool_call":
            sources.new.append(step)
        if not new_values:
            continue
        confirming = [] if is_reply else confirming_calls(trace.steps[place + 1 :], step, new_values)
        for text in new_values:
            later = next((other for other in confirming if confirms(other, text)), None)
            matters = later is not None or is_open(step, len(new_values))
            if not matters or sources.makes(text):
                continue
            if later is None:
                shown = shown or Shown(commitment, sources, new_values)
                if text in shown.figures:
                    continue
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
