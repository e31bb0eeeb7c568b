"""Loader of flags.toml: automatic process flags and what fires them."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, Field, field_validator

from openclawbench.records.vocabulary import AutoFlag, EventType, ToolStatus
from openclawbench.rules.construct.language import LanguageCode
from openclawbench.rules.loading.patterns import IGNORE_CASE, RustPattern, rust_pattern, union
from openclawbench.rules.loading.references import Other, texts_at
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit
from openclawbench.tables.record import Record


def words(pattern: str) -> str:
    """A pattern over words: case does not matter, a straight apostrophe stands for the curly one too."""
    return rust_pattern(IGNORE_CASE + pattern.replace("'", "['’]"), pattern)


def each_as_words(patterns: list[str]) -> list[str]:
    """Apply `words` to each pattern."""
    return list(map(words, patterns))


WordPatterns = Annotated[list[str], AfterValidator(each_as_words)]
WordPattern = Annotated[str, AfterValidator(words)]


class FlagExclusion(Record):
    """What takes a text flag back when it is in the same sentence."""

    name: AutoFlag
    language: LanguageCode = "en"
    unless: WordPatterns


class TextRule(Record):
    """Words that fire a flag, and those that take this rule alone back when they are in the same sentence."""

    id: str
    flag: AutoFlag
    language: LanguageCode = "en"
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

    @cached_property
    def languages(self) -> list[str]:
        """Languages in which there are text rules, in the order of the rules."""
        return list(dict.fromkeys(rule.language for rule in self.texts))

    def of(self, language: str, *, rare: bool) -> list[TextRule]:
        """The rare, or the other, text rules of a language."""
        return [rule for rule in self.texts if rule.language == language and rule.rare is rare]

    def anything(self, language: str, *, rare: bool) -> str:
        """One pattern that is found where any of the rare, or of the other, text rules' patterns of a language is."""
        return union(rule.pattern for rule in self.of(language, rare=rare))

    def unless(self, flag: str, language: str) -> list[str]:
        """Patterns that take the flag back in a language."""
        exceptions = (
            exception for exception in self.flags if exception.name == flag and exception.language == language
        )
        return [pattern for exception in exceptions for pattern in exception.unless]

    def against(self, other: Other) -> None:
        """Unfit if language.toml calls a language covered in which a text flag has no rule."""
        flags = {rule.flag for rule in self.texts}
        for language in texts_at(other("language.toml"), "covered"):
            if missing := sorted(flags - {rule.flag for rule in self.texts if rule.language == language}):
                problem = (
                    f"language.toml says that {language} is covered, but no text rule in it gives {', '.join(missing)}"
                )
                raise Unfit(problem, language, keys=["language"])
