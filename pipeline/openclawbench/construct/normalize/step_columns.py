"""Steps of a shard as columns, converted session by session. As rows they would take five times the memory until the
shard is done."""

from itertools import chain, groupby, repeat
from typing import Any

import polars as pl

from openclawbench.records.session import RawRecord, Step
from openclawbench.sources.io.step_spool import SpooledSteps
from openclawbench.sources.step_builder import BLANK_STEP
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import StreamedTable, from_columns, list_column, schema

Row = dict[str, Any]
Key = dict[str, str | None]
POINTER = list(RawRecord.model_fields)
AT_ONCE = 2000  # steps that are kept as lists of values; then they become a table


class StepColumns:
    """Every column of Step but the key, which is known once all sessions of the shard are."""

    def __init__(self) -> None:
        self.tables: list[pl.DataFrame] = []
        self.height = 0  # of the tables
        self.values: dict[str, list[Any]] = {name: [] for name in BLANK_STEP}
        self.pointers: dict[str, list[Any]] = {
            name: [] for name in POINTER
        }  # of the lists in `raw`, one after the other

    def add(self, steps: list[Row]) -> range:
        """Take over the steps of a session, each made of a BLANK_STEP; which rows of the columns they are."""
        raw_records = self.values["raw"]
        if len(raw_records) >= AT_ONCE:
            self.tabulate()
        start = self.height + len(raw_records)
        for name, values in self.values.items():
            values.extend(step[name] for step in steps)
        flat = list(chain.from_iterable(raw_records[start - self.height :]))
        for name, values in self.pointers.items():
            values.extend(pointer[name] for pointer in flat)
        raw_records[start - self.height :] = map(len, raw_records[start - self.height :])
        return range(start, start + len(steps))

    def tabulate(self) -> None:
        """Make a table of the lists; they are empty afterwards."""
        raw_records = self.values.pop("raw")
        raw = list_column("raw", raw_records, from_columns(self.pointers, schema(RawRecord)))
        self.tables.append(from_columns(self.values, schema(Step)).with_columns(raw))
        self.height += len(raw_records)
        self.values["raw"] = raw_records
        for values in (*self.values.values(), *self.pointers.values()):
            values.clear()

    def table(self, sessions: list[tuple[Key, range | SpooledSteps]]) -> Any:
        """Table of Step, lazy: (key, steps) of each session, in the order in which they were taken over. Rows of the
        columns that are not of a session are left out. StreamedTable where a very long session is among them."""
        if not any(isinstance(steps, SpooledSteps) for _, steps in sessions):
            return self.frame([(key, steps) for key, steps in sessions if isinstance(steps, range)]).lazy()
        plans = []
        for is_spooled, group in groupby(sessions, lambda session: isinstance(session[1], SpooledSteps)):
            if is_spooled:
                plans += [plan for key, steps in group if isinstance(steps, SpooledSteps) for plan in steps.plans(key)]
            else:
                plans.append(self.frame([(key, steps) for key, steps in group if isinstance(steps, range)]).lazy())
        return StreamedTable(plans)

    def frame(self, sessions: list[tuple[Key, range]]) -> pl.DataFrame:
        """Table of Step: those of these sessions."""
        self.tabulate()
        kinds, all_steps = schema(Step), pl.concat(self.tables)
        self.tables = [all_steps]
        heights = [len(steps) for _, steps in sessions]
        if sum(heights) < all_steps.height:
            parts = [all_steps[steps.start : steps.stop] for _, steps in sessions]
            all_steps = pl.concat(parts) if parts else all_steps.clear()
        keys = {
            name: list(chain.from_iterable(map(repeat, (key[name] for key, _ in sessions), heights)))
            for name in TRAJECTORY_KEY
        }
        return from_columns(keys, kinds).hstack(all_steps).select(list(kinds))
