"""Background jobs whose output no step read."""

import re
from collections.abc import Iterator
from functools import lru_cache

from openclawbench.fulltax.rules_judge.flow.calls import arguments, last_part, named_in, shell_command
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

BACKGROUND = re.compile(r"(?<![&>])&(?![&>])\s*(?:$|\n|echo\b|disown\b|\w+=\$!|\))")
LOG = re.compile(r"\d?>{1,2}\s*([\w./~-]+)")
WAITED = re.compile(r"(?<![\w/.-])(?:wait|jobs|pgrep|ps)(?![\w/.-])")
STILL_RUNNING = "still running"  # what the runtime says of a command that it left in the background
NOWHERE = "/dev/null"


def open_jobs(trace: Trace, until: EvidenceStep) -> Iterator[tuple[EvidenceStep, str]]:
    """Jobs that were started before a step and whose log, or whose process, was not looked at by then: the step that
    started each, and its log (empty if its output goes to the runtime)."""
    started: dict[str, EvidenceStep] = {}
    starts = starts_of_jobs(trace)
    for step in trace.steps if starts else ():
        if step.step_id >= until.step_id:
            break
        if not started and step.step_id not in starts:
            continue
        command, asked = shell_command(step), named_in(step)
        if step.tool_name == "process" or (command and WAITED.search(command)):
            started.clear()
            continue
        for log in list(started):
            if log and last_part(log) in asked:
                del started[log]
        if step.step_id in starts:
            logs = [log for log in LOG.findall(command) if log != NOWHERE]
            started[logs[0] if logs else f"#{step.step_id}"] = step
    yield from ((step, "" if log.startswith("#") else log) for log, step in started.items())


def started_jobs(trace: Trace) -> Iterator[tuple[EvidenceStep, str]]:
    """Jobs in the background with a log: the step that started each, and the log."""
    for step in starts_of_jobs(trace).values():
        yield from ((step, log) for log in LOG.findall(shell_command(step))[:1] if log != NOWHERE)


@lru_cache(maxsize=1)  # of the trajectory at hand: several mechanisms ask for them
def starts_of_jobs(trace: Trace) -> dict[int, EvidenceStep]:
    """The steps that started a job in the background, by number."""
    return {
        step.step_id: step
        for step in trace.steps
        if (command := shell_command(step)) and is_background(step, command) and not trace.failed(step)
    }


def is_background(step: EvidenceStep, command: str) -> bool:
    """True for a command that the shell or the runtime leaves running."""
    if arguments(step).get("background") is True or ("&" in command and BACKGROUND.search(command)):
        return True
    output = step.reflection_text or ""
    return "unning" in output and STILL_RUNNING in output.lower()
