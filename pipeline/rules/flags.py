"""Loader of flags.toml: automatic process flags and what fires them."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field, field_validator

from pipeline.records.base import Record
from pipeline.records.vocabulary import AutoFlag, EventType, ToolStatus
from pipeline.rules.base import Rules
from pipeline.rules.patterns import IGNORE_CASE, RustPattern, rust_pattern, union


def words(pattern: str) -> str:
    """A pattern over words: case does not matter, a straight apostrophe stands for the curly one too."""
    return rust_pattern(IGNORE_CASE + pattern.replace("'", "['’]"), pattern)


def several_words(patterns: list[str]) -> list[str]:
    """words of several patterns."""
    return list(map(words, patterns))


WordPatterns = Annotated[list[str], AfterValidator(several_words)]
WordPattern = Annotated[str, AfterValidator(words)]


class FlagExclusion(Record):
    """What takes a text flag back when it stands in the same sentence."""

    name: AutoFlag
    unless: WordPatterns


class TextRule(Record):
    """Words that fire a flag, and those that take this rule alone back when they stand in the same sentence."""

    id: str
    flag: AutoFlag
    pattern: WordPattern
    unless: WordPatterns = Field(default_factory=list)
    rare: bool = False


class StructureRules(Record):
    """Rule ids of the flags that are read from the step's structure."""

    write_under_uncertainty: str
    memory_write: str
    error_signal: str
    external_interaction: str
    retry_of_failed: str
    capability_gap: str


class FlagRules(Rules):
    """Everything that fires a flag."""

    FILE: ClassVar[str] = "flags.toml"
    order: list[AutoFlag]
    write_categories: list[EventType]
    error_statuses: list[ToolStatus]
    gap_statuses: list[ToolStatus]
    fields: list[Literal["thinking", "narration", "action_text"]]
    pieces: RustPattern
    not_own: RustPattern
    rules: StructureRules
    flags: list[FlagExclusion] = Field(alias="flag")
    texts: list[TextRule] = Field(alias="text")

    @field_validator("order")
    @classmethod
    def every_flag_once(cls, order: list[AutoFlag]) -> list[AutoFlag]:
        """A flag that stands nowhere in the order could not be listed."""
        if sorted(order) != sorted(get_args(AutoFlag)):
            raise ValueError(f"needs each of {', '.join(get_args(AutoFlag))} once")
        return order

    def anything(self, *, rare: bool) -> str:
        """One pattern that is found where any of the rare, or of the other, text rules' patterns is."""
        return union(rule.pattern for rule in self.texts if rule.rare is rare)

    def unless(self, flag: str) -> list[str]:
        """Patterns that take the flag back."""
        return [pattern for one in self.flags if one.name == flag for pattern in one.unless]
