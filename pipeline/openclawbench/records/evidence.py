"""Step-level event descriptors and their cross-model alignment (paper T8-T10): beside the text, never in it."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.records.vocabulary import LanguageCoverage
from openclawbench.tables.inherited_columns import InheritedColumns
from openclawbench.tables.record import STEP_KEY, Keyed, Record


class FlagEvidence(Record):
    """What fired a flag: a rule and the place in a field, in Unicode code points [start, end). A flag that follows from
    the step's category or status has no place; `cause` is then the rule that gave the category or status."""

    flag: str
    rule_id: str
    field: str
    start: int | None
    end: int | None
    cause: str | None


class FieldLanguage(Record):
    """The language of the agent's own words in one field of a step."""

    field: str
    language: str | None
    coverage: LanguageCoverage


class CommandPart(Record):
    """One part of a command line: a simple command or a redirection. The most consequential one names the step."""

    event_type: str | None
    rule_id: str
    command: str
    side_effect: bool
    target: str | None


class Descriptor(Keyed):
    """The event descriptor of one step before alignment, with the rule behind every value (paper T8, T9)."""

    step_id: int
    event_type: str
    event_rule: str
    tool_name: str | None
    tool_server: str | None
    tool_status: str | None
    status_rule: str | None
    side_effect: bool
    side_effect_rule: str
    artifact_target: str | None
    state_write_target: str | None
    command_parts: list[CommandPart]
    auto_flags: list[str]
    flag_evidence: list[FlagEvidence]
    languages: list[FieldLanguage]


class AlignedDescriptor(Descriptor):
    """The descriptor with tool name and category aligned across models, beside the values before (paper T10)."""

    INHERITED: ClassVar[InheritedColumns | None] = InheritedColumns(
        origins=(Descriptor,),
        select_inherited=lambda descriptors: (
            descriptors.select(*STEP_KEY, "command_parts", "flag_evidence", "languages"),
        ),
        keys=tuple(STEP_KEY),
        columns=("command_parts", "flag_evidence", "languages"),
    )
    REASONS: ClassVar[list[str]] = ["alignment_case"]
    tool_name_raw: str | None
    previous_tool_name: str | None
    previous_event_type: str
    alignment_case: str
    alignment_rule: str | None


Descriptors = Annotated[pl.LazyFrame, Descriptor]
AlignedDescriptors = Annotated[pl.LazyFrame, AlignedDescriptor]
