"""Loader of audit.toml."""

import re
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from openclawbench.rules.loading.numbers import Count
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record

Probability = Annotated[float, Field(gt=0, lt=1)]


class ShownTexts(Record):
    """How long texts are shown in a CSV sheet."""

    characters: int = Field(ge=100)
    head_share: float = Field(ge=0, le=1)
    marker: str


class EventSampleRules(ShownTexts):
    """How the event-evidence sample is drawn and shown."""

    at_least: int = Field(ge=1)
    context_characters: Count


class CalibrationRules(ShownTexts):
    """How the calibration sample is shown, and how much of its report."""

    disagreement_rows: int = Field(ge=1)
    at_least: int = Field(default=10, ge=1)
    expected_ppv: Probability = 0.78
    expected_for: Probability = 0.01


class Answers(Record):
    """The answers that a reviewer may write, in lower case."""

    supported: list[str]  # is_supported, evidence_supported, adjudication
    unsupported: list[str]
    anomalous: list[str]  # human_anomaly_label
    normal: list[str]
    unresolved: list[str]
    nowhere: list[str]  # human_onset: no step can be named


class Guard(Record):
    """The cells that a spreadsheet would change or execute."""

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
    events: EventSampleRules
    calibration: CalibrationRules
    answers: Answers
    guard: Guard
