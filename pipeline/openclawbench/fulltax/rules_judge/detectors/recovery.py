"""Whether a later step recovered from a failure: mutations, commands and look-ups are each recovered by their own kind.

Weak in that calls are compared by target and by program, not by effect: another edit of the same file counts as the
repair of the one that failed, and work done by quite another way is not seen as a repair.
"""

import json
import re
from functools import lru_cache

from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.records.packet import EvidenceStep

Head = tuple[str, str]  # program, and its subcommand or first operand ("" where it has none)

LAST_PART = re.compile(r"[^/\\\s]+(?=[/\\]*$)")
PARTS = re.compile(r"&&|\|\||;|\n")
SPACES = re.compile(r"\s+")
VERSION = re.compile(r"(?<=[A-Za-z])[\d.]+$")
PASSED_OVER = re.compile(r"[A-Za-z_]\w*=|-|\d+[a-z]?$")  # an assignment, a wrapper's option or its number
WORD = re.compile(r"[A-Za-z]{4,}")
KEPT = 1024  # calls whose commands are kept: most sessions have fewer


def recovered(trace: Trace, failure: EvidenceStep, later: list[EvidenceStep]) -> bool:
    """True if one of the later steps recovered from the failure."""
    return any(trace.succeeded(step) and repairs(trace, step, failure) for step in later)


def repairs(trace: Trace, step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True if a successful step does what the failed call should have done."""
    if step.tool_name == failure.tool_name and step.action_text == failure.action_text:
        return True
    if failure.event_type in trace.rules.events.mutations:
        if not mutates(trace, step):
            return False
        return (
            mutates_target(step, failure)
            if target_name(failure) and not retried(trace, step, failure)
            else (similar(trace, step, failure))
        )
    if looks(trace, failure):
        return step.event_type == failure.event_type or touches(step, failure)
    return similar(trace, step, failure) or shows_running(trace, step, failure)


def shows_running(trace: Trace, step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True if a look shows the very command that failed: then what it should have started is there."""
    text = PARTS.split(command(failure))[-1].strip()
    is_look = step.event_type in trace.rules.events.grounding and not step.side_effect
    return is_look and " " in text and text in (step.reflection_text or "")


def looks(trace: Trace, failure: EvidenceStep) -> bool:
    """True for a look-up: nothing was to be changed or run by it."""
    return failure.event_type in trace.rules.events.retrieval and not failure.side_effect


def mutates(trace: Trace, step: EvidenceStep) -> bool:
    """True if a step changes something: by its kind of event, or by code that writes."""
    if step.side_effect or step.event_type in trace.rules.events.mutations:
        return True
    return step.event_type in trace.rules.events.checks and bool(trace.find_raw("writing_code", step, "action_text"))


def target_name(step: EvidenceStep) -> str | None:
    """The last part of what a call is about."""
    target = step.artifact_target or step.state_write_target
    last = LAST_PART.search(target) if target else None
    return last[0] if last else target


def mutates_target(step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True if a mutation has the failed call's target, or is a command or patch that names it."""
    name, own = target_name(failure), target_name(step)
    if name is None or name == own:
        return name is not None
    words = command(step) or ((step.action_text or "") if own is None or "*** " in (step.action_text or "") else "")
    return name in words


def touches(step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True if a step is about the failed call's target: same target, or its file name in the call."""
    name = target_name(failure)
    return bool(name) and (str(name) in (step.artifact_target or "") or str(name) in (step.action_text or ""))


# ------------------------------------------------------------------------------------------------ similar calls
def similar(trace: Trace, step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True for a retry with other arguments: the same command, a test run, or the same tool on the same target."""
    if command(failure):
        return retried(trace, step, failure)
    return step.tool_name == failure.tool_name and target_name(step) == target_name(failure)


def retried(trace: Trace, step: EvidenceStep, failure: EvidenceStep) -> bool:
    """True if a command's last part, or its test run, runs again; not where both state targets that differ."""
    first, second = command(failure), command(step)
    if not first or not second:
        return False
    if all(trace.find_raw("test_command", tested, "action_text") for tested in (failure, step)):
        return True
    if failure.event_type in trace.rules.events.mutations:
        names = {target_name(failure), target_name(step)} - {None}
        if len(names) > 1:
            return False
    tried = heads(trace, first)[-1:]
    return any(same_head(head, other) for head in tried for other in heads(trace, second))


def same_head(first: Head, second: Head) -> bool:
    """The same program with the same first operand; an operand that one of them lacks decides nothing."""
    return first[0] == second[0] and (first[1] == second[1] or not first[1] or not second[1])


def command(step: EvidenceStep) -> str:
    """The shell command of a call: of its arguments, or the whole text where that has no arguments; else empty."""
    return command_of(step.action_text or "", step.tool_name)


@lru_cache(maxsize=KEPT)
def command_of(text: str, tool_name: str | None) -> str:
    """The shell command in the text of a call of a tool."""
    start = text.find("{")
    if start < 0:
        return text if tool_name in (None, "exec", "bash", "shell", "process") else ""
    try:
        arguments = json.loads(text[start:])
    except ValueError:
        return text if tool_name in ("exec", "bash", "shell") else ""
    values = [arguments.get(key) for key in ("command", "cmd", "script")] if isinstance(arguments, dict) else []
    return next((value for value in values if isinstance(value, str)), "")


def heads(trace: Trace, text: str) -> list[Head]:
    """Program and first operand of every part of a command; parts that only prepare or print are left out. Nobody
    changes the list: calls are compared with each other again and again."""
    if text not in trace.heads:
        trace.heads[text] = heads_of(trace, text)
    return trace.heads[text]


def heads_of(trace: Trace, text: str) -> list[Head]:
    """Program and first operand of every part of a command."""
    programs = []
    limit = trace.rules.limits.scan_characters
    for part in PARTS.split(text[:limit]):
        words = [word for word in SPACES.split(part.split("|")[0].strip(" \t()")) if word]
        words = strip_wrappers(trace, words)
        if words and words[0] not in trace.rules.commands.preparing:
            operand = next((word for word in words[1:] if not word.startswith("-")), "")
            programs.append((words[0], operand.rsplit("/", 1)[-1]))
    return programs


def strip_wrappers(trace: Trace, words: list[str]) -> list[str]:
    """A command's words without assignments and wrappers in front; programs by their plain name."""
    while words:
        name = VERSION.sub("", words[0].rsplit("/", 1)[-1])
        following = words[1] if len(words) > 1 else ""
        if PASSED_OVER.match(words[0]) or (name in trace.rules.commands.wrappers and following):
            words = words[1:]
        elif name == "python" and following == "-m":
            words = words[2:]
        elif name in trace.rules.commands.interpreters and following and not following.startswith("-"):
            words = words[1:]
        else:
            return [name, *(word for word in words[1:] if word != "run")]
    return words


def named(trace: Trace, failure: EvidenceStep, text: str) -> bool:
    """True if a text speaks of what failed: its target, or a word of the command's program and operand."""
    lower = text.lower()
    name = target_name(failure)
    if name and name.lower() in lower:
        return True
    parts = heads(trace, command(failure))[-1:]
    words = [word.lower() for part in parts for text in part for word in WORD.findall(text)]
    return any(re.search(rf"\b{word.removesuffix('s')}", lower) for word in words)
