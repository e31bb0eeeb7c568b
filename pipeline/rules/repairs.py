"""Loader of repairs.toml."""

from typing import ClassVar

from pipeline.records.base import Record
from pipeline.rules.base import Rules


class LabelFormat(Record):
    """Which fields hold labels, and which words in them mean null."""

    fields: list[str]
    nulls: list[str]
    nullable: list[str]


class OptionalB2(Record):
    """How a missing optional B2 field is filled."""

    fill_null: list[str]
    fill_from_b1: list[str]
    fill_empty: list[str]


class Refusal(Record):
    """How a refusal in plain words begins."""

    beginnings: list[str]

    def is_one(self, text: str) -> bool:
        """True where a text that is no JSON begins like a refusal, whatever its case and apostrophes."""
        plain = text.lstrip(' \t\r\n"*_>#').replace("\u2019", "'").casefold()
        return plain.startswith(tuple(self.beginnings))


class RepairRules(Rules):
    """T29 as data."""

    FILE: ClassVar[str] = "repairs.toml"
    field_names: dict[str, str]
    label_format: LabelFormat
    optional_b2: OptionalB2
    fixes: dict[str, list[str]]
    refusal: Refusal
