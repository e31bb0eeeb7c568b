"""Loader of audit.toml."""

import re
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from pipeline.records.base import Record
from pipeline.rules.base import Rules


class EventSampleRules(Record):
    """How the event-evidence sample is drawn and shown."""

    at_least: int = Field(ge=1)
    characters: int = Field(ge=100)
    head_share: float = Field(ge=0, le=1)
    marker: str
    context_characters: int


class Answers(Record):
    """What a reviewer may write for is_supported."""

    supported: list[str]
    unsupported: list[str]


class Guard(Record):
    """Which cells a spreadsheet would change or carry out."""

    formula: str
    changed: str
    harmless: str

    @field_validator("formula", "changed", "harmless")
    @classmethod
    def compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"bad pattern {pattern!r}: {error}") from error
        return pattern


class AuditRules(Rules):
    """Everything about samples and sheets that a person may want to change."""

    FILE: ClassVar[str] = "audit.toml"
    FOLDER: ClassVar[Path] = Path(__file__).parent
    events: EventSampleRules
    answers: Answers
    guard: Guard
