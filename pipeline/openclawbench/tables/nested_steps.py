"""Steps and user turns as a judge reads them: lists, one row a trajectory. What `packet` makes, and what Evidence has
from other tables where it is read (`borrowed.py`)."""

import polars as pl

from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import STEP_KEY


def nested(
    steps: pl.LazyFrame, aligned: pl.LazyFrame, user_turns: pl.LazyFrame, fields: list[str]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Of Step, AlignedDescriptor and UserTurn two tables: source_model, trajectory_id, steps; and user_turns instead of
    them. A trajectory that has none is not in it. `fields` of a step: Step's, and what only its descriptor has, unless
    it stands in `steps` already."""
    return nest(steps, aligned, fields), turns(user_turns)


def nest(steps: pl.LazyFrame, aligned: pl.LazyFrame, fields: list[str]) -> pl.LazyFrame:
    """The steps of a trajectory as a list of structs, in the order in which they stand, which is that of step_id: a
    group keeps the order of its rows."""
    known = set(steps.collect_schema().names())
    if others := [name for name in fields if name not in known]:
        steps = steps.join(aligned.select(*STEP_KEY, *others), on=STEP_KEY, how="left", maintain_order="left")
    return group_by_trajectory(steps, steps=pl.struct(fields))


def turns(user_turns: pl.LazyFrame) -> pl.LazyFrame:
    """User turns as the judge reads them."""
    return group_by_trajectory(user_turns, user_turns=pl.struct("user_turn", "kinds", text=spoken()))


def spoken() -> pl.Expr:
    """The text of a user turn as it is read and released: own words, or as written where no person speaks."""
    return pl.when(pl.col("text") == "").then(pl.col("raw_text")).otherwise(pl.col("text"))
