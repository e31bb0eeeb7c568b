"""What every record shares: it is closed and frozen, and it is keyed by (source_model, trajectory_id)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from openclawbench.tables.inherited_columns import InheritedColumns

TRAJECTORY_KEY = ["source_model", "trajectory_id"]
STEP_KEY = [*TRAJECTORY_KEY, "step_id"]
Integer = Annotated[int, Field(ge=-(2**63), lt=2**63)]  # that somebody else wrote, and a column must hold


class Record(BaseModel):
    """One row, or a struct inside one. Closed: an unknown column is an error, so that nothing disappears in a frame."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    REASONS: ClassVar[list[str]] = []  # columns by which a stage's manifest counts its rows
    ROWS_AT_ONCE: ClassVar[int] = 16_384  # of a part, written and read together: bounds the memory that this takes
    COUNTS: ClassVar[list[str]] = []  # columns of named counts that a stage's manifest sums
    INHERITED: ClassVar[InheritedColumns | None] = None  # columns that other tables have


class Keyed(Record):
    """A row of one trajectory. BFCL task ids repeat across models, so the joint key is always both fields."""

    source_model: str
    trajectory_id: str


class Count(Record):
    """A named number, e.g. how many records of a file ended under one reason."""

    name: str
    count: int


def named_counts(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Counts as {name, count} in the order of their names; zeros left out."""
    return [{"name": name, "count": count} for name, count in sorted(counts.items()) if count]
