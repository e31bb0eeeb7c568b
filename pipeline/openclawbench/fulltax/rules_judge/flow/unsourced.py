"""Values that a reply or a write commits to although no source holds them."""

import re
from collections.abc import Iterator

from openclawbench.fulltax.rules_judge.flow.calls import last_part, named_in, paths, written
from openclawbench.fulltax.rules_judge.flow.failures import reaches, subjects
from openclawbench.fulltax.rules_judge.flow.jobs import open_jobs
from openclawbench.fulltax.rules_judge.flow.provenance import Unsourced, unsourced_values
from openclawbench.fulltax.rules_judge.flow.values import figure_texts
from openclawbench.fulltax.rules_judge.hits import Hit
from openclawbench.fulltax.rules_judge.replies import QUESTION, REPLY, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

LEAST_REPORTED = 2  # values: a single one may follow from others in a way that nobody sees
MOST_CITED = 3
LEAST_HELD = 2  # figures of tools in a file of data
NO_OUTPUT = re.compile(r"\(no output\)|\(Command exited with code \d+\)")  # the runtime's words
DATA = (".txt", ".csv", ".md", ".tsv", ".json")


def values_without_source(trace: Trace) -> Iterator[Trigger]:
    """A value is written before the output that holds it; or it is stated where its source failed or is still open; or
    it is reported although nothing that was looked at holds it."""
    left_open: dict[int, tuple[EvidenceStep | None, tuple[EvidenceStep, str] | None]] = {}
    reporting: dict[int, bool] = {}
    reported: dict[int, list[Unsourced]] = {}

    def left_before(step: EvidenceStep) -> tuple[EvidenceStep | None, tuple[EvidenceStep, str] | None]:
        """The failed look-up and the job that are open before a step."""
        if step.step_id not in left_open:
            left_open[step.step_id] = open_failure(trace, step), next(open_jobs(trace, step), None)
        return left_open[step.step_id]

    def is_report(step: EvidenceStep) -> bool:
        """Whether a step reports, found out once."""
        if step.step_id not in reporting:
            reporting[step.step_id] = reports(trace, step)
        return reporting[step.step_id]

    def says_something(step: EvidenceStep, count: int) -> bool:
        """True if a step's values, so many of them, say something if no source holds them."""
        is_question = step.action_kind == "reply" and QUESTION.search(step.action_text or "") is not None
        if step.partial or is_question:
            return False
        return left_before(step) != (None, None) or (count >= LEAST_REPORTED and is_report(step))

    for value in unsourced_values(trace, says_something):
        step = value.step
        is_reply = step.action_kind == "reply"
        cue = trace.quote(step, REPLY, place_of(step, value))
        if not is_reply and value.later is not None:
            held = trace.quote(value.later, "reflection_text", place_of(value.later, value))
            yield fire(trace, "value_written_before_source", step, value.later, cue, held)
            continue
        failure, job = left_before(step)
        if step.partial:
            continue
        reply = step if is_reply else closing_reply(trace, step)
        about = {*(subjects(trace, failure) if failure else ()), *([last_part(job[1])] if job else ())}
        if reply is not None and reserves(trace, reply, about, [value.text]):
            continue
        silent = [(reply, REPLY)] if reply is not None else []
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
        elif is_report(step):
            reported.setdefault(step.step_id, []).append(value)
    for values in reported.values():
        if len(values) >= LEAST_REPORTED:
            step = values[0].step
            cited = (trace.quote(step, REPLY, place_of(step, value)) for value in values[:MOST_CITED])
            yield fire(trace, "value_of_no_source", step, step, *cited, silent=[(step, REPLY)])


def reports(trace: Trace, step: EvidenceStep) -> bool:
    """True for a reply whose last call before it was a look, or a file of data in which several figures are those of
    tools. Nothing is known of what came before a session that begins in the middle."""
    if trace.evidence.truncated or trace.evidence.compacted:
        return False
    before = [other for other in trace.steps if other.step_id < step.step_id and trace.succeeded(other)]
    if step.action_kind == "reply":
        return bool(before) and before[-1].user_turn == step.user_turn and not before[-1].side_effect
    if not any(path.endswith(DATA) for path in paths(named_in(step))):
        return False
    outputs = [other.reflection_text or "" for other in before if not other.side_effect]
    held = {text for text in figure_texts(written(step)) if any(text in output for output in outputs)}
    return len(held) >= LEAST_HELD


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
    stretch = trace.stretch_of(until)
    before = [step for step in stretch if step.step_id < until.step_id]
    for place in range(len(before) - 1, -1, -1):
        failure = before[place]
        is_failure = failure.action_kind == "tool_call" and trace.failed(failure)
        later = before[place + 1 :]
        if is_failure and not any(reaches(trace, step, failure) and shows_something(step) for step in later):
            return failure
    return None
