"""A trajectory as detectors read it: steps in order, stretches between user turns, and found text with its place."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from openclawbench.fulltax.annotation.quote_grounding import cited_language
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence, EvidenceStep, StepLanguage
from openclawbench.records.vocabulary import EvidenceField
from openclawbench.rules.judge import ENGLISH, Compiled, JudgeRules, PatternGroup

TEXT_FIELDS: tuple[EvidenceField, ...] = ("thinking", "narration", "action_text", "reflection_text")
BEFORE_ACTION: tuple[EvidenceField, ...] = ("thinking", "narration")
SPOKEN: tuple[EvidenceField, ...] = ("thinking", "narration")  # and the text of a reply: the agent's own words
Place = tuple[EvidenceStep, EvidenceField]
CODE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
BLANK = re.compile(r"\s")
SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n")


@dataclass(frozen=True)
class Found:
    """A pattern's hit: which rule, and the sentence around it as [start, end) in the field's own text."""

    rule_id: str
    start: int
    end: int
    hit: int


def shortened(text: str, limit: int) -> str:
    """The first and the last half of `limit` characters, with straight apostrophes and a line end between."""
    plain = text if len(text) <= limit else f"{text[: limit // 2]}\n{text[len(text) - limit // 2 :]}"
    return plain.replace("’", "'").replace("‘", "'")


def original(position: int, length: int, limit: int) -> int:
    """Where a position of the shortened text stands in the text itself, `length` characters long."""
    return position if length <= limit or position <= limit // 2 else position + length - 2 * (limit // 2) - 1


def blanked(text: str) -> str:
    """A text with code fences as blanks; nothing in it changes its place."""
    return CODE_FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text) if "```" in text else text


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Bounds of the sentence or line that holds [start, end)."""
    window = max(0, start - 400)
    begin = max((match.end() for match in SENTENCE_END.finditer(text, window, start)), default=window)
    stop = SENTENCE_END.search(text, max(end - 1, start), min(len(text), end + 400))
    return begin, stop.end() if stop else min(len(text), end + 400)


