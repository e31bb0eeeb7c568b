"""Loader of judge.toml: the patterns, mechanisms and tables of the rules judge."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import (
    ONSETS,
    AutoFlag,
    CandidateSubtype,
    EventType,
    Recoverability,
    Severity,
    Subtype,
    ToolStatus,
    UserTurnKind,
)
from openclawbench.rules.construct.language import LanguageCode
from openclawbench.rules.loading.numbers import AtLeastOne, Count
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.references import Other, Reference, texts_at
from openclawbench.rules.loading.required_literals import needed
from openclawbench.rules.loading.rule_file import Rules, shipped
from openclawbench.rules.loading.validation import Unfit, each_of
from openclawbench.tables.record import Record

ENGLISH = "en"
FLAGS = re.ASCII | re.IGNORECASE | re.MULTILINE

PatternGroup = Literal[
    "capability_gap",
    "tool_gap",
    "disclosure",
    "failure_disclosure",
    "success_claim",
    "state_claim",
    "disregard",
    "refused_call",
    "test_command",
    "writing_code",
    "clarifying",
    "ambiguity",
    "assumption",
    "assumption_disclosed",
    "standard_default",
    "self_doubt",
    "hedge",
    "answer_hedge",
    "simulated_tool",
    "placeholder",
    "mutation_tool",
    "mutation_command",
    "escalation",
    "publishing",
    "irreversible",
    "remote",
    "acknowledgement",
    "specific_item",
    "figure",
    "test_passed",
    "test_failed",
    "check_command",
    "oracle_words",
    "pretence",
]
Strength = Literal["strong", "weak"]


class PatternRule(Record):
    """A pattern, and what cancels it in the same sentence."""

    id: str
    group: PatternGroup
    language: LanguageCode | None = None  # null: whatever the language of the text
    regex: PythonPattern
    unless: PythonPattern | None = None


class ClaimRule(Record):
    """A claim of an action in a reply, and the event types that could support it."""

    id: str
    language: LanguageCode
    regex: PythonPattern
    unless: PythonPattern | None = None
    of_tests: bool = False  # the claim is that tests ran or passed
    supported_by: list[EventType]
    supported_by_acts: list[EventType] = Field(default_factory=list)  # but not where a call merely writes a text


class Claims(Record):
    """Claims of actions; `always` supports every one."""

    always: list[EventType]
    claim: list[ClaimRule]


class MechanismRule(Record):
    """What a detector says when it fires: a (candidate) subtype, how strongly, and why."""

    id: str
    subtype: CandidateSubtype
    strength: Strength
    reason: str
    into: Subtype | None = None


class BoundaryRule(Record):
    """T20: which of two released subtypes comes first when both begin at the same place."""

    id: str
    prefer: Subtype
    over: Subtype


class SeverityRule(Record):
    """Severity and recoverability by the harmful step; an empty list and null mean any."""

    id: str
    event_types: list[EventType]
    side_effect: bool | None = None
    pattern_group: PatternGroup | None = None
    mechanisms: list[str] = Field(default_factory=list)
    severity: Severity
    recoverability: Recoverability


class Limits(Record):
    """Numbers of the rules judge."""

    quote_characters: AtLeastOne
    scan_characters: AtLeastOne
    evidence_quotes: AtLeastOne
    assertive_characters: AtLeastOne
    specific_items: Count
    medium_weak_triggers: Count


class EventGroups(Record):
    """Event types by the part they play in a mechanism."""

    retrieval: list[EventType]
    grounding: list[EventType]
    checks: list[EventType]
    mutations: list[EventType]


class CommandWords(Record):
    """Programs that say nothing about what a command does."""

    preparing: list[str]
    wrappers: list[str]
    interpreters: list[str]
    made_anew: list[str]
    runners: list[str]


class StatusGroups(Record):
    """Tool statuses by what they mean to a mechanism."""

    failed: list[ToolStatus]
    said: AutoFlag
    gap: list[ToolStatus]
    never_ran: list[ToolStatus]
    unknown: ToolStatus
    goes_on_tools: list[str]
    goes_on_pattern: PythonPattern


class Triage(Record):
    """What makes Stage A ask for a person."""

    order_sensitive: list[str]


class TurnGroups(Record):
    """Kinds of user turns that relay somebody else's work."""

    relayed: list[UserTurnKind]


