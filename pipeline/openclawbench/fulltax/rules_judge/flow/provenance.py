"""Where figures come from.

A source is a user turn or the output of a tool. What the agent wrote is no source, and reading it back makes it none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from openclawbench.fulltax.rules_judge.flow.calls import arguments, named_in, paths, written
from openclawbench.fulltax.rules_judge.flow.values import ANY_NUMBER, all_numbers, codes, figures, follows, readings
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep


@dataclass
class Sources:
    """What user and tools have said so far."""

    text: str = ""
    numbers: set[float] = field(default_factory=set)
    columns: list[list[float]] = field(default_factory=list)  # numbers of an output; the last ones of all outputs
    own_files: set[str] = field(default_factory=set)  # that the agent wrote
    lasts: dict[str, list[float]] = field(default_factory=dict)  # last number of each output, by folder of its file

    def hear(self, text: str) -> None:
        """A user turn."""
        self.text += f"\n{text}"
        self.numbers |= all_numbers(text)

    def see(self, step: EvidenceStep) -> None:
        """The output of a call, but for numbers that its own arguments brought in."""
        output, asked = step.reflection_text or "", step.action_text or ""
        if written(step):
            self.own_files |= own_paths(step)
            return
        if any(path in asked for path in self.own_files):
            return
        brought = all_numbers(asked) - self.numbers
        self.numbers |= all_numbers(output) - brought
        self.text += f"\n{output}"
        column = [max(numbers) for match in ANY_NUMBER.finditer(output) if (numbers := readings(match[0]))]
        if column:
            self.columns.append(column[:60])
            for folder in {path.rpartition("/")[0] for path in paths(named_in(step))} | {""}:
                self.lasts.setdefault(folder, []).append(column[-1])

    def hold(self, text: str, numbers: set[float]) -> bool:
        """True if a figure was said, or follows from what was said."""
        return text in self.text or follows(numbers, self.numbers, [*self.columns, *self.lasts.values()])


@dataclass(frozen=True)
class Unsourced:
    """A figure or code that a step commits to and that no source holds."""

    step: EvidenceStep
    text: str
    later: EvidenceStep | None  # the step whose output holds it afterwards


def unsourced_values(trace: Trace) -> Iterator[Unsourced]:
    """Every first commitment, in a reply or in what a call writes, to a value that no source holds by then."""
    sources, heard = Sources(), 0
    turns = sorted(trace.evidence.user_turns, key=lambda turn: turn.user_turn)
    named: set[str] = set()
    for place, step in enumerate(trace.steps):
        while heard < len(turns) and (step.user_turn is None or turns[heard].user_turn <= step.user_turn):
            sources.hear(turns[heard].text)
            heard += 1
        commitment = (step.action_text or "") if step.action_kind == "reply" else written(step)
        for text in missing(commitment, sources):
            if text not in named:
                named.add(text)
                yield Unsourced(step, text, confirmed(trace.steps[place + 1 :], text, own_paths(step)))
        if step.action_kind == "tool_call":
            sources.see(step)


def missing(commitment: str, sources: Sources) -> Iterator[str]:
    """Figures and codes of a text that no source holds."""
    for text, numbers in figures(commitment):
        if not sources.hold(text, numbers):
            yield text
    for code in codes(commitment):
        if code not in sources.text:
            yield code


def own_paths(step: EvidenceStep) -> set[str]:
    """Paths that a call names in its arguments."""
    return paths(" ".join(str(value) for value in arguments(step).values() if isinstance(value, str)))


def confirmed(later: list[EvidenceStep], text: str, own: set[str]) -> EvidenceStep | None:
    """The first of these steps whose output holds the text, if its call neither names it nor is about `own` files."""
    for step in later:
        asked = step.action_text or ""
        is_echo = text in asked or any(path in asked for path in own)
        if step.action_kind == "tool_call" and text in (step.reflection_text or "") and not is_echo:
            return step
    return None
