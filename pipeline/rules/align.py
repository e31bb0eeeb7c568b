"""Loader of align.toml: TOOL_ALIAS_EXACT and FUZZY_TOOL_RULES (paper T10)."""

from typing import ClassVar

from pydantic import Field, field_validator, model_validator

from pipeline.records.base import Record
from pipeline.rules.base import Rules
from pipeline.rules.patterns import rust_pattern


class ExactAlias(Record):
    """Known names of one tool; without `tool` each name stands for itself."""

    id: str
    tool: str | None = None
    event_type: str | None = None
    names: list[str]


class FuzzyRule(Record):
    """A naming variant of one tool."""

    id: str
    tool: str
    event_type: str
    pattern: str

    @field_validator("pattern")
    @classmethod
    def compiles(cls, pattern: str) -> str:
        return rust_pattern(pattern)


class AlignRules(Rules):
    """Which names are one tool."""

    FILE: ClassVar[str] = "align.toml"
    other: str
    reply_case: str
    exact_case: str
    fuzzy_case: str
    kept_case: str
    ambiguous_case: str
    exact: list[ExactAlias]
    fuzzy: list[FuzzyRule] = Field(min_length=1)

    @model_validator(mode="after")
    def once(self) -> "AlignRules":
        """A name with two aliases would be decided by the order of the file."""
        names = [name for alias in self.exact for name in alias.names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"several exact aliases for {', '.join(twice)}")
        return self
