"""Rows of files whose names differ in numbers: a figure left out of a computation over them, a member whose
difference is ignored, and a member that no step opened."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from openclawbench.fulltax.rules_judge.flow.calls import last_part, named_in, only_path, paths, shell_command, written
from openclawbench.fulltax.rules_judge.flow.order import place_in
from openclawbench.fulltax.rules_judge.flow.values import codes, figure_texts
from openclawbench.fulltax.rules_judge.replies import REPLY, reserves
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger, fire
from openclawbench.records.packet import EvidenceStep

LEAST_MEMBERS = 4
LONGEST = 400  # characters of a member: what is longer is not a record
MARK = re.compile(r"(?<![\w-])[A-Z]{2,12}(?![\w-])")  # a word in capitals: a unit, a zone, a state
TOKEN = re.compile(r"[^\W_]{3,}|\d+")
ISO_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
DIGITS = re.compile(r"\d+")
LAST_NAME_PART = re.compile(r"(?<=\w)[-_][^-_/.]+(?=\.\w+$)")
WORD = re.compile(r"[^\W\d_]{2,}")
Member = tuple[str, EvidenceStep]  # the one figure of a file, and the step that read it


def left_out_figures(trace: Trace) -> Iterator[Trigger]:
    """A command computes with the figures of a row of files, all but one; its result is passed on, and the one figure
    that is left out is not."""
    for place, step in enumerate(trace.steps):
        command = shell_command(step)
        if not trace.succeeded(step) or len(figure_texts(command)) < LEAST_MEMBERS - 1:
            continue
        results = figure_texts(step.reflection_text or "")
        for members in rows_of_figures(trace, trace.steps[:place]):
            used = [member for member in members if member[0] in command]
            missing = [member for member in members if member[0] not in command]
            if len(members) < LEAST_MEMBERS or len(missing) != 1 or differs(missing[0], used):
                continue
            later = trace.steps[place + 1 :]
            reporting_step = next(
                (later_step for later_step in later if any(text in shown_text(later_step) for text in results)), None
            )
            again = any(missing[0][0] in shell_command(later_step) + shown_text(later_step) for later_step in later)
            if reporting_step is not None and not again:
                cited = (
                    trace.action(step),
                    trace.quote(missing[0][1], "reflection_text"),
                    trace.quote(reporting_step, REPLY),
                )
                yield fire(trace, "figure_left_out", step, reporting_step, *cited)
                return


def row_of(path: str) -> str:
    """What paths of a row share: all but their numbers, or of names without one all but their last part."""
    if any(map(str.isdigit, path)):
        return DIGITS.sub("#", path)
    return LAST_NAME_PART.sub("-*", path)


def rows_of_figures(trace: Trace, steps: list[EvidenceStep]) -> Iterator[list[Member]]:
    """For every row of files whose paths differ in a number, those whose content has one figure."""
    rows: dict[str, dict[str, Member]] = {}
    for step in steps:
        path = only_path(step) if trace.succeeded(step) and not step.side_effect else ""
        kind = row_of(path)
        texts = set(figure_texts(step.reflection_text or "")) if kind != path else set()
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


class Record(NamedTuple):
    """A short file of a row: its number or the parts of its date, its path, its content, and the step that read it."""

    order: tuple[int, ...]
    path: str
    text: str
    step: EvidenceStep
    marks: frozenset[str]  # figures, codes and words in capitals
    tokens: frozenset[str]


def record_of(path: str, step: EvidenceStep) -> Record:
    """The record that a step shows."""
    text = step.reflection_text or ""
    marks = frozenset([*figure_texts(text), *codes(text), *MARK.findall(text)])
    return Record(tuple(map(int, DIGITS.findall(path))) or (-1,), path, text, step, marks, tokens(text))


def tokens(text: str) -> frozenset[str]:
    """Words and numbers of a text, lower case."""
    return frozenset(token.lower() for token in TOKEN.findall(text))


def rows_of_records(trace: Trace) -> list[list[Record]]:
    """Rows of files that were shown one at a time, each with its members in order."""
    rows: dict[str, dict[str, EvidenceStep]] = {}
    for look in trace.looks:
        path = only_path(look) if len(look.reflection_text or "") <= LONGEST else ""
        if (kind := row_of(path)) != path:
            rows.setdefault(kind, {}).setdefault(path, look)
    long_rows = [row for row in rows.values() if len(row) >= LEAST_MEMBERS]
    return [sorted(record_of(path, look) for path, look in row.items()) for row in long_rows]


def before(row: list[Record], until: EvidenceStep) -> list[Record]:
    """The members of a row that were read before a step; none if they are too few."""
    read = [record for record in row if record.step.step_id < until.step_id]
    return read if len(read) >= LEAST_MEMBERS else []


@lru_cache(maxsize=1)  # of the trajectory at hand: several mechanisms ask for them
def commitments(trace: Trace) -> list[tuple[EvidenceStep, str, EvidenceStep | None]]:
    """Every step that writes or closes a stretch, with its text and the last reply of its stretch."""
    committed: list[tuple[EvidenceStep, str, EvidenceStep | None]] = []
    for stretch in trace.stretches:
        for step in stretch:
            reply = trace.final_reply(stretch, step) if step.action_kind == "reply" or written(step) else None
            if step.action_kind != "reply" and (content := written(step)):
                committed.append((step, content, reply))
            elif reply is step:
                committed.append((step, step.action_text or "", step))
    return committed


def ignored_outliers(trace: Trace) -> Iterator[Trigger]:
    """All files of a row but one hold the same mark; a write or a reply gives that mark for the one as well, and no
    source ties the two together."""
    rows = rows_of_records(trace)
    for step, text, reply in commitments(trace) if rows else ():
        for row in (before(row, step) for row in rows):
            outlier = left_as_others(trace, row, step, text)
            if outlier is None:
                continue
            last = reply or step
            number = str(outlier.order[-1])
            if reserves(trace, last, [number, last_part(outlier.path), *own_tokens(outlier, row)]):
                continue
            cited = (trace.quote(step, REPLY), trace.quote(outlier.step, "reflection_text"))
            yield fire(trace, "member_differs_passed_over", step, step, *cited, silent=[(last, REPLY)])
            return


def left_as_others(trace: Trace, row: list[Record], step: EvidenceStep, text: str) -> Record | None:
    """The one member of a row that lacks a mark which all others hold and which a text gives for it too."""
    for outlier in row:
        others = [record for record in row if record is not outlier]
        shared = frozenset.intersection(*(record.marks for record in others)) - outlier.marks
        for mark in sorted(mark for mark in shared if mark in text):
            own = own_tokens(outlier, row)
            other_value = outlier.marks - frozenset.union(*(record.marks for record in others))
            text_tokens = tokens(text)
            gives_mark_alone = (
                bool(other_value) and not any(value in text for value in other_value) and not text_tokens & own
            )
            ascribes = MARK.fullmatch(mark) is not None and any(
                mark in line and tokens(line) & own for line in text.splitlines()
            )
            is_given = gives_mark_alone or ascribes
            if is_given and not tied(trace, outlier, mark, own, row, step):
                return outlier
    return None


def own_tokens(outlier: Record, row: list[Record]) -> frozenset[str]:
    """Words and numbers that one member has and no other, without its own number."""
    others = frozenset.union(*(record.tokens for record in row if record is not outlier))
    return frozenset(
        token for token in outlier.tokens - others if not token.isdecimal() or int(token) != outlier.order[-1]
    )


def tied(trace: Trace, outlier: Record, mark: str, own: frozenset[str], row: list[Record], until: EvidenceStep) -> bool:
    """True if the user, or a line of a source outside the row, has the mark beside the member's number or own words."""
    named = own | {str(outlier.order[-1])}
    members = {record.step.step_id for record in row}
    before = (step for step in trace.steps if step.step_id < until.step_id and trace.succeeded(step))
    sources = [step.reflection_text or "" for step in before if step.step_id not in members and not step.side_effect]
    own_files = {record.text for record in row}
    lines = [
        line
        for source in [*sources, trace.requests_until(until)]
        if source not in own_files
        for line in source.splitlines()
    ]
    return any(mark.lower() in line.lower() and tokens(line) & named for line in lines)


