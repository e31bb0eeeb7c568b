"""Loader of sent.toml: what a packet says only where it is not as usual."""

from typing import Any, ClassVar, Self, get_args

from pydantic import Field, field_validator, model_validator

from openclawbench.records.packet import EvidenceStep, Packet, PacketUserTurn
from openclawbench.records.vocabulary import ActionKind, EventType, ToolStatus, UserTurnKind
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import Unfit, each_of
from openclawbench.tables.record import Record

KEY = ("trajectory_id", "steps", "user_turns")  # what a packet is sent for
CLOSED = {"action_kind": ActionKind, "event_type": EventType, "tool_status": ToolStatus, "kinds": UserTurnKind}


class Usual(Record):
    """Values of a step that has, or lacks, a field."""

    has: str | None = Field(alias="with", default=None)
    lacks: str | None = Field(alias="without", default=None)
    values: dict[str, Any]

    @model_validator(mode="after")
    def one_condition(self) -> Self:
        """ValueError if a field is unknown or there is not one condition."""
        if (self.has is None) == (self.lacks is None):
            raise ValueError("has either `with` or `without`")
        check_fields({self.has or self.lacks or "", *self.values}, EvidenceStep)
        of_closed_sets(self.values)
        return self

    def of(self, step: dict[str, Any]) -> dict[str, Any]:
        """The values that go without saying in this step."""
        applies = step.get(self.has) is not None if self.has else step.get(self.lacks or "") is None
        return self.values if applies else {}


class SentRules(Rules):
    """How a packet is written for a language model."""

    FILE: ClassVar[str] = "sent.toml"
    leave_out: list[str]
    id_digits: int = Field(ge=8, le=64)
    carried: list[str]
    same_as: dict[str, str]
    usual: list[Usual]
    usual_user_turn: dict[str, Any]

    @field_validator("leave_out")
    @classmethod
    def not_what_is_judged(cls, names: list[str]) -> list[str]:
        """Fields of a packet, but not what it is sent for."""
        check_fields(set(names), Packet)
        if needed := sorted(set(names) & set(KEY)):
            raise Unfit(f"{', '.join(needed)}: a packet cannot do without", *needed)
        return names

    @field_validator("carried", "same_as")
    @classmethod
    def of_a_step(cls, names: Any) -> Any:
        """Fields of a step."""
        check_fields({*names, *(names.values() if isinstance(names, dict) else ())}, EvidenceStep)
        return names

    @field_validator("usual_user_turn")
    @classmethod
    def of_a_turn(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Fields of a user turn."""
        check_fields(set(values), PacketUserTurn)
        of_closed_sets(values)
        return values


def check_fields(names: set[str], record: type[Record]) -> None:
    """ValueError for a name that is not a field of the record."""
    if unknown := sorted(names - set(record.model_fields)):
        raise Unfit(f"{', '.join(unknown)}: no field of {record.__name__}", *unknown)


def of_closed_sets(values: dict[str, Any]) -> None:
    """Unfit for a value outside its field's closed set."""
    for name, kind in CLOSED.items():
        held = values.get(name)
        each_of(held if isinstance(held, list) else [held] if held is not None else [], get_args(kind))
