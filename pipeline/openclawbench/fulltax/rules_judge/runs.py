"""What a call ran: tests, something that may have run them, or nothing because it merely writes a text."""

import re

from openclawbench.fulltax.rules_judge.detectors.recovery import command, heads
from openclawbench.fulltax.rules_judge.flow.calls import scripts, shell_command, written
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep
from openclawbench.rules.fulltax.judge import PatternGroup

TEST_TOOL = re.compile(r"(?:^|[_.-])(?:py|run|unit)?tests?(?:$|[_.-])", re.I)
OUTCOMES: tuple[PatternGroup, ...] = ("test_passed", "test_failed")


def runs_tests(trace: Trace, step: EvidenceStep) -> bool:
    """True for a command or a tool that runs tests: not for one that reads, searches or commits their names."""
    if step.action_kind != "tool_call" or step.event_type in trace.rules.events.retrieval:
        return False
    command = shell_command(step)
    if not command:
        return TEST_TOOL.search(step.tool_name or "") is not None
    if trace.find_raw("test_command", step, "action_text") is None:
        return False
    patterns = [rule.regex for rule in trace.rules.patterns_of("test_command")]
    ran = [" ".join(head) for head in heads(trace, command)]
    return any(pattern.match(head) for pattern in patterns for head in ran)


def may_test(trace: Trace, step: EvidenceStep, count: str | None = None) -> bool:
    """True if a step ran tests, may have run them, or shows what they came to. `count`: the number that is claimed."""
    output = step.reflection_text or ""
    if step.action_kind != "tool_call" or not trace.executed(step):
        return False
    if step.event_type == "agent_coordination" or runs_tests(trace, step):
        return True
    if any(trace.find_raw(group, step, "reflection_text") for group in OUTCOMES):
        return True
    if count is not None:
        return re.search(rf"(?<![\d.]){count}(?![\d.])", output) is not None
    command = shell_command(step)
    programs = {program for program, _ in heads(trace, command)}
    return bool(scripts(command)) or not programs.isdisjoint(trace.rules.commands.runners)


def only_writes(step: EvidenceStep) -> bool:
    """True for a call that writes or edits a text and runs nothing."""
    return bool(written(step)) and not command(step)
