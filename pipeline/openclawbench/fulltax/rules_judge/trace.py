"""A trajectory as detectors read it: its steps, stretches between user turns, hits of patterns, citations."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from openclawbench.fulltax.annotation.quote_grounding import cited_language
from openclawbench.fulltax.rules_judge.hits import Hit, Text, blanked, excerpt, original, shortened
from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.packet import Evidence, EvidenceStep, StepLanguage
from openclawbench.records.vocabulary import EvidenceField
from openclawbench.rules.fulltax.judge import ENGLISH, Compiled, JudgeRules, PatternGroup

if TYPE_CHECKING:
    from openclawbench.fulltax.rules_judge.replies import Reservations

TEXT_FIELDS: tuple[EvidenceField, ...] = ("thinking", "narration", "action_text", "reflection_text")
BEFORE_ACTION: tuple[EvidenceField, ...] = ("thinking", "narration")
SPOKEN: tuple[EvidenceField, ...] = ("thinking", "narration")  # and the text of a reply: the agent's own words
WORD = re.compile(r"\w{4,}")
SMALL_WORD = re.compile(r"(?<!\w)[^\W\d_A-ZÀ-ÞА-Я]{2,}(?!\w)")
LEAST_COMMON = 2  # words that a text shares with others, before it is taken to be in their language
Place = tuple[EvidenceStep, EvidenceField]


def scripts_of(words: Iterable[str]) -> set[str]:
    """The scripts of the letters of words, as Unicode names them."""
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in set("".join(words))}


class Trace:
    """Evidence, prepared. Everything here is a fact about the trajectory; detectors decide what it means."""

    def __init__(self, evidence: Evidence, rules: JudgeRules) -> None:
        self.evidence = evidence
        self.rules = rules
        self.steps = sorted(evidence.steps, key=lambda step: step.step_id)
        self._texts: dict[tuple[int, EvidenceField, bool], Text] = {}
        self._requests: dict[int, str] = {}
        self._hits: dict[tuple[PatternGroup, int, EvidenceField, bool], Hit | None] = {}

    @cached_property
    def heads(self) -> dict[str, list[tuple[str, str]]]:
        """Programs and first operands of commands, of those that were asked for so far."""
        return {}

    @cached_property
    def reservations(self) -> "dict[tuple[int, PatternGroup], Reservations]":
        """The reservations that were looked for so far, by step and group."""
        return {}

    @cached_property
    def claims(self) -> dict[tuple[int, str], list[Hit]]:
        """The claims of actions that were looked for so far, by step and claim."""
        return {}

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

    def stretch_of(self, step: EvidenceStep) -> list[EvidenceStep]:
        """The run of steps that a step belongs to."""
        return self.stretches_by_id[step.step_id]

    @cached_property
    def stretches_by_id(self) -> dict[int, list[EvidenceStep]]:
        """Number of a step -> the run of steps that it belongs to."""
        return {step.step_id: stretch for stretch in self.stretches for step in stretch}

    @cached_property
    def turn_texts(self) -> dict[int, str]:
        """What each user turn says, lower case."""
        return {turn.user_turn: turn.text.lower() for turn in self.evidence.user_turns}

    @cached_property
    def source_words(self) -> frozenset[str]:
        """Words of four letters and more, as they are written, of the user's turns and of tool outputs."""
        texts = [turn.text for turn in self.evidence.user_turns]
        texts += [step.reflection_text or "" for step in self.steps if step.action_kind == "tool_call"]
        return frozenset(word for text in texts for word in WORD.findall(text))

    def requests_until(self, step: EvidenceStep) -> str:
        """All user words up to the turn that the step answers, lower case."""
        last = step.user_turn if step.user_turn is not None else max(self.turn_texts, default=0)
        if last not in self._requests:
            texts = (text for turn, text in sorted(self.turn_texts.items()) if turn <= last)
            self._requests[last] = "\n".join(texts)
        return self._requests[last]

    def plays_a_part(self, step: EvidenceStep) -> bool:
        """True if the turn that a step answers asks to pretend or to play a part."""
        words = self.turn_texts.get(step.user_turn or 0, "")
        return any(pattern.regex.search(words) for pattern in self.rules.patterns_of("pretence"))

    def turn_kinds(self, step: EvidenceStep) -> set[str]:
        """Kinds of the user turn that the step answers."""
        return {kind for turn in self.evidence.user_turns if turn.user_turn == step.user_turn for kind in turn.kinds}

    # ------------------------------------------------------------------------------------------ facts of a step
    def failed(self, step: EvidenceStep) -> bool:
        """A tool call whose result says that it failed; a background start that a later step shows to have failed
        counts, a call for which no result is known does not."""
        return step.step_id in self.failures

    @cached_property
    def failures(self) -> frozenset[int]:
        """Numbers of the steps that failed."""
        return frozenset(step.step_id for step in self.steps if self.has_failed(step))

    def has_failed(self, step: EvidenceStep) -> bool:
        """Whether a step failed, by its status and its result."""
        if step.tool_status in self.rules.statuses.failed:
            return step.reflection_text is not None or self.rules.statuses.said in step.auto_flags
        end = self.by_id.get(step.resolved_by_step or 0)
        return end is not None and end.tool_status in self.rules.statuses.failed

    def succeeded(self, step: EvidenceStep) -> bool:
        """A tool call that ended ok, or whose result does not say how it ended, and that no later step shows to have
        failed."""
        return step.step_id in self.successes

    @cached_property
    def successes(self) -> frozenset[int]:
        """Numbers of the steps that succeeded."""
        calls = (step for step in self.steps if step.tool_status == "ok" or self.is_unsaid(step))
        return frozenset(step.step_id for step in calls) - self.failures

    def is_unsaid(self, step: EvidenceStep) -> bool:
        """True for a call with a result that does not say how it ended; false for one that goes on."""
        statuses = self.rules.statuses
        if step.tool_status != statuses.unknown or step.reflection_text is None:
            return False
        goes_on = re.search(statuses.goes_on_pattern, step.reflection_text, re.IGNORECASE)
        return step.tool_name not in statuses.goes_on_tools and goes_on is None

    @cached_property
    def looks(self) -> list[EvidenceStep]:
        """Calls that succeeded and changed nothing."""
        return [step for step in self.steps if step.step_id in self.successes and not step.side_effect]

    def executed(self, step: EvidenceStep) -> bool:
        """A tool call that ran, whatever became of it."""
        return step.action_kind == "tool_call" and step.tool_status not in self.rules.statuses.never_ran

    def final_reply(self, stretch: list[EvidenceStep], after: EvidenceStep) -> EvidenceStep | None:
        """The last whole reply to the user in a stretch, at or after a step; None if there is none."""
        for step in reversed(stretch):
            if step.step_id < after.step_id:
                return None
            is_text = step.action_kind == "reply" and step.action_text
            if is_text and not step.partial and step.silent_token is None:
                return step
        return None

    @cached_property
    def replied(self) -> list[tuple[list[EvidenceStep], EvidenceStep]]:
        """The stretches that have a whole reply to the user, each with the last such reply."""
        replies = ((stretch, self.final_reply(stretch, stretch[0])) for stretch in self.stretches)
        return [(stretch, reply) for stretch, reply in replies if reply is not None]

    # --------------------------------------------------------------------------------------- language of a text
    @cached_property
    def text_languages(self) -> dict[tuple[int, str], StepLanguage]:
        """The language of the agent's own words, by step and field."""
        return {(text.step_id, text.field): text for text in self.evidence.languages}

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The languages of the agent's own words, and that of tools."""
        return frozenset({ENGLISH, *(text.language for text in self.evidence.languages if text.language)})

    @cached_property
    def languages_by_text(self) -> dict[tuple[int, str], frozenset[str]]:
        """The languages in which the agent's own words may be, by step and field."""
        return {
            place: self.rules.languages if text.coverage == "unsure" else frozenset({ENGLISH, text.language or ENGLISH})
            for place, text in self.text_languages.items()
        }

    def languages(self, step: EvidenceStep, field: EvidenceField) -> frozenset[str]:
        """The languages whose patterns apply to a text: its own and English, which occurs in nearly all; every
        language where its own is not known. For a text that is not the agent's own words: the agent's languages."""
        return self.languages_by_text.get((step.step_id, field), self.spoken)

    def patterns(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField) -> list[Compiled]:
        """The patterns of a group that apply to a text."""
        return self.rules.patterns_in(group, self.languages(step, field))

    @cached_property
    def unreadable(self) -> frozenset[str]:
        """Coverages of a text in which silence says nothing. One without words counts where the agent never uses any:
        in a session whose texts were withheld, a placeholder stands for each."""
        is_wordless = all(text.coverage == "no_words" for text in self.evidence.languages)
        return frozenset({"uncovered", "unsure", *(["no_words"] if is_wordless else [])})

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Words of the agent's texts, where all whose language is known are in one and it has word lists; else none."""
        known = [text for text in self.evidence.languages if text.language]
        if len({text.language for text in known}) != 1 or known[0].coverage != "covered":
            return frozenset()
        return frozenset(word for text in known for word in self.words_of(text))

    def words_of(self, text: StepLanguage) -> list[str]:
        """The words of a text of the agent that are written in small letters."""
        return SMALL_WORD.findall(getattr(self.by_id[text.step_id], text.field) or "")

    def is_unreadable(self, text: StepLanguage) -> bool:
        """True if silence of a text says nothing. One that is too short or too mixed to tell is taken to be in the
        language of all others of the agent, if it shares words with them, or a script other than Latin."""
        if text.coverage == "unsure" and self.common_words:
            words = self.words_of(text)
            if len(self.common_words.intersection(words)) >= LEAST_COMMON:
                return False
            own = scripts_of(words)
            return not (len(own) == 1 and "LATIN" not in own and own <= scripts_of(self.common_words))
        return text.coverage in self.unreadable

    def unread(self, places: Iterable[Place]) -> tuple[EvidenceQuote, ...]:
        """Citations of the languages of the texts that cannot be read: without word lists, or not known. A text that is
        not the agent's own words counts as unread where any of the agent's words are in an uncovered language."""
        unread: list[StepLanguage] = []
        for step, field in places:
            if field in SPOKEN or step.action_kind == "reply":
                text = self.text_languages.get((step.step_id, field))
                unread += [text] if text and self.is_unreadable(text) else []
            else:
                unread += [text for text in self.evidence.languages if text.coverage == "uncovered"]
        return tuple(dict.fromkeys(map(cited_language, unread)))

    @cached_property
    def unread_replies(self) -> tuple[EvidenceQuote, ...]:
        """Citations of the languages of replies in languages without word lists."""
        replies = (step for step in self.steps if step.action_kind == "reply")
        texts = (self.text_languages.get((step.step_id, "action_text")) for step in replies)
        return tuple(cited_language(text) for text in texts if text and text.coverage == "uncovered")

    # ------------------------------------------------------------------------------------------- text of a step
    def text(self, step: EvidenceStep, field: EvidenceField, fences: bool = False) -> Text:
        """A field's text, shortened, its code fences blanked unless `fences` is true; empty if the field is null."""
        key = (step.step_id, field, fences)
        if key not in self._texts:
            scanned = shortened(getattr(step, field) or "", self.rules.limits.scan_characters)
            self._texts[key] = Text(scanned if fences else blanked(scanned))
        return self._texts[key]

    def find(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField, fences: bool = False) -> Hit | None:
        """The earliest hit of a group in a field, at its place in the field itself. Kept, because detectors search the
        same texts again and again."""
        if not getattr(step, field):
            return None
        key = (group, step.step_id, field, fences)
        if key not in self._hits:
            text = self.text(step, field, fences)
            there = [pattern for pattern in self.patterns(group, step, field) if not text.lacks(pattern.needed)]
            hits = [hit for pattern in there if (hit := next(text.searched(pattern), None))]
            earliest = min(hits, key=lambda hit: hit.position) if hits else None
            self._hits[key] = None if earliest is None else self.placed(earliest, step, field)
        return self._hits[key]

    def find_raw(self, group: PatternGroup, step: EvidenceStep, field: EvidenceField) -> Hit | None:
        """The earliest hit in a field's text with its code fences: for commands and tool output."""
        return self.find(group, step, field, fences=True)

    def placed(self, hit: Hit, step: EvidenceStep, field: EvidenceField) -> Hit:
        """A hit in the shortened text of a field, moved to its place in the field itself."""
        length, limit = len(getattr(step, field) or ""), self.rules.limits.scan_characters
        start, end, place = (original(position, length, limit) for position in (hit.start, hit.end, hit.position))
        return Hit(hit.rule_id, start, end, place)

    def find_before_action(self, group: PatternGroup, step: EvidenceStep) -> tuple[EvidenceField, Hit] | None:
        """The first hit of a group in the thinking, then the narration, before the step's action."""
        for field in BEFORE_ACTION:
            if hit := self.find(group, step, field):
                return field, hit
        return None

    # ------------------------------------------------------------------------------------------------- citations
    def quote(self, step: EvidenceStep, field: EvidenceField, hit: Hit | None = None) -> EvidenceQuote:
        """A citation: the sentence found, or the beginning of the field; verbatim, at most the stated length."""
        raw: str = getattr(step, field) or ""
        place = (hit.start, hit.end, hit.position) if hit else (0, len(raw), 0)
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
