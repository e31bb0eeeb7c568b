"""Step-level event descriptors and their cross-model alignment (paper T8-T10). Beside the text, never in it."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.records.vocabulary import LanguageCoverage
from openclawbench.tables.inherited_columns import InheritedColumns
from openclawbench.tables.record import STEP_KEY, Keyed, Record


class FlagEvidence(Record):
    """What fired a flag: a rule and the place in a field, in Unicode code points [start, end). A flag that is read from
    what a step is, or how it ended, has no place: `cause` is the rule that gave that."""

    flag: str
    rule_id: str
    field: str
    start: int | None
    end: int | None
    cause: str | None


class FieldLanguage(Record):
    """The language of the agent's own words in one field; null where nobody knows it."""

    field: str  # thinking | narration | action_text (of a reply)
    language: str | None  # ISO 639
    coverage: LanguageCoverage


class CommandPart(Record):
    """One part of a command line: a simple command or a redirection. The most consequential one names the step."""

    event_type: str | None  # null: by itself it is no event (`cd`, `echo`), or says how the text was read
    rule_id: str
    command: str  # its words, quotes and wrappers removed, the beginning; empty where it says how the text was read
    side_effect: bool
    target: str | None  # what it changes, as written


class Descriptor(Keyed):
    """The event descriptor of one step, before alignment; every value with the rule that gave it."""

    step_id: int
    event_type: str
    event_rule: str
    tool_name: str | None  # the real name, behind a wrapper and without its server
    tool_server: str | None  # the server that the session names with the tool: `fs` of `fs__read_file`
    tool_status: str | None
    status_rule: str | None
    side_effect: bool
    side_effect_rule: str
    artifact_target: str | None
    state_write_target: str | None
    command_parts: list[CommandPart]  # of a command or program text, in its order; empty for other calls
    auto_flags: list[str]
    flag_evidence: list[FlagEvidence]
    languages: list[FieldLanguage]  # of the agent's own words; empty for a step without any


class AlignedDescriptor(Descriptor):
    """The descriptor with tool name and category aligned across models; the former values stand beside."""

    INHERITED: ClassVar[InheritedColumns | None] = InheritedColumns(
        origins=(Descriptor,),
        select_inherited=lambda descriptors: (
            descriptors.select(*STEP_KEY, "command_parts", "flag_evidence", "languages"),
        ),
        keys=tuple(STEP_KEY),
        columns=("command_parts", "flag_evidence", "languages"),
    )
    REASONS: ClassVar[list[str]] = ["alignment_case"]
    tool_name_raw: str | None  # as the session wrote it
    previous_tool_name: str | None  # before alignment: the real name behind a wrapper
    previous_event_type: str
    alignment_case: str  # exact | fuzzy | kept | ambiguous | reply
    alignment_rule: str | None


Descriptors = Annotated[pl.LazyFrame, Descriptor]
AlignedDescriptors = Annotated[pl.LazyFrame, AlignedDescriptor]
