"""Loader of repairs.toml."""

import re
from typing import Annotated, ClassVar

from openclawbench.records.fulltax import (
    EvidenceQuote,
    Issue,
    RequiredFix,
    Span,
    StageA,
    StageB1,
    StageB2,
    StageC,
    SubtypeTrigger,
)
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import one_of
from openclawbench.tables.record import Record

ANSWERS = (StageA, StageB1, StageB2, StageC, EvidenceQuote, SubtypeTrigger, Span, Issue, RequiredFix)
AnswerField = Annotated[str, one_of(*dict.fromkeys(name for record in ANSWERS for name in record.model_fields))]
StructureField = Annotated[str, one_of(*StageB2.model_fields)]


class LabelFormat(Record):
    """Which fields hold labels, and which words in them mean null."""

    fields: list[AnswerField]
    nulls: list[str]
    nullable: list[AnswerField]


class OptionalB2(Record):
    """How a missing optional B2 field is filled."""

    fill_null: list[StructureField]
    fill_from_b1: list[StructureField]
    fill_empty: list[StructureField]


class Wrapping(Record):
    """What surrounds an answer, and how to separate both."""

    id: str
    pattern: PythonPattern

    def fits(self, text: str) -> re.Match[str] | None:
        """The match of the whole text; None if it is not so wrapped."""
        return re.fullmatch(self.pattern, text, re.DOTALL)


class TypeFormat(Record):
    """How values may be written as text."""

    true: list[str]
    false: list[str]
    nulls: list[str]


class Refusal(Record):
    """How a refusal in plain words begins."""

    beginnings: list[str]

    def is_one(self, text: str) -> bool:
        """True if a text that is not valid JSON begins like a refusal, whatever its case and apostrophes."""
        plain = text.lstrip(' \t\r\n"*_>#').replace("\u2019", "'").casefold()
        return plain.startswith(tuple(self.beginnings))


class RepairRules(Rules):
    """T29 as data."""

    FILE: ClassVar[str] = "repairs.toml"
    field_names: dict[str, AnswerField]
    label_format: LabelFormat
    optional_b2: OptionalB2
    fixes: dict[str, list[StructureField]]
    wrapping: list[Wrapping]
    type_format: TypeFormat
    refusal: Refusal
