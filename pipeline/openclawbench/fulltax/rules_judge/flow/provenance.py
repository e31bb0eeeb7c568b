"""Where figures come from.

A source is a user turn or the output of a tool. What the agent wrote is no source, and reading it back makes it none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openclawbench.fulltax.rules_judge.flow.calls import arguments, named_in, paths, written
from openclawbench.fulltax.rules_judge.flow.values import all_numbers, all_readings, codes, figures
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

if TYPE_CHECKING:
    from openclawbench.fulltax.rules_judge.flow.derivation import Derivation, Numbers


@dataclass
class Sources:
    """What user and tools have said so far. Numbers are read when the first figure is asked for: most are never."""

    texts: list[str] = field(default_factory=list)
    own_files: set[str] = field(default_factory=set)  # that the agent wrote
    unread: list[tuple[str, EvidenceStep | None]] = field(default_factory=list)  # text of a user, or a call's output
    numbers: set[float] = field(default_factory=set)
    columns: list[list[float]] = field(default_factory=list)  # numbers of each output that were read last
    totals: "list[Numbers]" = field(default_factory=list)  # what numbers of each output before add up to
    lasts: dict[str, list[float]] = field(default_factory=dict)  # last number of each output, by folder of its file
    derivation: "Derivation | None" = None  # of all numbers; None until one is asked for

    def hear(self, text: str) -> None:
        """A user turn."""
        self.texts.append(text)
        self.unread.append((text, None))

    def see(self, step: EvidenceStep) -> None:
        """The output of a call, but for numbers that its own arguments brought in."""
        if written(step):
            self.own_files |= own_paths(step)
            return
        asked, output = step.action_text or "", step.reflection_text or ""
        if not any(path in asked for path in self.own_files):
            self.texts.append(output)
            self.unread.append((output, step))

    def says(self, text: str) -> bool:
        """True if a text stands in what was said."""
        return any(text in known for known in self.texts)

    def makes(self, numbers: set[float]) -> bool:
        """True if a figure follows from what was said; a code, which means no number, never does."""
        if not numbers:
            return False
        for text, step in self.unread:
            self.read(text, step)
        if self.unread:
            self.derivation = None
            self.unread.clear()
        if numbers & self.numbers:
            return True
        if self.derivation is None:
            from openclawbench.fulltax.rules_judge.flow.derivation import Derivation, totals  # loads numpy

            self.totals += map(totals, self.columns)
            self.columns.clear()
            self.derivation = Derivation(self.numbers, [*self.totals, *map(totals, self.lasts.values())])
        return any(self.derivation.makes(number) for number in numbers)

    def read(self, text: str, step: EvidenceStep | None) -> None:
        """Take in the numbers of a user turn, or of a call's output."""
        if step is None:
            self.numbers |= all_numbers(text)
            return
        brought = all_numbers(step.action_text or "") - self.numbers
        read = all_readings(text)
        self.numbers |= set().union(*read) - brought
        if column := [max(numbers) for numbers in read]:
            self.columns.append(column[:60])
            for folder in {path.rpartition("/")[0] for path in paths(named_in(step))} | {""}:
                self.lasts.setdefault(folder, []).append(column[-1])


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

    A value says something if a call writes it and a later output confirms it, or if it would in its step, beside so
    many other new ones (`is_open`). For others it is not found out whether a source holds them, which takes long.
    """
    sources, heard = Sources(), 0
    turns = sorted(trace.evidence.user_turns, key=lambda turn: turn.user_turn)
    named: set[str] = set()
    for place, step in enumerate(trace.steps):
        while heard < len(turns) and (step.user_turn is None or turns[heard].user_turn <= step.user_turn):
            sources.hear(turns[heard].text)
            heard += 1
        is_reply = step.action_kind == "reply"
        commitment = (step.action_text or "") if is_reply else written(step)
        new_values = {
            text: numbers for text, numbers in committed(commitment) if text not in named and not sources.says(text)
        }
        named |= new_values.keys()
        for text, numbers in new_values.items():
            later = None if is_reply else confirmed(trace.steps[place + 1 :], text, own_paths(step))
            says_something = later is not None or is_open(step, len(new_values))
            if says_something and not sources.makes(numbers):
                yield Unsourced(step, text, later)
        if step.action_kind == "tool_call":
            sources.see(step)


def committed(text: str) -> Iterator[tuple[str, set[float]]]:
    """Figures and codes of a text, with the numbers that they can mean; none for a code."""
    yield from figures(text)
    yield from ((code, set()) for code in codes(text))


def own_paths(step: EvidenceStep) -> frozenset[str]:
    """Paths that a call names in its arguments."""
    return paths(" ".join(str(value) for value in arguments(step).values() if isinstance(value, str)))


def confirmed(later: list[EvidenceStep], text: str, own: frozenset[str]) -> EvidenceStep | None:
    """The first of these steps whose output holds the text, if its call neither names it nor is about `own` files."""
    for step in later:
        asked = step.action_text or ""
        is_echo = text in asked or any(path in asked for path in own)
        if step.action_kind == "tool_call" and text in (step.reflection_text or "") and not is_echo:
            return step
    return None