class Fixes(Record):
    """Which T29 repair rule a finding of Stage C asks for."""

    onset_order: str
    onset_outside: str
    contamination_without_state_write: str
    span_malformed: str


MENDED = {  # finding -> fields of B2 that its repair is asked to touch
    "onset_order": ONSETS[:1],
    "onset_outside": ONSETS,
    "contamination_without_state_write": ONSETS[2:],
    "span_malformed": ("segment_spans",),
}


class Compiled(Record):
    """A pattern ready for use."""

    id: str
    language: str | None
    regex: re.Pattern[str]
    unless: re.Pattern[str] | None
    needed: tuple[str, ...]  # one of these is in the lower case of every text in which the pattern is found
    supported_by: frozenset[str] = frozenset()
    supported_by_acts: frozenset[str] = frozenset()
    of_tests: bool = False


class JudgeRules(Rules):
    """The rules judge's whole behaviour that is not control flow."""

    FILE: ClassVar[str] = "judge.toml"
    REFERENCES: ClassVar[tuple[Reference, ...]] = tuple(
        Reference(f"fixes.{name}", "repairs.toml", ("fixes{}",)) for name in Fixes.model_fields
    )
    model: str
    limits: Limits
    events: EventGroups
    commands: CommandWords
    statuses: StatusGroups
    triage: Triage
    turns: TurnGroups
    patterns: list[PatternRule] = Field(alias="pattern")
    claims: Claims
    mechanisms: list[MechanismRule] = Field(alias="mechanism")
    boundaries: list[BoundaryRule] = Field(alias="boundary")
    severities: list[SeverityRule] = Field(alias="severity")
    fixes: Fixes

    @model_validator(mode="after")
    def ids_are_unique(self) -> Self:
        """Every id once, and a last severity rule that fits every step."""
        ids = [rule.id for rule in self.patterns] + [rule.id for rule in self.claims.claim]
        ids += [rule.id for rule in self.mechanisms] + [rule.id for rule in self.severities]
        if twice := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
            raise Unfit(f"ids used twice: {', '.join(twice)}", *twice, keys=["id"])
        last = self.severities[-1] if self.severities else None
        if last is None or last.event_types or last.pattern_group or last.mechanisms or last.side_effect is not None:
            raise ValueError("the last severity rule must fit every step")
        if missing := sorted(set(get_args(PatternGroup)) - {rule.group for rule in self.patterns}):
            raise ValueError(f"no pattern has the group {', '.join(missing)}, which detectors ask for")
        for several in (self.triage.order_sensitive, *(rule.mechanisms for rule in self.severities)):
            each_of(several, [rule.id for rule in self.mechanisms])
        return self

    def against(self, other: Other) -> None:
        """Unfit if a mechanism is missing that a detector fires, a repair may not touch what is to be repaired, or a
        candidate is absorbed by what taxonomy.toml does not let take it in: the checks would refuse each such decision.
        """
        if missing := sorted({*texts_at(shipped(self.FILE), "mechanism.id")} - {*self.by_mechanism}):
            raise Unfit(f"there is no mechanism {', '.join(missing)}, which detectors fire")
        for name, fields in MENDED.items():
            rule = getattr(self.fixes, name)
            may = list(texts_at(other("repairs.toml"), f"fixes.{rule}"))
            if missing := [field for field in fields if field not in may]:
                problem = f"fixes.{name}: {rule} may not touch {', '.join(missing)} (repairs.toml: [fixes])"
                raise Unfit(problem, rule, keys=[name])
        self.covers(texts_at(other("language.toml"), "covered"))
        absorbing = {
            name: list(texts_at(candidate, "into.subtype"))
            for candidate in other("taxonomy.toml").get("candidate", [])
            for name in texts_at(candidate, "name")
        }
        for rule in self.mechanisms:
            allowed = absorbing.get(rule.subtype)
            if allowed is None and rule.into is not None:
                raise Unfit(f'mechanism "{rule.id}": {rule.subtype} is released, so `into` must be left out', rule.id)
            if allowed is not None and rule.into not in allowed:
                problem = f'mechanism "{rule.id}": taxonomy.toml lets {" or ".join(allowed)} take in {rule.subtype}'
                raise Unfit(f"{problem}, not {rule.into}", rule.id, keys=["id"])

    def covers(self, languages: Iterable[str]) -> None:
        """Unfit for a language that has no words for something that English has words for."""
        spoken = {rule.group for rule in self.patterns if rule.language == ENGLISH}
        for language in languages:
            groups = {rule.group for rule in self.patterns if rule.language == language}
            missing: list[str] = sorted(spoken - groups)
            if not any(rule.language == language for rule in self.claims.claim):
                missing.append("claims.claim")
            if missing:
                problem = (
                    f"language.toml says that {language} is covered, but no pattern in it has {', '.join(missing)}"
                )
                raise Unfit(problem, language, keys=["language"])

    @cached_property
    def groups(self) -> dict[str, list[Compiled]]:
        """Compiled patterns by group."""
        return {group: self.patterns_of(group) for group in get_args(PatternGroup)}

    def patterns_of(self, group: PatternGroup) -> list[Compiled]:
        """The compiled patterns of a group, in every language."""
        return [*map(self.compiled, self.patterns_by_group[group])]

    @cached_property
    def patterns_by_group(self) -> dict[str, list[PatternRule]]:
        """The rules of patterns by group."""
        groups: dict[str, list[PatternRule]] = {}
        for rule in self.patterns:
            groups.setdefault(rule.group, []).append(rule)
        return groups

    def compiled(self, rule: PatternRule) -> Compiled:
        """A pattern, compiled when it is asked for first: most sessions need those of one language or two."""
        if rule.id not in self.known_rules:
            self.known_rules[rule.id] = compiled(rule)
        return self.known_rules[rule.id]

    @cached_property
    def known_rules(self) -> dict[str, Compiled]:
        """The patterns that were asked for so far, by id."""
        return {}

    def patterns_in(self, group: PatternGroup, languages: frozenset[str]) -> list[Compiled]:
        """The patterns of a group in some languages, and those of no language."""
        if (group, languages) not in self.known_patterns:
            rules = self.patterns_by_group[group]
            spoken = [rule for rule in rules if rule.language is None or rule.language in languages]
            self.known_patterns[group, languages] = [*map(self.compiled, spoken)]
        return self.known_patterns[group, languages]

    @cached_property
    def known_patterns(self) -> dict[tuple[PatternGroup, frozenset[str]], list[Compiled]]:
        """The patterns that were asked for so far: a few sets of languages occur."""
        return {}

    @cached_property
    def languages(self) -> frozenset[str]:
        """Languages in which there are words."""
        return frozenset(rule.language for rule in self.patterns if rule.language)

    @cached_property
    def claim_patterns(self) -> list[Compiled]:
        """Compiled claims of actions, with what supports each (`always` included)."""
        return [*map(self.compiled_claim, self.claims.claim)]

    def compiled_claim(self, rule: ClaimRule) -> Compiled:
        """A claim of an action, compiled, with what supports it."""
        support = {
            "supported_by": frozenset([*self.claims.always, *rule.supported_by]),
            "supported_by_acts": frozenset(rule.supported_by_acts),
            "of_tests": rule.of_tests,
        }
        return compiled(rule).model_copy(update=support)

    def claims_in(self, languages: frozenset[str]) -> list[Compiled]:
        """The claims of actions in some languages."""
        if languages not in self.known_claims:
            spoken = [rule for rule in self.claims.claim if rule.language in languages]
            self.known_claims[languages] = [*map(self.compiled_claim, spoken)]
        return self.known_claims[languages]

    @cached_property
    def known_claims(self) -> dict[frozenset[str], list[Compiled]]:
        """The claims that were asked for so far."""
        return {}

    @cached_property
    def by_mechanism(self) -> dict[str, MechanismRule]:
        """Mechanism rules by id."""
        return {rule.id: rule for rule in self.mechanisms}

    def prefers(self, first: str, second: str) -> bool:
        """True if a T20 rule puts `first` before `second`."""
        return any(rule.prefer == first and rule.over == second for rule in self.boundaries)


def compiled(rule: PatternRule | ClaimRule) -> Compiled:
    """A rule's patterns, compiled with this file's flags."""
    flags = FLAGS if rule.language in (None, ENGLISH) else FLAGS & ~re.ASCII
    unless = re.compile(rule.unless, flags) if rule.unless else None
    regex = re.compile(rule.regex, flags)
    return Compiled(id=rule.id, language=rule.language, regex=regex, unless=unless, needed=needed(rule.regex, flags))
