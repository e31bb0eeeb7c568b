"""Values that the agent's own memory alone holds."""

import re
from collections.abc import Iterator

from openclawbench.fulltax.rules_judge.flow.calls import named_in, written
from openclawbench.fulltax.rules_judge.flow.provenance import committed
from openclawbench.fulltax.rules_judge.hits import stands_in
from openclawbench.fulltax.rules_judge.listings import listed_files
from openclawbench.fulltax.rules_judge.replies import REPLY, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

MEMORY = re.compile(r"(?<![\w-])(?:MEMORY\.md|memory/[\w./-]+)")
Listed = dict[str, dict[str, EvidenceStep]]  # folder -> name of a file -> the listing that shows it
MEMORY_TOOLS = ("memory_get", "memory_search")


def values_from_memory(trace: Trace) -> Iterator[Trigger]:
    """A value is passed on that memory alone holds, and a file below a folder that the user named, which a listing has
    shown, was never opened."""
    if not any(is_memory(step) for step in trace.steps):
        return
    listed: Listed | None = None
    for place, step in enumerate(trace.steps):
        content = written(step) or ((step.action_text or "") if step.action_kind == "reply" else "")
        before = [other for other in trace.steps[:place] if trace.succeeded(other)]
        remembered = [other for other in before if is_memory(other)] if content else []
        if not remembered:
            continue
        for text in committed(content):
            holds = [other for other in before if text in (other.reflection_text or "")]
            if not holds or text in trace.requests_until(step) or not all(map(is_memory, holds)):
                continue
            listed = listed_files(trace) if listed is None else listed
            unopened = unopened_files(trace, listed, before, step)
            reply = trace.final_reply(trace.stretch_of(step), step)
            if not unopened or (reply is not None and reserves(trace, reply, unopened, [text])):
                continue
            cited = (trace.quote(step, REPLY), trace.action(holds[0]))
            quiet = [(reply, REPLY)] if reply is not None else []
            yield fire(trace, "value_of_memory_alone", step, step, *cited, silent=quiet)
            return


def is_memory(step: EvidenceStep) -> bool:
    """True for a look into the agent's own memory."""
    if step.action_kind != "tool_call":
        return False
    if step.tool_name in MEMORY_TOOLS:
        return True
    named = named_in(step)
    return ("MEMORY.md" in named or "memory/" in named) and MEMORY.search(named) is not None


def unopened_files(trace: Trace, listed: Listed, before: list[EvidenceStep], until: EvidenceStep) -> set[str]:
    """Names of files that a listing shows below a folder that the user named, and that no call names."""
    request = trace.requests_until(until)
    asked = " ".join(step.action_text or "" for step in before)
    return {
        name
        for folder, files in listed.items()
        if (top := folder.lstrip("/").partition("/")[0].lower()) not in ("", ".") and stands_in(top, request)
        for name, step in files.items()
        if step.step_id < until.step_id and name not in asked
    }
