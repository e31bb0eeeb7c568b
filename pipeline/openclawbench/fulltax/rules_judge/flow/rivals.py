"""One of several entries that fit is given, although the agent has noted that there are several."""

import re
from collections.abc import Iterator

from openclawbench.fulltax.rules_judge.flow.values import figures
from openclawbench.fulltax.rules_judge.replies import REPLY, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

LABEL = re.compile(r"\W*(\w[^\d:=|\t]{3,60}?)\s*[,:=|\t(-]")


def silent_choices(trace: Trace) -> Iterator[Trigger]:
    """A reply gives the figure of one of two entries with the same beginning, after an ambiguity was noted, and says
    nothing of the other."""
    for stretch, reply in trace.replied:
        before = [step for step in stretch if step.step_id <= reply.step_id]
        doubts = [(step, doubt) for step in before if (doubt := trace.find_before_action("ambiguity", step))]
        output = rival_output(before, reply.action_text or "") if doubts else None
        if output is not None and not reserves(trace, reply, [], given_in(output, reply)):
            step, doubt = doubts[-1]
            cited = (trace.quote(step, *doubt), trace.quote(reply, REPLY), trace.quote(output, "reflection_text"))
            yield fire(trace, "one_of_several_given", step, reply, *cited, silent=[(reply, REPLY)])


def rival_output(steps: list[EvidenceStep], reply: str) -> EvidenceStep | None:
    """The step whose output has two entries with the same beginning, of whose figures the reply gives only one."""
    for step in steps:
        entries: dict[str, list[bool]] = {}
        for line in (step.reflection_text or "").splitlines() if step.action_kind == "tool_call" else ():
            label, own = LABEL.match(line), [text for text, _ in figures(line)]
            if label and own:
                entries.setdefault(label[1].strip().lower(), []).append(any(text in reply for text in own))
        if any(len(marks) > 1 and any(marks) and not all(marks) for marks in entries.values()):
            return step
    return None


def given_in(output: EvidenceStep, reply: EvidenceStep) -> list[str]:
    """The figures of an output that a reply gives."""
    return [text for text, _ in figures(output.reflection_text or "") if text in (reply.action_text or "")]
