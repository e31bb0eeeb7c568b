"""Steps and user turns as a judge reads them: lists, one row a trajectory.

`packet` makes them, and Evidence inherits them when it is read (inherited_columns.py).
"""

import polars as pl

from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import STEP_KEY


def nest_steps_and_turns(
    steps: pl.LazyFrame, aligned: pl.LazyFrame, user_turns: pl.LazyFrame, fields: list[str]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """(source_model, trajectory_id, steps) and (source_model, trajectory_id, user_turns), from tables of Step,
    AlignedDescriptor and UserTurn. A trajectory without steps, or turns, is not in the table.

    `fields`: what a nested step has. A field that `steps` lacks is taken from `aligned`.
    """
    columns = set(steps.collect_schema().names())
    if unknown := [name for name in fields if name not in columns]:
        steps = steps.join(aligned.select(*STEP_KEY, *unknown), on=STEP_KEY, how="left", maintain_order="left")
    turn = pl.struct("user_turn", "kinds", text=visible_text())
    return group_by_trajectory(steps, steps=pl.struct(fields)), group_by_trajectory(user_turns, user_turns=turn)


def visible_text() -> pl.Expr:
    """The text of a user turn as it is read and released: a person's own words, or the raw text if there are none."""
    return pl.when(pl.col("text") == "").then(pl.col("raw_text")).otherwise(pl.col("text"))
