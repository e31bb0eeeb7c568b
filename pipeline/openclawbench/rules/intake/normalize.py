"""Loader of normalize.toml."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import ToolStatus
from openclawbench.rules.intake.user_turns import CollectedRules, EnvelopeRule, UserKindRule, UserTurns
from openclawbench.rules.loading.numbers import AtLeastOne, Count
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.references import Reference
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.tool_names import plain_name
from openclawbench.tables.record import Record


class SidecarRule(Record):
    """A file beside sessions that is not a session: keys of its first record, with their values where given."""

    id: str
    keys: dict[str, str]


class UnsupportedRule(Record):
    """A session of a format that no adapter reads: by keys of its first record, with their values where given, or by
    the end of its name. `in_list`: it is a list of such records."""

    id: str
    name: str
    keys: dict[str, str] = Field(default={})
    ends: str | None = None
    in_list: bool = False

    @model_validator(mode="after")
    def says_one(self) -> Self:
        """ValueError for a rule that would hold for every file, or that says two things."""
        if bool(self.keys) == (self.ends is not None):
            raise ValueError("has either `keys` or `ends`")
        return self


class SessionSigns(Record):
    """How a session of a format that no rule knows is told: a list of objects with one of these fields."""

    lists: list[str]
    fields: list[str]


class NamedSidecarRule(Record):
    """A file beside sessions that is not a session, known by the end of its name. Its records are not known."""

    id: str
    ends: str


class StoreCompanionRule(Record):
    """A file that the program leaves beside its store, by its path."""

    id: str
    pattern: PythonPattern


class TablesRule(Record):
    """A database of the program that holds no transcripts, by tables that it has (all of `has`, one of `one_of`), and
    none that a transcript would need."""

    id: str
    has: list[str]
    one_of: list[str]
    lacks: PythonPattern


class InjectedRule(Record):
    """Model name of assistant lines that no model wrote. `may_be_reply`: one may be the only trace of a reply, but for
    the answers to turns that `not_behind` finds."""

    id: str
    model: str
    may_be_reply: bool = False
    not_behind: PythonPattern | None = None

    def may_answer(self, turn: str) -> bool:
        """True if such a line may be the reply to a user turn with these words."""
        return self.may_be_reply and not (self.not_behind and re.search(self.not_behind, turn))


class AsideRule(Record):
    """A message that is no reply but belongs to the agent's next action, by how it begins; without its heading, unless
    that says what it is. `releases`: which of the program's write it."""

    id: str
    heading: str
    keep_heading: bool = False
    releases: str = ""


class RepeatRules(Record):
    """Lines that repeat at the end of a run what was said in it; the fields are described beside them."""

    id: str
    api: str
    texts: int = Field(ge=1)
    ways: int = Field(ge=1)
    ignored: PythonPattern

    def plain(self, text: str) -> str:
        """A text without what may differ where it is repeated."""
        return re.sub(self.ignored, "", text)

    def joins(self, text: str, earlier: Iterable[str]) -> bool:
        """True for a text that is one of these, or several of them in their order, one after the other."""
        plain_text, reached = self.plain(text), {0}
        for part in map(self.plain, earlier):
            ends = {at + len(part) for at in reached if part and plain_text.startswith(part, at)}
            reached = set(sorted(reached | ends, reverse=True)[: self.ways])
        return plain_text != "" and len(plain_text) in reached


class RunnerTextRule(Record):
    """A text that the program writes in the agent's place. `unused`: only in a message that failed or used nothing."""

    id: str
    pattern: PythonPattern
    unused: bool


class RepairedRules(Record):
    """What the program changes in a session file that it repairs in place."""

    blank_user_texts: list[str]
    removed_images: list[str]
    inserted_ids: str
    taken_along: list[str]
    renamed: list[str]
    cut_result: PythonPattern
    backup_name: PythonPattern


class SilentTokenRule(Record):
    """A reply that consists of this alone is shown to nobody."""

    id: str
    pattern: PythonPattern


class BackgroundRules(Record):
    """How the end of a command that was left running is told."""

    running: str
    awaiting: list[str]
    process_tools: list[str]
    final_statuses: list[str]
    final_words: list[str]
    final_text: PythonPattern
    notice_holds: str  # plain text in everything that `notice` finds
    notice_turn: PythonPattern
    notice: PythonPattern
    notice_name: PythonPattern
    short_name: Count


class CountedNamesRules(Record):
    """How many of the names that a file chooses (types of records and blocks never seen before) are counted apart."""

    names: Count
    characters: AtLeastOne
    others: str
    untyped: str


