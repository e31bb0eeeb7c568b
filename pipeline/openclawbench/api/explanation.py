"""Explanations as typed objects: a value, the rule that gave it, and the text that the rule matched."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Rule:
    """A rule. `place`: file and line of its entry; `says`: the entry in words, with its pattern. Both are None for a
    value that no rule file contains."""

    rule_id: str
    place: str | None
    says: str | None


@dataclass(frozen=True)
class Mark:
    """A text that a rule matched: code points `start` to `end` (exclusive) of a field of the step."""

    field: str
    start: int
    end: int
    text: str
    before: str  # some characters of context
    after: str


@dataclass(frozen=True)
class ExplainedValue:
    """A value of a step or, with `step_id` None, of the trajectory."""

    step_id: int | None
    name: str  # event_type, tool_status, side_effect, flag, artifact_target, …; risk.<signal>, onset.<candidate>
    value: Any
    rule: Rule | None
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class Explanation:
    """Why the values of a trajectory are what they are. `as_dict` is what `openclawbench explain --json` prints: it
    also has the outcome, compaction, the label, and how each pass decided."""

    source_model: str
    trajectory_id: str
    values: list[ExplainedValue]
    as_dict: dict[str, Any] = field(repr=False)

    def of(self, name: str) -> list[ExplainedValue]:
        """The values of this name, in the order of steps."""
        return [value for value in self.values if value.name == name]


def read_explanation(data: dict[str, Any]) -> Explanation:
    """An explanation from the plain data of inspect.explain.explain."""
    values = [*trajectory_values(data), *(value for step in data["steps"] for value in step_values(step))]
    return Explanation(data["source_model"], data["trajectory_id"], values, data)


def trajectory_values(data: dict[str, Any]) -> Iterator[ExplainedValue]:
    """Risk signals (their contribution) and onset candidates (their step)."""
    for signal in data["risk"]["signals"]:
        yield ExplainedValue(None, f"risk.{signal['signal']}", signal["contribution"], Rule(**signal["rule"]))
    for onset in data["onset"]:
        yield ExplainedValue(None, f"onset.{onset['candidate']}", onset["step_id"], Rule(**onset["rule"]))


def step_values(step: dict[str, Any]) -> Iterator[ExplainedValue]:
    """Descriptors, targets and flags of a step."""
    for name in ("event_type", "tool_status", "side_effect"):
        yield read_value(step["step_id"], name, step[name])
    for target in step["targets"]:
        yield read_value(step["step_id"], target["field"], target)
    for flag in step["flags"]:
        yield read_value(step["step_id"], "flag", flag)


def read_value(step_id: int, name: str, data: dict[str, Any]) -> ExplainedValue:
    """One value with its rule and marks. A flag without a mark of its own has those of its cause."""
    marked = data["marked"] or data.get("cause", {}).get("marked", [])
    rule = Rule(**data["rule"]) if data["rule"] else None
    return ExplainedValue(step_id, name, data["value"], rule, [Mark(**mark) for mark in marked])
