"""Values that a reply or a write commits to although no source holds them."""

import re
from collections.abc import Iterator
from functools import cached_property

from openclawbench.fulltax.rules_judge.flow.calls import last_part
from openclawbench.fulltax.rules_judge.flow.failures import reaches, subjects
from openclawbench.fulltax.rules_judge.flow.jobs import open_jobs
from openclawbench.fulltax.rules_judge.flow.provenance import Unsourced, unsourced_values
from openclawbench.fulltax.rules_judge.hits import Hit
from openclawbench.fulltax.rules_judge.replies import REPLY, has_question, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

MOST_CITED = 3
NO_OUTPUT = re.compile(r"\(no output\)|\(Command exited with code \d+\)")  # the runtime's words


class Commitment:
    """A step that commits to values, with what is found out about it once for all of them."""

    def __init__(self, trace: Trace, step: EvidenceStep) -> None:
        self.trace, self.step = trace, step
        self.cited = 0  # values that an open failure or job is evidence against

    @cached_property
    def is_plain(self) -> bool:
        """True if the step was seen whole and asks nothing."""
        return not self.step.partial and not (self.step.action_kind == "reply" and has_question(self.step))

    @cached_property
    def failure(self) -> EvidenceStep | None:
        """The failed look-up that is open before the step."""
        return open_failure(self.trace, self.step)

    @cached_property
    def job(self) -> tuple[EvidenceStep, str] | None:
        """The job that is open before the step."""
        return next(open_jobs(self.trace, self.step), None)

    @cached_property
    def reply(self) -> EvidenceStep | None:
        """The reply that could take the values back: the step itself, or the last one of its stretch."""
        return self.step if self.step.action_kind == "reply" else closing_reply(self.trace, self.step)

    @cached_property
    def about(self) -> set[str]:
        """What the values could be about."""
        names = subjects(self.trace, self.failure) if self.failure else set()
        return names | ({last_part(self.job[1])} if self.job else set())

    @cached_property
    def is_reserved(self) -> bool:
        """True if the reply takes back all values."""
        return self.reply is not None and reserves(self.trace, self.reply, self.about)

    @property
    def is_open(self) -> bool:
        """True if a failed look-up or a job is open before the step, its values are stated without reservation, and not
        as many are found as are cited."""
        is_left_open = self.is_plain and (self.failure is not None or self.job is not None)
        return is_left_open and self.cited < MOST_CITED and not self.is_reserved


def values_without_source(trace: Trace) -> Iterator[Trigger]:
    """A value is written before the output that holds it, or it is stated where its source failed or is still open."""
    commitments = {step.step_id: Commitment(trace, step) for step in trace.steps}
    for value in unsourced_values(trace, lambda step: commitments[step.step_id].is_open):
        step = value.step
        is_reply = step.action_kind == "reply"
        cue = trace.quote(step, REPLY, place_of(step, value))
        if not is_reply and value.later is not None:
            held = trace.quote(value.later, "reflection_text", place_of(value.later, value))
            yield fire(trace, "value_written_before_source", step, value.later, cue, held)
            continue
        known = commitments[step.step_id]
        failure, job, reply = known.failure, known.job, known.reply
        if reply is not None and reserves(trace, reply, known.about, [value.text]):
            continue
        silent = [(reply, REPLY)] if reply is not None else []
        known.cited += 1
        if failure is not None:
            failed = (trace.failure(failure), trace.action(failure))
            name = (
                "value_after_gap"
                if failure.tool_status in trace.rules.statuses.never_ran
                else "value_after_failed_lookup"
            )
            yield fire(trace, name, step, step, cue, *failed, silent=silent)
        elif job is not None:
            yield fire(trace, "value_of_open_job", step, step, cue, trace.action(job[0]), silent=silent)


def place_of(step: EvidenceStep, value: Unsourced) -> Hit | None:
    """Where a step holds the value."""
    text = (step.action_text if step is value.step else step.reflection_text) or ""
    start = text.find(value.text)
    return Hit("value", start, start + len(value.text), start) if start >= 0 else None


def closing_reply(trace: Trace, step: EvidenceStep) -> EvidenceStep | None:
    """The last reply of a step's stretch."""
    stretch = trace.stretch_of(step)
    return trace.final_reply(stretch, step)


def shows_something(step: EvidenceStep) -> bool:
    """True if the output of a call is more than the runtime's words on a call without output."""
    return bool(NO_OUTPUT.sub("", step.reflection_text or "").strip())


def open_failure(trace: Trace, until: EvidenceStep) -> EvidenceStep | None:
    """The last failed call since the user's turn that no later call made up for. One that shows nothing makes up for a
    failed look where nothing is reported, not where a value is."""
    if not trace.failures:
        return None
    before = [step for step in trace.stretch_of(until) if step.step_id < until.step_id]
    for place in range(len(before) - 1, -1, -1):
        failure = before[place]
        if failure.action_kind != "tool_call" or not trace.failed(failure):
            continue
        if not any(reaches(trace, step, failure) and shows_something(step) for step in before[place + 1 :]):
            return failure
    return None