class NoticeStatusRule(Record):
    """What a notice says about how a command ended."""

    id: str
    status: ToolStatus
    pattern: PythonPattern


class Notice(NamedTuple):
    """What a notice in a user turn says: names of what it is about, and how that ended."""

    names: list[str]
    status: str


class HarborRules(Record):
    """How the result of one of Harbor's trials is read."""

    reward: str  # name of the reward that counts, where a trial has several
    pass_from: float = Field(gt=0)  # the least reward that passes
    own_errors: list[str]  # exceptions with which the agent itself ended the run: its reward counts
    no_verdict: list[str]  # exceptions that say nothing of the run; any other is the infrastructure's


class NormalizeRules(Rules):
    """How raw sessions are read (own choice, from what public session files hold)."""

    FILE: ClassVar[str] = "normalize.toml"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (
        Reference("background.process_tools", "describe.toml", ("tool.names",), spelled=plain_name),
        Reference("background.running", "describe.toml", ("status.values{}",)),
        Reference("background.awaiting", "describe.toml", ("status.values{}",)),
    )
    IDS_OF_EACH_TABLE: ClassVar[bool] = True  # a kind of turn and the envelope around its words have one name
    synthetic_result_prefixes: list[str]
    beside_reasons: list[str]
    store_name: PythonPattern
    other_index_keys: list[str]
    no_store_reasons: list[str]
    silent_mark: str
    runner_marks: list[str]
    timeout_words: PythonPattern
    abort_words: PythonPattern
    sidecars: list[SidecarRule] = Field(alias="sidecar")
    named_sidecars: list[NamedSidecarRule] = Field(alias="named_sidecar")
    unsupported_rules: list[UnsupportedRule] = Field(alias="unsupported")
    session_signs: SessionSigns
    store_companions: list[StoreCompanionRule] = Field(alias="store_companion")
    store_tables: list[TablesRule]
    injected: list[InjectedRule]
    asides: list[AsideRule] = Field(alias="aside")
    repeat: RepeatRules
    runner_texts: list[RunnerTextRule] = Field(alias="runner_text")
    repaired: RepairedRules
    user_kinds: list[UserKindRule] = Field(alias="user_kind")
    envelopes: list[EnvelopeRule] = Field(alias="envelope")
    collected: CollectedRules
    silent_tokens: list[SilentTokenRule] = Field(alias="silent_token")
    background: BackgroundRules
    harbor: HarborRules
    counted_names: CountedNamesRules
    notice_statuses: list[NoticeStatusRule] = Field(alias="notice_status")

    @cached_property
    def turns(self) -> UserTurns:
        """What reads user turns."""
        return UserTurns(self.user_kinds, self.envelopes, self.collected)

    @cached_property
    def silent_patterns(self) -> list[tuple[re.Pattern[str], str]]:
        return [(re.compile(rule.pattern), rule.id) for rule in self.silent_tokens]

    @cached_property
    def notice_patterns(self) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
        rules = self.background
        return re.compile(rules.notice_turn), re.compile(rules.notice), re.compile(rules.notice_name)

    @cached_property
    def open_signs(self) -> list[str]:
        """One of these is in a result's details, as JSON text, where they may say that a command has not ended."""
        words = [self.background.running, *self.background.awaiting]
        escapes = {f"\\u{ord(letter):04x}"[:-1] for letter in "".join(words)}  # of a letter; its last digit in any case
        return [f'"{self.background.running}"', *self.background.awaiting, *sorted(escapes)]

    def silent_token(self, reply: str) -> str | None:
        """Id of the rule that says that this reply was shown to nobody, else None."""
        if self.silent_mark not in reply:
            return None
        return next((rule_id for pattern, rule_id in self.silent_patterns if pattern.fullmatch(reply)), None)

    def notices(self, raw_text: str) -> Iterator[Notice]:
        """Notices of a user turn about commands, in order; none where the turn cannot hold any."""
        if self.background.notice_holds not in raw_text:
            return
        turn, notice, name = self.notice_patterns
        for match in notice.finditer(raw_text) if turn.search(raw_text) else ():
            statuses = (rule.status for rule in self.notice_statuses if re.search(rule.pattern, match["said"]))
            if status := next(statuses, None):
                yield Notice(name.findall(match["about"]), status)

    def is_timeout(self, error: str) -> bool:
        """True if a run error speaks of a time-out."""
        return re.search(self.timeout_words, error) is not None

    def is_abort(self, error: str) -> bool:
        """True if a run error speaks of an abort."""
        return re.search(self.abort_words, error) is not None

    def sidecar(self, first: Any) -> str | None:
        """Id of the sidecar rule that the first record meets, else None."""
        if not isinstance(first, dict) or self.sidecar_signs.isdisjoint(first):
            return None
        for rule in self.sidecars:
            if has_keys(first, rule.keys):
                return rule.id
        return None

    def may_be_store(self, path: str) -> bool:
        """True if a database is named as OpenClaw names its stores; any other is another program's."""
        return re.search(self.store_name, path) is not None

    def is_other_index(self, value: Any) -> bool:
        """True if a file named sessions.json is another program's."""
        return isinstance(value, dict) and not value.keys().isdisjoint(self.other_index_keys)

    def named(self, path: str) -> str | None:
        """Id of the rule that the name of a file meets for which no source claims the first record, else None."""
        sidecar = next((rule.id for rule in self.named_sidecars if path.endswith(rule.ends)), None)
        return sidecar or self.store_companion(path)

    @cached_property
    def sidecar_signs(self) -> set[str]:
        """Keys; the first record of a sidecar has at least one of them."""
        return {next(iter(rule.keys)) for rule in self.sidecars}

    def store_companion(self, path: str) -> str | None:
        """Id of the rule that says that this is a file that the program leaves beside its store, else None."""
        return next((rule.id for rule in self.store_companions if re.search(rule.pattern, path)), None)

    def store_without_transcripts(self, tables: Collection[str]) -> str | None:
        """Id of the rule that says that a database with these tables is one of the program that holds no transcripts,
        else None."""
        for rule in self.store_tables:
            named = set(rule.has) <= set(tables) and not set(rule.one_of).isdisjoint(tables)
            if named and not any(re.search(rule.lacks, name) for name in tables):
                return rule.id
        return None

    def unsupported(self, first: Any, path: str) -> str | None:
        """Which session of a format that is not read a file is, by a rule; else None. `first`: its first record, or all
        of it where that is a list."""
        is_list = isinstance(first, list)
        record = first[0] if isinstance(first, list) and first else first
        for rule in self.unsupported_rules:
            if rule.ends is not None and path.endswith(rule.ends):
                return rule.name
            if rule.keys and rule.in_list == is_list and has_keys(record, rule.keys):
                return rule.name
        return None

    def seems_session(self, first: Any) -> str | None:
        """What of a file that no rule knows looks like a session; else None. `first`: as in unsupported()."""
        if isinstance(first, list):
            return "a list of messages or events" if self.is_session_part(first) else None
        fields = first.items() if isinstance(first, dict) else ()
        lists = (key for key, value in fields if key in self.session_signs.lists and self.is_session_part(value))
        held = next(lists, None)
        return None if held is None else f"messages or steps under {held!r}"

    def is_session_part(self, value: Any) -> bool:
        """True for a list of messages or steps."""
        record = value[0] if isinstance(value, list) and value else None
        return isinstance(record, dict) and not record.keys().isdisjoint(self.session_signs.fields)

    @cached_property
    def injected_models(self) -> dict[str, InjectedRule]:
        return {rule.model: rule for rule in reversed(self.injected)}

    @cached_property
    def runner_patterns(self) -> list[tuple[re.Pattern[str], RunnerTextRule]]:
        return [(re.compile(rule.pattern), rule) for rule in self.runner_texts]

    @cached_property
    def runner_openings(self) -> tuple[str, ...]:
        return tuple(self.runner_marks)

    def runner_text(self, text: str, is_unused: bool) -> str | None:
        """Id of the rule that says that the program wrote this text in the agent's place, else None. `is_unused`: in a
        message that failed or used no tokens."""
        stripped = text.strip()
        if not stripped.startswith(self.runner_openings):
            return None
        fitting = (rule for pattern, rule in self.runner_patterns if pattern.fullmatch(stripped))
        return next((rule.id for rule in fitting if is_unused or not rule.unused), None)

    @cached_property
    def cut_pattern(self) -> re.Pattern[str]:
        return re.compile(self.repaired.cut_result)

    def is_cut(self, result: str) -> bool:
        """True for a tool's result that the program cut, cleared or made up."""
        return result.startswith(self.synthetic_prefixes) or self.cut_pattern.search(result) is not None

    @cached_property
    def synthetic_prefixes(self) -> tuple[str, ...]:
        return tuple(self.synthetic_result_prefixes)


def has_keys(record: Any, keys: Mapping[str, str]) -> bool:
    """True for an object that has all of these keys, with their values where given."""
    return isinstance(record, dict) and all(key in record and value in ("", record[key]) for key, value in keys.items())
