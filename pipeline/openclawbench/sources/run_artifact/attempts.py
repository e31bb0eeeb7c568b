"""Provider attempts of one run: a retry starts the conversation over, so the trajectory is the last one that acted."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.json_values import text_of
from openclawbench.sources.run_artifact.document import Document, Event
from openclawbench.sources.run_artifact.steps import TraceBuilder

ATTEMPT, PROVIDER_ERROR = "provider_attempt", "provider_error"  # names of runner events


@dataclass
class Built:
    """The trajectory of the attempt that counts, what was done in the others, and errors of the provider in all."""

    trace: TraceBuilder
    abandoned: list[dict[str, Any]]
    provider_errors: list[str | None]  # what each says


def build(document: Document, rules: NormalizeRules) -> Built:
    """Steps, user turns and counts of a whole trace. Every event is counted once."""
    executes = document.part("runner_metadata").get("tool_capable") is not False
    inputs, tries = attempts(document.events)
    acting = next((attempt for attempt in reversed(tries) if acts(attempt)), tries[-1])
    trace = TraceBuilder(rules, executes)
    abandoned: list[dict[str, Any]] = []
    for event in inputs:
        trace.take_input(event)
    for attempt in tries:
        if attempt is acting:
            for event in attempt:
                trace.take(event)
        else:
            trace.counts["off_branch"] += len(attempt)
            abandoned += abandoned_steps(attempt, rules, executes)
    trace.finish()
    runner = [event for event in document.events if event.kind == "runner"]
    for event in runner:
        trace.counts.note("runner:", event.value.get("name"))
    errors = [text_of(event.value.get("detail")) for event in runner if event.value.get("name") == PROVIDER_ERROR]
    return Built(trace, abandoned, errors)


def attempts(events: list[Event]) -> tuple[list[Event], list[list[Event]]]:
    """The events before the first attempt, and those of each attempt, without runner events.

    A trace that names no attempts is one attempt from its first event on.
    """
    starts = [event.index for event in events if event.kind == "runner" and event.value.get("name") == ATTEMPT]
    bounds = [*(starts or [0]), len(events)]
    parts = [events[begin:end] for begin, end in pairwise(bounds)]
    spoken = [[event for event in part if event.kind != "runner"] for part in parts]
    return [event for event in events[: bounds[0]] if event.kind != "runner"], spoken


def acts(part: list[Event]) -> bool:
    """True if a model said or did something."""
    return any(
        event.kind in ("tool_call", "tool_result", "final_output") or event.role == "assistant" for event in part
    )


def abandoned_steps(part: list[Event], rules: NormalizeRules, executes: bool) -> list[dict[str, Any]]:
    """Calls that an attempt executed before it was given up, with their results: reachable, not dropped."""
    builder = TraceBuilder(rules, executes)
    for event in part:
        builder.take(event)
    builder.finish()
    return [
        {
            "line": next(raw["line"] for raw in step["raw"] if raw["part"] != "narration"),
            "tool_name_raw": step["tool_name_raw"],
            "action_text": step["action_text"],
            "reflection_text": step["reflection_text"],
        }
        for step in builder.list.steps
        if step["action_kind"] == "tool_call" and step["has_result"]
    ]
