"""Loader of taxonomy.toml: which subtype belongs to which family, and what may be absorbed into what."""

from typing import ClassVar, Self, get_args

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import AbsorbedSubtype, Family, Subtype
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import each_once
from openclawbench.tables.record import Record


class SubtypeRule(Record):
    """A released subtype (paper T1) and its family (T17)."""

    name: Subtype
    family: Family
    definition: str
    not_where: str  # when it is not one


class Absorption(Record):
    """A released subtype that takes a candidate in, and when."""

    subtype: Subtype
    context: str


class CandidateRule(Record):
    """A candidate of T17 that is not released."""

    name: AbsorbedSubtype
    family: Family
    definition: str
    not_where: str
    into: list[Absorption]


class Taxonomy(Rules):
    """The closed label space."""

    FILE: ClassVar[str] = "taxonomy.toml"
    subtypes: list[SubtypeRule] = Field(alias="subtype")
    candidates: list[CandidateRule] = Field(alias="candidate")

    @model_validator(mode="after")
    def each_once(self) -> Self:
        """A name has one family, and there is each: what the taxonomy leaves out would have none."""
        each_once(
            [*(subtype.name for subtype in self.subtypes), *(candidate.name for candidate in self.candidates)],
            "stands twice",
            "name",
        )
        for rows, needed in ((self.subtypes, get_args(Subtype)), (self.candidates, get_args(AbsorbedSubtype))):
            if missing := sorted(set(needed) - {entry.name for entry in rows}):
                raise ValueError(f"lacks {', '.join(missing)}")
        return self

    def family(self, subtype: str) -> str | None:
        """L1 of an L2 name; None for a name outside the closed set."""
        return next((rule.family for rule in self.subtypes if rule.name == subtype), None)

    def absorbs(self, candidate: str, subtype: str) -> bool:
        """True if the absorption table lets `subtype` take `candidate` in."""
        into = next((rule.into for rule in self.candidates if rule.name == candidate), [])
        return any(entry.subtype == subtype for entry in into)

    def tables(self) -> dict[str, str]:
        """What the documents of the protocol say of the taxonomy: `subtypes`, a Markdown table, `candidates`, a list,
        and `absorption`, sentences."""
        head = "| family | subtype | positive evidence | not when |\n|---|---|---|---|"
        rows = (
            f"| {rule.family} | {rule.name} | {rule.definition.removesuffix('.')} | {rule.not_where} |"
            for rule in self.subtypes
        )
        return {
            "subtypes": "\n".join([head, *rows]),
            "candidates": "\n".join(f"- {rule.name}: {rule.definition}" for rule in self.candidates),
            "absorption": " ".join(
                f"{rule.name}: {', '.join(f'{way.subtype} if {way.context}' for way in rule.into)}."
                for rule in self.candidates
            ),
        }
