"""Steps of a very long session, kept as compressed Parquet parts while the file is read.

They take a fortieth of the memory of rows. They are read again, and written, part by part.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import polars as pl

from openclawbench.records.session import Step
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.tables.schema import from_records, schema

Row = dict[str, Any]
PART_BYTES = 4 << 20  # raw bytes whose steps become one part
FILLED_LATER = (
    "resolved_by_step",
    "resolved_by_user_turn",
    "resolved_status",
)  # columns that a later record may still fill
KEPT_COLUMNS = (
    "step_id",
    "user_turn",
    "action_kind",
    "tool_name_raw",
    "has_result",
    "result_synthetic",
    "order_ambiguous",
    *FILLED_LATER,
)
TEXTS = ("arguments", "reflection_text", "result_details")


class StepSpool:
    """Moves the rows of a builder's list into parts. Rows that are needed again at the end of the session stay.

    These are the last row, the first of each user turn, and the rows that link background commands. They suffice to
    number the user turns, to link the commands and to tell how the session ended.
    """

    def __init__(self) -> None:
        self.parts: list[bytes] = []  # Parquet
        self.height = 0  # steps in them
        self.spooled_rows = 0  # rows at the head of the builder's list that are spooled already
        self.raw_bytes = 0

    def take_over(self, steps: list[Row], raw_bytes: int, rules: NormalizeRules) -> None:
        """Spool the builder's new steps once PART_BYTES have been read since the last part."""
        self.raw_bytes += raw_bytes
        if self.raw_bytes < PART_BYTES:
            return
        self.raw_bytes = 0
        self.spool(from_records(steps[self.spooled_rows :], Step))
        steps[self.spooled_rows :] = trim_rows(steps, self.spooled_rows, rules)
        self.spooled_rows = len(steps)

    def spool(self, steps: pl.DataFrame) -> None:
        """Keep steps as a part."""
        part = BytesIO()
        steps.write_parquet(part, compression="zstd", compression_level=1, statistics=False)
        self.parts.append(part.getvalue())
        self.height += steps.height

    def finish(self, steps: list[Row]) -> "SpooledSteps":
        """All steps. `steps`: the builder's list at the end of the session, whose rows fill FILLED_LATER."""
        self.spool(from_records(steps[self.spooled_rows :], Step))
        later = {
            name: {step["step_id"]: step[name] for step in steps if step[name] is not None} for name in FILLED_LATER
        }
        return SpooledSteps(self.parts, self.height, later)


@dataclass(frozen=True)
class SpooledSteps:
    """The steps of a very long session. `later`: step id -> value, of each column that was not known at first."""

    parts: list[bytes]
    height: int
    later: dict[str, dict[int, Any]]

    def __len__(self) -> int:
        return self.height

    def plans(self, key: dict[str, str | None]) -> list[pl.LazyFrame]:
        """Table of Step in parts, in the session's order."""
        kinds = schema(Step)
        key_columns = [pl.lit(value, kinds[name]).alias(name) for name, value in key.items()]
        for name, values in self.later.items():
            looked_up = pl.col("step_id").replace_strict(list(values), list(values.values()), default=None)
            key_columns.append((looked_up if values else pl.lit(None)).cast(kinds[name]).alias(name))
        return [pl.scan_parquet(part, glob=False).with_columns(key_columns) for part in self.parts]


def trim_rows(steps: list[Row], first: int, rules: NormalizeRules) -> list[Row]:
    """The rows from `first` on that stay in the list, without the texts that are not needed again."""
    kept_rows = []
    for index in range(first, len(steps)):
        step = steps[index]
        if may_be_linked(step, rules):
            kept_rows.append({name: step[name] for name in (*KEPT_COLUMNS, *TEXTS)})
        elif (
            index in (0, len(steps) - 1)
            or step["user_turn"] != steps[index - 1]["user_turn"]
            or step["order_ambiguous"]
        ):
            kept_rows.append({name: step[name] for name in KEPT_COLUMNS} | dict.fromkeys(TEXTS))
    return kept_rows


def may_be_linked(step: Row, rules: NormalizeRules) -> bool:
    """True for a step that leaves a command running, or may report that one ended."""
    details = step["result_details"]
    polls = step["tool_name_raw"] in rules.background.process_tools
    return polls or (details is not None and any(sign in details for sign in rules.open_signs))
