"""Loader of checks.toml."""

import re
from typing import ClassVar, Self

from pydantic import Field, model_validator

from openclawbench.records.packet import EvidenceStep
from openclawbench.records.vocabulary import AutoFlag, EventType, EvidenceField, Subtype, ToolStatus
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record


class Coupling(Record):
    """What must be true of an anomalous span of this subtype."""

    subtype: Subtype
    message: str
    event_type: EventType | None = None
    flag: AutoFlag | None = None
    before_last_risky: bool = False
    cited: list[EvidenceField]

    @model_validator(mode="after")
    def one_descriptor(self) -> Self:
        """ValueError if there is not one descriptor to look for."""
        if (self.event_type is None) == (self.flag is None):
            raise ValueError("has either `event_type` or `flag`")
        return self

    @property
    def field(self) -> str:
        """The descriptor's name."""
        return "event_type" if self.event_type else "auto_flags"

    def value(self, step: EvidenceStep) -> str | list[str]:
        """The descriptor's value."""
        return step.event_type if self.event_type else step.auto_flags

    def wanted(self, step: EvidenceStep) -> str | list[str]:
        """The value that would show what is needed."""
        return self.event_type or [*step.auto_flags, str(self.flag)]

    def shown_by(self, step: EvidenceStep) -> bool:
        """True if the descriptor shows what is needed."""
        return step.event_type == self.event_type if self.event_type else self.flag in step.auto_flags

    def descriptor(self, step: EvidenceStep) -> str:
        """The descriptor as a citation writes it."""
        held = self.value(step)
        return f"{self.field}={held if isinstance(held, str) else ','.join(held) or 'none'}"


class CheckRules(Rules):
    """Lists behind the deterministic checks."""

    FILE: ClassVar[str] = "checks.toml"
    oracle_words: PythonPattern
    reads_only: list[str]
    not_carried_out: list[ToolStatus]
    couplings: list[Coupling] = Field(alias="coupling")

    def of(self, subtype: str | None) -> list[Coupling]:
        """The couplings of a subtype."""
        return [coupling for coupling in self.couplings if coupling.subtype == subtype]

    def may_write(self, step: EvidenceStep) -> bool:
        """True for a call that was carried out, of a tool that can write."""
        is_call = step.tool_name is not None and step.tool_name not in self.reads_only
        return is_call and step.tool_status not in self.not_carried_out

    def names_oracle(self, text: str) -> bool:
        """True if the text speaks of the outcome or of a prior."""
        return re.search(self.oracle_words, text) is not None
