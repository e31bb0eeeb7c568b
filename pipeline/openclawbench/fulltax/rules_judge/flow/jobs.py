"""Jobs in the background whose output nobody read."""

import re
from collections.abc import Iterator

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
    for step in trace.steps:
        if step.step_id >= until.step_id:
            break
        command, asked = shell_command(step), named_in(step)
        if step.tool_name == "process" or (command and WAITED.search(command)):
            started.clear()
            continue
        for log in list(started):
            if log and last_part(log) in asked:
                del started[log]
        if step.action_kind == "tool_call" and command and is_background(step, command) and not trace.failed(step):
            logs = [log for log in LOG.findall(command) if log != NOWHERE]
            started[logs[0] if logs else f"#{step.step_id}"] = step
    yield from ((step, "" if log.startswith("#") else log) for log, step in started.items())


def started_jobs(trace: Trace) -> Iterator[tuple[EvidenceStep, str]]:
    """Jobs in the background with a log: the step that started each, and the log."""
    for step in trace.steps:
        command = shell_command(step)
        if step.action_kind == "tool_call" and command and is_background(step, command) and not trace.failed(step):
            yield from ((step, log) for log in LOG.findall(command)[:1] if log != NOWHERE)


def is_background(step: EvidenceStep, command: str) -> bool:
    """True for a command that the shell or the runtime leaves running."""
    if arguments(step).get("background") is True or BACKGROUND.search(command):
        return True
    output = step.reflection_text or ""
    return "unning" in output and STILL_RUNNING in output.lower()