def unread_latest(trace: Trace) -> Iterator[Trigger]:
    """Of files named by dates an earlier one was opened, a later one that an output names beside it never, and
    something is written or reported."""
    opened: dict[str, EvidenceStep] = {}
    for look in trace.looks:
        for path in paths(named_in(look)):
            opened |= dict.fromkeys(ISO_DATE.findall(last_part(path)), look)
    if not opened:
        return
    for step, _, reply in commitments(trace):
        earlier = [other for other in trace.steps if other.step_id < step.step_id and trace.succeeded(other)]
        listed = [set(ISO_DATE.findall(other.reflection_text or "")) for other in earlier if not other.side_effect]
        read = {date for date, seen in opened.items() if seen.step_id < step.step_id}
        known = set().union(*(dates for dates in listed if dates & read and len(dates) > 1)) if read else set()
        later = {date for date in known if date > max(read)} - opened.keys()
        last = reply or step
        if later and not any(date in (last.action_text or "") for date in later) and not reserves(trace, last, later):
            look = opened[max(read)]
            yield fire(
                trace,
                "latest_file_never_read",
                step,
                step,
                trace.quote(step, REPLY),
                trace.action(look),
                silent=[(last, REPLY)],
            )
            return


def lines_with_a_figure(text: str) -> list[tuple[str, str]]:
    """The lines of a text that have a figure, each with it; none if a line has several."""
    rows = []
    for line in text.splitlines():
        own = figure_texts(line)
        if len(own) > 1:
            return []
        rows += [(line, figure) for figure in own]
    return rows


def computed_figure_among_copied(trace: Trace) -> Iterator[Trigger]:
    """A table is written whose figures were copied from outputs, all but one that no tool printed; the reply does not
    mention it."""
    for step, text, reply in commitments(trace):
        if step.action_kind == "reply":
            continue
        rows = lines_with_a_figure(text)
        if len(rows) <= LEAST_MEMBERS:
            continue
        before = [other for other in trace.steps if other.step_id < step.step_id and other.action_kind == "tool_call"]
        sources = [trace.requests_until(step), *(other.reflection_text or "" for other in before)]
        computed = [(line, figure) for line, figure in rows[:-1] if not any(figure in source for source in sources)]
        if len(computed) != 1 or computed[0][1] == rows[-1][1]:
            continue
        line, figure = computed[0]
        label = next(iter(WORD.findall(line)), "")
        last = reply or step
        if (figure not in (last.action_text or "") and not reserves(trace, last, [label, figure])) or last is step:
            cue = trace.quote(step, REPLY, place_in(step, figure))
            yield fire(trace, "reckoned_among_read", step, step, cue, trace.quote(last, REPLY), silent=[(last, REPLY)])
            return