def excerpt(text: str, start: int, end: int, hit: int, limit: int) -> tuple[int, int]:
    """Bounds of at most `limit` characters of [start, end) that hold `hit`: from word to word, and to the end of a
    sentence where that leaves half of them; within a word only where it is longer than that."""
    if end - start <= limit:
        return start, end
    if hit - limit // 4 > start:
        start = hit - limit // 4
        blank = BLANK.search(text, start - 1, hit)
        start = blank.end() if blank else start
    stop = start + limit
    if end <= stop:
        return start, end
    cuts = [match.end() for match in SENTENCE_END.finditer(text, start + limit // 2, stop)]
    cuts = cuts or [match.start() for match in BLANK.finditer(text, start + limit // 2, stop + 1)]
    return start, cuts[-1] if cuts else stop


class Text:
    """A field's text as patterns are looked for in it."""

    __slots__ = ("lower", "plain")

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.lower = plain.lower()

    def hits(self, pattern: Compiled) -> Iterator[Found]:
        """Every hit of a pattern whose sentence does not cancel it, in their order."""
        if pattern.needed and not any(map(self.lower.__contains__, pattern.needed)):
            return
        for match in pattern.regex.finditer(self.plain):
            begin, stop = sentence(self.plain, *match.span())
            if not (pattern.unless and pattern.unless.search(self.plain[begin:stop])):
                yield Found(pattern.id, begin, stop, match.start())


class Trace:
    """Evidence, prepared. Everything here is a fact of the trajectory; what it means is the detectors' business."""

    def __init__(self, evidence: Evidence, rules: JudgeRules) -> None:
        self.evidence = evidence
        self.rules = rules
        self.steps = sorted(evidence.steps, key=lambda step: step.step_id)
        self._texts: dict[tuple[int, EvidenceField, bool], Text] = {}
        self._found: dict[tuple[PatternGroup, int, EvidenceField, bool], Found | None] = {}

    @cached_property
    def by_id(self) -> dict[int, EvidenceStep]:
        """Steps by number."""
        return {step.step_id: step for step in self.steps}

    @cached_property
    def stretches(self) -> list[list[EvidenceStep]]:
        """Runs of steps that answer the same user turn, in order."""
        runs: list[list[EvidenceStep]] = []
        for step in self.steps:
            if not runs or runs[-1][-1].user_turn != step.user_turn:
                runs.append([])
            runs[-1].append(step)
        return runs

    @cached_property
    def turn_texts(self) -> dict[int, str]:
        """What each user turn says, lower case."""
        return {turn.user_turn: turn.text.lower() for turn in self.evidence.user_turns}

    def requests_until(self, step: EvidenceStep) -> str:
        """All user words up to the turn that the step answers, lower case."""
        last = step.user_turn if step.user_turn is not None else max(self.turn_texts, default=0)
        return "\n".join(text for turn, text in sorted(self.turn_texts.items()) if turn <= last)

    def turn_kinds(self, step: EvidenceStep) -> set[str]:
        """Kinds of the user turn that the step answers."""
        return {kind for turn in self.evidence.user_turns if turn.user_turn == step.user_turn for kind in turn.kinds}

    # ------------------------------------------------------------------------------------------ facts of a step
    def failed(self, step: EvidenceStep) -> bool:
        """A tool call whose result says that it failed; a background start that a later step shows to have failed
        counts, a call of which no result is known does not."""
        if step.tool_status in self.rules.statuses.failed:
            return step.reflection_text is not None or self.rules.statuses.said in step.auto_flags
        end = self.by_id.get(step.resolved_by_step or 0)
        return end is not None and end.tool_status in self.rules.statuses.failed

    def succeeded(self, step: EvidenceStep) -> bool:
        """A tool call that ended ok and was not shown to have failed later."""
        return step.action_kind == "tool_call" and step.tool_status == "ok" and not self.failed(step)

    def executed(self, step: EvidenceStep) -> bool:
        """A tool call that ran, whatever became of it."""
        return step.action_kind == "tool_call" and step.tool_status not in self.rules.statuses.never_ran

    def final_reply(self, stretch: list[EvidenceStep], after: EvidenceStep) -> EvidenceStep | None:
        """The last whole reply of a stretch at or after a step that the user was shown; null where there is none."""
        for step in reversed(stretch):
            if step.step_id < after.step_id:
                return None
            said = step.action_kind == "reply" and step.action_text
            if said and not step.partial and step.silent_token is None:
                return step
        return None

    # --------------------------------------------------------------------------------------- language of a text
    @cached_property
    def told(self) -> dict[tuple[int, str], StepLanguage]:
        """The language of the agent's own words, by step and field."""
        return {(one.step_id, one.field): one for one in self.evidence.languages}

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The languages of the agent's own words, and that of tools."""
        return frozenset({ENGLISH, *(one.language for one in self.evidence.languages if one.language)})

    def languages(self, step: EvidenceStep, field: EvidenceField) -> frozenset[str]:
        """In which languages a text is looked through: its own and English, which stands in nearly all; where nobody
        knows its own, every one. What is not the agent's own words may be in any that the agent speaks."""
        told = self.told.get((step.step_id, field))
        if told is None:
            return self.spoken
        return self.rules.languages if told.coverage == "unsure" else frozenset({ENGLISH, told.language or ENGLISH})

    def patterns(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField) -> list[Compiled]:
        """The patterns of a group for a text."""
        languages = self.languages(step, field)
        return [one for one in self.rules.groups[group] if one.language is None or one.language in languages]

    def unread(self, places: Iterable[Place]) -> tuple[EvidenceQuote, ...]:
        """Citations of the languages of those texts whose silence says nothing: their language has no words here, or
        nobody knows it. What is not the agent's own words counts as the words that stand around it."""
        found = []
        for step, field in places:
            own = field in SPOKEN or step.action_kind == "reply"
            near = [self.told.get((step.step_id, field))] if own else self.evidence.languages
            found += [
                one for one in near if one and one.coverage in (("uncovered", "unsure") if own else ("uncovered",))
            ]
        return tuple(dict.fromkeys(map(cited_language, found)))

    @cached_property
    def unread_replies(self) -> tuple[EvidenceQuote, ...]:
        """Citations of the languages of replies in languages that have no words here."""
        told = (self.told.get((step.step_id, "action_text")) for step in self.steps if step.action_kind == "reply")
        return tuple(cited_language(one) for one in told if one and one.coverage == "uncovered")

    # ------------------------------------------------------------------------------------------- text of a step
    def text(self, step: EvidenceStep, field: EvidenceField, fences: bool = False) -> Text:
        """A field's text, shortened, code fences blanked unless they are to stay; empty where the field is null."""
        key = (step.step_id, field, fences)
        if key not in self._texts:
            whole = shortened(getattr(step, field) or "", self.rules.limits.scan_characters)
            self._texts[key] = Text(whole if fences else blanked(whole))
        return self._texts[key]

    def find(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField, fences: bool = False) -> Found | None:
        """The earliest hit of a group in a field, at its place in the field itself. Looked for once: detectors ask the
        same again and again."""
        if not getattr(step, field):
            return None
        key = (group, step.step_id, field, fences)
        if key not in self._found:
            self._found[key] = self.first(group, step, field, fences)
        return self._found[key]

    def raw_find(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField) -> Found | None:
        """The earliest hit in a field's text with code fences left in: for commands and tool output."""
        return self.find(group, step, field, fences=True)

    def first(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField, fences: bool) -> Found | None:
        """The earliest hit of a group in a field, looked for."""
        text = self.text(step, field, fences)
        each = (next(text.hits(pattern), None) for pattern in self.patterns(group, step, field))
        found = min((one for one in each if one is not None), key=lambda one: one.hit, default=None)
        return None if found is None else self.placed(found, step, field)

    def placed(self, found: Found, step: EvidenceStep, field: EvidenceField) -> Found:
        """A hit in a field's shortened text, at its place in the field itself."""
        length, limit = len(getattr(step, field) or ""), self.rules.limits.scan_characters
        start, end, hit = (original(one, length, limit) for one in (found.start, found.end, found.hit))
        return Found(found.rule_id, start, end, hit)

    def find_before_action(self, group: PatternGroup, step: EvidenceStep) -> tuple[EvidenceField, Found] | None:
        """The first hit of a group in what the agent thought, then said, before the step's action."""
        for field in BEFORE_ACTION:
            if found := self.find(group, step, field):
                return field, found
        return None

    # ------------------------------------------------------------------------------------------------- citations
    def quote(self, step: EvidenceStep, field: EvidenceField, found: Found | None = None) -> EvidenceQuote:
        """A citation: the sentence found, or the beginning of the field; verbatim, at most the stated length."""
        raw: str = getattr(step, field) or ""
        place = (found.start, found.end, found.hit) if found else (0, len(raw), 0)
        start, end = excerpt(raw, *place, self.rules.limits.quote_characters)
        return EvidenceQuote(step_id=step.step_id, field=field, quote=raw[start:end].strip())

    def descriptor(self, step: EvidenceStep, name: str, value: str) -> EvidenceQuote:
        """A citation of a descriptor, written `<name>=<value>`; of a list field the value is one member."""
        return EvidenceQuote(step_id=step.step_id, field="descriptor", quote=f"{name}={value}")

    def action(self, step: EvidenceStep) -> EvidenceQuote:
        """A citation of what a step did: its action text, or its event type where there is no text."""
        if (step.action_text or "").strip():
            return self.quote(step, "action_text")
        return self.descriptor(step, "event_type", step.event_type)

    def failure(self, step: EvidenceStep) -> EvidenceQuote:
        """A citation of a failure by its status; of a background start, the status of the step that resolved it."""
        end = self.by_id.get(step.resolved_by_step or 0)
        where = end if end and step.tool_status not in self.rules.statuses.failed else step
        return self.descriptor(where, "tool_status", str(where.tool_status))
