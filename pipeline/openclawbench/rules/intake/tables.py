"""Loader of tables.toml: what the columns of a row that holds a session say of it."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from openclawbench.rules.loading.numbers import AtLeastOne, MoreThanNothing
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import each_once
from openclawbench.tables.record import Record

BETWEEN_WORDS = re.compile(r"[\s-]+")
ANSWERS = ("verdict", "score", "status", "error")  # columns that say how a run ended


class ColumnRules(Record):
    """Names of the columns that say each thing, the first counts."""

    id: list[str]
    task: list[str]
    model: list[str]
    attempt: list[str]
    subset: list[str]
    benchmark: list[str]
    verdict: list[str]
    score: list[str]
    max_score: list[str]
    status: list[str]
    error: list[str]
    license: list[str]


class ScoreRules(Record):
    """The scale of scores that name none: the least, and what passes."""

    lowest: float = Field(le=0)
    full: MoreThanNothing


class TruthWords(Record):
    """Texts that are a truth."""

    yes: list[str]
    no: list[str]


class NoRunRule(Record):
    """Rows that hold messages and are no run of an agent: they have all of these columns."""

    columns: list[str]
    what: str


class StatusWords(Record):
    """What the words of a status say: the task was done or not, the infrastructure failed, nothing of the task."""

    passed: list[str]
    failed: list[str]
    infra: list[str]
    silent: list[str]


class LicenseRules(Record):
    """Files that state a licence, and how one that allows no commercial use is known."""

    cards: list[str]
    texts: list[str]
    pattern: PythonPattern
    title_pattern: PythonPattern

    def is_noncommercial(self, name: str) -> bool:
        """True for the name of a licence that allows no commercial use."""
        return re.search(self.pattern, name) is not None


class TableRules(Rules):
    """How rows that hold sessions are read (own choice, from the columns of public tables of scored sessions)."""

    FILE: ClassVar[str] = "tables.toml"
    longest_name: AtLeastOne
    depth: AtLeastOne
    top: list[str]
    columns: ColumnRules
    score: ScoreRules
    truth: TruthWords
    no_runs: list[NoRunRule] = Field(alias="no_run")
    status: StatusWords
    license: LicenseRules

    @model_validator(mode="after")
    def every_word_once(self) -> Self:
        """A word of two meanings would be decided by their order."""
        each_once([word for words in self.status.model_dump().values() for word in words], "several meanings", "status")
        return self

    @cached_property
    def wanted(self) -> frozenset[str]:
        """Every name of a column that is looked at."""
        return frozenset(name for names in self.columns.model_dump().values() for name in names)

    @cached_property
    def meaning_of_word(self) -> dict[str, str]:
        """Word of a status -> passed | failed | infra | silent."""
        return {word: meaning for meaning, words in self.status.model_dump().items() for word in words}

    def meaning(self, status: str) -> str | None:
        """What a status says; None for a word that no list has."""
        return self.meaning_of_word.get(BETWEEN_WORDS.sub("_", status.strip().lower()))

    def truth_of(self, word: str) -> bool | None:
        """The truth that a text is; None for any other text."""
        key = BETWEEN_WORDS.sub("_", word.strip().lower())
        if key in self.truth.yes or self.meaning_of_word.get(key) == "passed":
            return True
        return False if key in self.truth.no or self.meaning_of_word.get(key) == "failed" else None

    def why_no_run(self, row: Mapping[str, Any]) -> str | None:
        """What a row is that is no run of an agent; None for any other row."""
        return next((rule.what for rule in self.no_runs if all(row.get(name) for name in rule.columns)), None)

    def value(self, meaning: str, values: dict[str, Any]) -> Any:
        """The value of the column that says this (`task`, `score` …), null if no column does."""
        name = self.column(meaning, values)
        return None if name is None else values[name]

    def column(self, meaning: str, values: dict[str, Any]) -> str | None:
        """Name of the column that says this: of those with a value the least deep one, the first of the rules; None if
        no column does, or several of equal rank do. `values`: column, or path of a field with dots -> value."""
        names: list[str] = getattr(self.columns, meaning)
        may_be_deep = meaning not in self.top
        places = [
            (path.count("."), names.index(field), path)
            for path, value in values.items()
            if value is not None and (field := path.rpartition(".")[2]) in names and (field == path or may_be_deep)
        ]
        first = min(places, default=None)
        if first is None or sum(place[:2] == first[:2] for place in places) > 1:
            return None
        return first[2]

    def says_how_it_ended(self, values: dict[str, Any]) -> bool:
        """True if a row has a column for the outcome, whatever is in it."""
        names = {name for meaning in ANSWERS for name in getattr(self.columns, meaning)}
        return any(path.rpartition(".")[2] in names for path in values)
