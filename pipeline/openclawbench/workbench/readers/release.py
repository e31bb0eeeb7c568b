"""A copy of a release, read: its records, without raw lines and rules, which a release does not hold."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import polars as pl

from openclawbench.api import Release, open_release
from openclawbench.errors import NotFound, UnreadableInput
from openclawbench.records.session import Trajectory
from openclawbench.release.release_folder import release_digest
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workbench.readers.index import complete_index, label_columns
from openclawbench.workbench.readers.reader import Reader, Row, label_of

NO_RAW = "a release holds no raw lines. Open the data folder that it was made from: `openclawbench view DIR`."
NO_RULES = "a release does not say which rule gave a value. Open the data folder that it was made from."
NOT_RELEASED = ("several_sessions", "divergent", "head_drop")  # marks of a session that a release leaves out


class ReleaseReader(Reader):
    """A release folder."""

    KIND: ClassVar[str] = "release"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.release: Release = open_release(path)
        self.stamp = release_digest(path)

    @property
    def digest(self) -> str:
        return self.stamp[:12]

    def has_changed(self) -> bool:
        try:
            return release_digest(self.path) != self.stamp
        except UnreadableInput:
            return True

    def notices(self) -> list[str]:
        return ["This is a release: it holds no raw lines, and does not say which rule gave a value."]

    @cached_property
    def keys(self) -> Mapping[tuple[str, str], str]:
        return {(model, name): model for model, name in self.index.select(TRAJECTORY_KEY).iter_rows()}

    @cached_property
    def index(self) -> pl.DataFrame:
        records = self.release.table()
        summary = pl.col("trace_summary").struct
        rows = records.select(
            *TRAJECTORY_KEY,
            *("num_steps", "task_id", "subset", "oracle_outcome", "risk_score", "risk_bucket", "slice_label"),
            end=summary.field("end"),
            behaviour=summary.field("behaviour"),
        )
        return complete_index(rows.join(label_columns(records), on=TRAJECTORY_KEY, how="left"), {})

    def packets(self) -> pl.LazyFrame:
        return self.release.table()

    def trajectory(self, model: str, trajectory_id: str) -> Row:
        key = {"source_model": model, "trajectory_id": trajectory_id}
        if (model, trajectory_id) not in self.keys:
            name = f"{model}/{trajectory_id}"
            raise NotFound(f"{name}: no trajectory has this id.{self.nearest(name)}")
        row = self.release.table(model).filter(**key).collect().to_dicts()[0]
        blank = dict.fromkeys(Trajectory.model_fields) | dict.fromkeys(NOT_RELEASED, False)
        risk = {name: row[name] for name in ("risk_score", "risk_score_raw", "risk_bucket", "slice_label")}
        steps = [step | {"timestamp": None, "first_line": None} for step in row["steps"]]
        shown = (
            blank | row | {"steps": steps, "has_raw": False, "risk": risk | {"risk_breakdown": row["risk_breakdown"]}}
        )
        return shown | {"label": label_of(row, row["stages"]), "second_label": None}

    def raw(self, model: str, trajectory_id: str, step: int) -> list[Row]:
        raise NotFound(f"{trajectory_id}: {NO_RAW}")

    def why(self, model: str, trajectory_id: str, step: int) -> Row:
        raise NotFound(f"{trajectory_id}: {NO_RULES}")
