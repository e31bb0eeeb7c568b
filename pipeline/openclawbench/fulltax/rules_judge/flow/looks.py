"""Looks that missed what counts: a file that a source names, a thing of the request, an independent source."""

import re
from collections.abc import Iterator

from openclawbench.fulltax.rules_judge.flow.calls import SCRIPT, last_part, lines_of, named_in, only_path, paths
from openclawbench.fulltax.rules_judge.flow.failures import is_named
from openclawbench.fulltax.rules_judge.flow.files import WILD
from openclawbench.fulltax.rules_judge.flow.rows import commitments
from openclawbench.fulltax.rules_judge.flow.values import codes, figure_texts
from openclawbench.fulltax.rules_judge.replies import REPLY, assertive, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

LONGEST = 800  # characters of a document: a longer one refers to much that a task has no need of
RECURSIVE = re.compile(r"(?:^|\s)(?:-\w*[rR]\w*|find|rg|tree|\.)(?:\s|$)")
AND = r"(?:,|and|or|und|oder|y|e|o|et|ou|и|или|和|或|と)"
PAIR = re.compile(rf"(?<!\w)([A-ZÀ-ÞА-Я]\w{{3,}}) ?{AND} ?([A-ZÀ-ÞА-Я]\w{{3,}})(?!\w)")  # two names side by side
SENTENCE = re.compile(r"(?<=[.!?])\s|[。！？\n]")


def unopened_references(trace: Trace) -> Iterator[Trigger]:
    """A short document that the user named, or that lies in a folder that the user named, refers to a file beside it;
    neither this nor another file that it refers to was ever opened, and the reply has no reservation."""
    for _, reply in trace.replied:
        before = [step for step in trace.steps if step.step_id < reply.step_id]
        if any(step.event_type in trace.rules.events.checks and trace.executed(step) for step in before):
            return  # a program may have opened it
        asked = [named_in(step) for step in before if step.action_kind == "tool_call"]
        if any(WILD.search(words) or RECURSIVE.search(words) for words in asked):
            return
        touched = {last_part(path) for words in asked for path in paths(words)}
        for step in before:
            referred = referred_files(trace, step)
            if not referred or referred & touched or any(name in (reply.action_text or "") for name in referred):
                continue
            names = [*referred, *(name.rpartition(".")[0] for name in referred)]
            if assertive(trace, reply) and not reserves(trace, reply, names):
                cited = (trace.quote(reply, REPLY), trace.quote(step, "reflection_text"))
                yield fire(trace, "named_source_never_opened", reply, reply, *cited, silent=[(reply, REPLY)])
                return


def referred_files(trace: Trace, step: EvidenceStep) -> set[str]:
    """Names of files that a document refers to, by name alone: then they lie beside it."""
    text = step.reflection_text or ""
    if step.event_type != "read" or len(text) > LONGEST or not trace.succeeded(step):
        return set()
    path, request = only_path(step), trace.requests_until(step)
    if not path or not is_named(path, request):
        return set()
    names = {name for name in paths(text) if "." in name and "/" not in name} - {last_part(path)}
    named_by_user = {name for name in names if name.lower() in request}  # it may be there to be written
    return {name for name in names - named_by_user if not SCRIPT.match(name)}  # a script is there to be run


def checks_against_copies(trace: Trace) -> Iterator[Trigger]:
    """A value stands in two files, a line of a third says that one of them is made from the other, no other source has
    it, and it is passed on as if the one confirmed the other."""
    all_shown = [(look, last_part(path)) for look in trace.looks if (path := only_path(look))]
    for step, text, reply in commitments(trace) if len({name for _, name in all_shown}) > 1 else ():
        shown = [(look, name) for look, name in all_shown if look.step_id < step.step_id]
        for value in dict.fromkeys([*codes(text), *figure_texts(text)]):
            holds = [(other, name) for other, name in shown if value in (other.reflection_text or "")]
            names = list(dict.fromkeys(name for _, name in holds))
            if len(names) != 2 or value in trace.requests_until(step):
                continue
            origin = next((other for other, _ in shown if names_all(other, names)), None)
            if origin is not None and not reserves(trace, reply or step, names, [value]):
                cited = (trace.quote(step, REPLY), trace.quote(origin, "reflection_text"), trace.action(holds[-1][0]))
                yield fire(trace, "check_against_own_copy", step, step, *cited, silent=[(reply or step, REPLY)])
                return


def names_all(step: EvidenceStep, names: list[str]) -> bool:
    """True if a line of an output names all of these files."""
    return any(all(name in line for name in names) for line in lines_of(step.reflection_text))


def unseen_members(trace: Trace) -> Iterator[Trigger]:
    """The user names two things side by side, outputs hold one of them and never the other, and the reply gives a
    figure in a sentence about both."""
    for stretch, reply in trace.replied:
        turn = next((turn.text for turn in trace.evidence.user_turns if turn.user_turn == reply.user_turn), "")
        pairs = PAIR.findall(turn)
        if not pairs or not any(trace.succeeded(step) for step in stretch):
            continue
        before = [step for step in trace.steps if step.step_id < reply.step_id and step.action_kind == "tool_call"]
        shown = [f"{step.action_text} {step.reflection_text}" for step in before]
        sentences_with_figures = [text for text in SENTENCE.split(reply.action_text or "") if figure_texts(text)]
        for pair in pairs:
            unseen = [name for name in pair if not any(name in text for text in shown)]
            if len(unseen) != 1 or not any(all(name in text for name in pair) for text in sentences_with_figures):
                continue
            if assertive(trace, reply) and not reserves(trace, reply, unseen):
                yield fire(
                    trace, "named_thing_never_seen", reply, reply, trace.quote(reply, REPLY), silent=[(reply, REPLY)]
                )
                return
