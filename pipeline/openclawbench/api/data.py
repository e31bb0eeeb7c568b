"""The work tables of a data folder, and a trajectory with everything known about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from openclawbench.api.explanation import Explanation, read_explanation
from openclawbench.api.run_result import RunSettings
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.inspect.explain.explain import explain as explain_trajectory
from openclawbench.inspect.export.tables import TABLES, read_table
from openclawbench.inspect.find import Key, find, fresh_rows, has_for, left_out, rows_for
from openclawbench.inspect.raw_records import raw_records, removed_records
from openclawbench.inspect.whatif.whatif import what_if_by_shard
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fulltax import Annotation
from openclawbench.records.packet import Evidence
from openclawbench.records.session import Step, Trajectory
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY, Record
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run


@dataclass(frozen=True)
class RawRecord:
    """A raw record behind a step, byte for byte. `line` counts from 1; `offset` and `length` are bytes of the source
    file (decompressed)."""

    step_id: int | None  # None for a record that only a copy of the session's file still holds
    part: str  # what of the step it holds: action, result, …
    source_file: str
    line: int
    offset: int
    length: int
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class StepView:
    """A step of a trajectory."""

    trajectory: "TrajectoryView" = field(repr=False)
    record: Step  # history, action and result
    descriptor: AlignedDescriptor  # event type, status, flags, targets

    @property
    def step_id(self) -> int:
        """The number of the step, from 1."""
        return self.record.step_id

    def raw(self) -> list[RawRecord]:
        """The raw records behind the step. UnreadableInput if the source file is gone or has changed."""
        return self.trajectory.raw(self.step_id)

    def explain(self) -> Explanation:
        """Why the values of the step are what they are."""
        return self.trajectory.explain(self.step_id)


@dataclass(frozen=True)
class TrajectoryView:
    """A trajectory with its steps, label and evidence. Each is read on first use. Raises NotFound if it is not up to
    date."""

    data: "Data" = field(repr=False)
    key: Key

    @property
    def source_model(self) -> str:
        """The model that acted."""
        return self.key.source_model

    @property
    def trajectory_id(self) -> str:
        """The id, unique within the source model."""
        return self.key.trajectory_id

    @cached_property
    def record(self) -> Trajectory:
        """Where it comes from, and how many steps it has."""
        return Trajectory.model_validate(self._rows(Trajectory)[0])

    @cached_property
    def steps(self) -> list[StepView]:
        """Its steps, in order."""
        descriptors = {row["step_id"]: AlignedDescriptor.model_validate(row) for row in self._rows(AlignedDescriptor)}
        records = sorted(map(Step.model_validate, self._rows(Step)), key=lambda step: step.step_id)
        return [StepView(self, record, descriptors[record.step_id]) for record in records]

    @cached_property
    def evidence(self) -> Evidence:
        """What a rules judge reads: steps and user turns with descriptors, without outcome and risk."""
        return Evidence.model_validate(self._rows(Evidence)[0])

    @cached_property
    def label(self) -> Annotation | None:
        """The label of the first pass; None if it is not annotated or not up to date."""
        if not has_for(self.data.state, Annotation, self.key):
            return None
        return Annotation.model_validate(self._rows(Annotation)[0])

    def raw(self, step: int | None = None) -> list[RawRecord]:
        """The raw records behind a step, or behind all steps. NotFound for a step that does not exist, UnreadableInput
        if the source file is gone or has changed."""
        return as_raw(raw_records(self.data.state, self.key, step))

    def removed(self) -> list[RawRecord]:
        """The records that the program took out of the session's file, or cut, and a copy still holds. UnreadableInput
        if the copy is gone or has changed."""
        return as_raw(removed_records(self.data.state, self.key))

    def explain(self, step: int | None = None) -> Explanation:
        """The rule behind each value, and the text that the rule matched; of one step, or of all."""
        return read_explanation(explain_trajectory(self.data.state, self.key, step))

    def _rows(self, record: type[Record]) -> list[dict[str, Any]]:
        return rows_for(self.data.state, record, self.key)


def as_raw(records: list[tuple[dict[str, Any], bytes]]) -> list[RawRecord]:
    """Raw records of (pointer, bytes) pairs."""
    names = RawRecord.__dataclass_fields__.keys() - {"content"}
    return [RawRecord(**{name: pointer[name] for name in names}, content=content) for pointer, content in records]


@dataclass(frozen=True)
class Data:
    """The work tables of a data folder as they were when it was opened. Nothing is computed or written.

    Frames hold the shards that are up to date; stale() says what is missing. Columns: schema(name).
    """

    path: Path
    state: Run = field(repr=False)

    def trajectories(self) -> pl.DataFrame:
        """One row per trajectory (schema("trajectory")), sorted by source_model, trajectory_id."""
        return self._frame(Trajectory, TRAJECTORY_KEY)

    def steps(self) -> pl.DataFrame:
        """One row per step (schema("step")), sorted by source_model, trajectory_id, step_id."""
        return self._frame(Step, STEP_KEY)

    def evidence(self) -> pl.DataFrame:
        """One row per step: its descriptor (schema("aligned_descriptor")), sorted as steps()."""
        return self._frame(AlignedDescriptor, STEP_KEY)

    def labels(self) -> pl.DataFrame:
        """One row per trajectory: the label of the first pass (schema("annotation"))."""
        return self._frame(Annotation, TRAJECTORY_KEY)

    def table(self, name: str) -> pl.DataFrame:
        """A table of `openclawbench export` (normalize, enrich, slice, merge, labels, …). UsageError for a table that
        does not exist, NotFound if none of it is up to date."""
        return read_table(self.state, name)

    def stale(self, name: str) -> str | None:
        """A sentence on the shards that table() leaves out because they are not up to date; None if all are."""
        if name not in TABLES:
            raise UsageError(f"{name}: there is no such table. Use one of: {', '.join(TABLES)}.")
        return left_out(self.state, TABLES[name])

    def trajectory(self, name: str) -> TrajectoryView:
        """One trajectory, by its id, MODEL/ID, or the beginning of an id or of its last 8 digits. NotFound if no
        trajectory matches, UsageError if several do."""
        return TrajectoryView(self, find(self.state, name))

    def explain(self, trajectory: str, step: int | None = None) -> Explanation:
        """Explain the values of a trajectory, or of one step of it."""
        return self.trajectory(trajectory).explain(step)

    def what_if(self, rules: Sequence[str | Path], *, examples: int = 3, packets: bool = False) -> dict[str, Any]:
        """What other rule files would change, as `openclawbench whatif --json`: rules, stages, moved, changes, sides.
        UsageError, InvalidRules or StageFailed if the rules cannot be used."""
        *_, (_, _, result) = self.what_if_by_shard(rules, examples=examples, packets=packets)
        return result

    def what_if_by_shard(
        self, rules: Sequence[str | Path], *, examples: int = 3, packets: bool = False
    ) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """what_if() after each shard: (shards done, of how many, the changes so far). The last has everything."""
        return what_if_by_shard(self.state, [Path(path) for path in rules], examples, packets)

    def _frame(self, record: type[Record], key: list[str]) -> pl.DataFrame:
        return fresh_rows(self.state, record).collect().sort(key)


def open_data(
    path: str | Path,
    *,
    raw: str | Path | None = None,
    oracle: str | Path | None = None,
    may_be_new: bool = False,
    **chosen: Unpack[RunSettings],
) -> Data:
    """Open a data folder that a run has filled. UnreadableInput if it is not one.

    `raw` and `oracle`: the inputs, if they have moved since the run. With `may_be_new` a folder that no run has filled
    opens too: all of its tables are stale.
    """
    folder = DataFolder(Path(path))
    if not may_be_new and not folder.work.is_dir():
        raise UnreadableInput(f"{folder.root}: is not a data folder. Make one with run().")
    inputs = {"raw": raw and str(raw), "oracle": oracle and str(oracle)}
    return Data(folder.root, open_run(folder, settings(folder, **inputs, **chosen)))


def explain(data: str | Path, trajectory: str, step: int | None = None) -> Explanation:
    """Explain the values of a trajectory of a data folder. For several questions, open the folder once."""
    return open_data(data).explain(trajectory, step)
