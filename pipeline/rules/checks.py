"""Loader of checks.toml."""

import re
from typing import ClassVar

from pydantic import Field

from pipeline.records.base import Record
from pipeline.records.vocabulary import AutoFlag, EventType, Subtype
from pipeline.rules.base import Rules
from pipeline.rules.patterns import PythonPattern


class Coupling(Record):
    """What must be true of an anomalous span of this subtype."""

    subtype: Subtype
    message: str
    event_type: EventType | None = None
    flag_before_last_risky: AutoFlag | None = None


class CheckRules(Rules):
    """Lists behind the deterministic checks."""

    FILE: ClassVar[str] = "checks.toml"
    oracle_words: PythonPattern
    couplings: list[Coupling] = Field(alias="coupling")

    def names_oracle(self, text: str) -> bool:
        """True where the text speaks of the outcome or of a prior."""
        return re.search(self.oracle_words, text) is not None
