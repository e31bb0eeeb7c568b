"""Loader of packet.toml: which packets are judged, and in what order texts are shortened."""

import math
from typing import ClassVar, Literal, Self

import polars as pl
from pydantic import Field, field_validator, model_validator

from openclawbench.records.packet import EvidenceStep, PacketUserTurn
from openclawbench.rules.loading.conditions import condition_over, holds
from openclawbench.rules.loading.rule_file import NO_OVERRIDES, Overrides, Rules
from openclawbench.rules.loading.validation import Unfit
from openclawbench.tables.record import Record

STEP_TEXTS = {name for name, field in EvidenceStep.model_fields.items() if field.annotation == (str | None)}
USER_TEXTS = {name for name, field in PacketUserTurn.model_fields.items() if field.annotation is str}


def is_blind(reads: str, overrides: Overrides = NO_OVERRIDES) -> bool | None:
    """Whether the packets of a judge are blind; None for one that does not read packets. `reads`: as Judge has it."""
    return PacketRules.load(overrides=overrides).blind if reads == "packet" else None


class CutRule(Record):
    """One round: the texts that it shortens, and to how many characters."""

    id: str
    steps: Literal["other", "user", "bearing"]
    fields: list[str]
    keep: int = Field(ge=0)

    @model_validator(mode="after")
    def fields_hold_text(self) -> Self:
        """ValueError for a field that is not text."""
        texts = USER_TEXTS if self.steps == "user" else STEP_TEXTS
        if unknown := sorted(set(self.fields) - texts):
            raise Unfit(f"{', '.join(unknown)}: no such text; there is {', '.join(sorted(texts))}", *unknown)
        return self


class PacketRules(Rules):
    """Which packets are judged, and how one is compacted."""

    FILE: ClassVar[str] = "packet.toml"
    unmatched: Literal["exclude", "review"]
    blind: bool = False
    max_tokens: int = Field(gt=0)
    bytes_per_token: float = Field(gt=0)
    head_share: float = Field(ge=0, le=1)
    marker: str
    bearing: str
    rounds: list[CutRule] = Field(alias="round")

    _condition = field_validator("bearing")(condition_over(EvidenceStep))

    @field_validator("marker")
    @classmethod
    def marker_counts(cls, marker: str) -> str:
        """A marker says how much is missing."""
        if marker.count("{left}") != 1:
            raise ValueError('must hold "{left}", the number of characters left out, once')
        return marker

    @field_validator("rounds")
    @classmethod
    def evidence_last(cls, rounds: list[CutRule]) -> list[CutRule]:
        """Steps that bear evidence are shortened last."""
        places = {
            kind: [place for place, step_round in enumerate(rounds) if step_round.steps == kind]
            for kind in ("other", "bearing")
        }
        if places["other"] and places["bearing"] and min(places["bearing"]) < max(places["other"]):
            raise ValueError("every round of `other` steps must stand before those of `bearing` ones")
        return rounds

    @property
    def bears_evidence(self) -> pl.Expr:
        """True for a step that bears evidence."""
        return holds(self.bearing)

    def tokens(self, size: int) -> int:
        """Estimated tokens of so many bytes of JSON."""
        return math.ceil(size / self.bytes_per_token)
