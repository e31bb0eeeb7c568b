"""Figures that are left out of a computation over a row of files."""

import re
from collections.abc import Iterator

from openclawbench.fulltax.rules_judge.flow.calls import named_in, paths, shell_command, written
from openclawbench.fulltax.rules_judge.flow.values import figures
from openclawbench.fulltax.rules_judge.replies import REPLY
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

LEAST_MEMBERS = 4
DIGITS = re.compile(r"\d+")
WORD = re.compile(r"[^\W\d_]{2,}")
Member = tuple[str, EvidenceStep]  # the one figure of a file, and the step that read it


def left_out_figures(trace: Trace) -> Iterator[Trigger]:
    """A command computes with the figures of a row of files, all but one; its result is passed on, and the one figure
    that is left out is not."""
    for place, step in enumerate(trace.steps):
        command = shell_command(step)
        results = [text for text, _ in figures(step.reflection_text or "")] if command and trace.succeeded(step) else []
        if not results or len(list(figures(command))) < LEAST_MEMBERS - 1:
            continue
        for members in rows_of_figures(trace, trace.steps[:place]):
            used = [member for member in members if member[0] in command]
            missing = [member for member in members if member[0] not in command]
            if len(members) < LEAST_MEMBERS or len(missing) != 1 or differs(missing[0], used):
                continue
            later = trace.steps[place + 1 :]
            telling_step = next(
                (later_step for later_step in later if any(text in shown_text(later_step) for text in results)), None
            )
            again = any(missing[0][0] in shell_command(later_step) + shown_text(later_step) for later_step in later)
            if telling_step is not None and not again:
                cited = (
                    trace.action(step),
                    trace.quote(missing[0][1], "reflection_text"),
                    trace.quote(telling_step, REPLY),
                )
                yield fire(trace, "figure_left_out", step, telling_step, *cited)
                return


def rows_of_figures(trace: Trace, steps: list[EvidenceStep]) -> Iterator[list[Member]]:
    """For every row of files whose paths differ in a number, those whose content has one figure."""
    rows: dict[str, dict[str, Member]] = {}
    for step in steps:
        named = paths(named_in(step)) if trace.succeeded(step) and not step.side_effect else ()
        path = next(iter(named)) if len(named) == 1 else ""
        kind = DIGITS.sub("#", path)
        texts = {text for text, _ in figures(step.reflection_text or "")} if kind != path else set()
        if len(texts) == 1:
            rows.setdefault(kind, {}).setdefault(path, (texts.pop(), step))
    yield from (list(row.values()) for row in rows.values())


def differs(missing: Member, used: list[Member]) -> bool:
    """True if the file that was left out lacks a word that all the others share, so that it may be of another kind."""
    words = [set(WORD.findall((step.reflection_text or "").lower())) for _, step in used]
    return not set.intersection(*words) <= set(WORD.findall((missing[1].reflection_text or "").lower()))


def shown_text(step: EvidenceStep) -> str:
    """What a step writes or replies."""
    return written(step) or ((step.action_text or "") if step.action_kind == "reply" else "")
