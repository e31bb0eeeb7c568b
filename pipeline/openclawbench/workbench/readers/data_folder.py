"""A data folder, read as the last run left it. What is stale is found out in the background and said on the pages."""

import threading
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from openclawbench.api import Data, TrajectoryView, open_data
from openclawbench.base.terminal import one_line
from openclawbench.errors import NotFound, OpenClawBenchError
from openclawbench.inspect.explain.explain import TrajectoryTables, explain_steps
from openclawbench.inspect.find import Key, fresh, has_for, trajectory_keys
from openclawbench.records.fulltax import Annotation
from openclawbench.records.oracle import Fused
from openclawbench.records.packet import Evidence
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.second_pass import PASS2
from openclawbench.records.session import Step, TraceSummaryRow, Trajectory
from openclawbench.runtime.run import Run, digest
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY, Record
from openclawbench.workbench.readers.index import complete_index, label_columns, second_columns
from openclawbench.workbench.readers.reader import Reader, Row, label_of
from openclawbench.workspace.last_run import differences, last_run

OPENED = 16  # trajectories whose rows are kept
RAW = ("step_id", "source_file", "part", "line", "offset", "length", "content")  # of a raw record, on a page
TABLES: tuple[type[Record], ...] = (Trajectory, TraceSummaryRow, Fused, Risk, Annotation)

SHOWN = (*TABLES, Onset, Step, Evidence, PASS2[Annotation])  # on the page of a trajectory


class Rows(TrajectoryTables):
    """The rows of one trajectory, each table read once."""

    def rows(self, record: type[Record]) -> list[Row]:
        cache: dict[type[Record], list[Row]] = self.__dict__.setdefault("cache", {})
        if record not in cache:
            cache[record] = super().rows(record)
        return cache[record]

    def read(self, *records: type[Record]) -> None:
        """Read tables at once; those that are not there are left out."""
        cache: dict[type[Record], list[Row]] = self.__dict__.setdefault("cache", {})
        wanted = [record for record in records if record not in cache and has_for(self.run, record, self.key)]
        model, name, shard = self.key
        frames = [
            self.run.data.scan(record, {shard: self.run.keys[record][shard]}).filter(
                source_model=model, trajectory_id=name
            )
            for record in wanted
        ]
        for record, frame in zip(wanted, pl.collect_all(frames), strict=True):
            cache[record] = frame.to_dicts()

    def row(self, record: type[Record]) -> Row | None:
        """Its only row of a table; None if the table is not there for it."""
        if not has_for(self.run, record, self.key):
            return None
        rows = self.rows(record)
        return rows[0] if rows else None


class DataReader(Reader):
    """The work tables of a data folder."""

    KIND: ClassVar[str] = "data folder"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.folder = DataFolder(path)
        self.run = last_run(self.folder)
        self.manifests = self.stamps()
        self.opened = lru_cache(maxsize=OPENED)(self.open)
        self.current: Run | None = None  # with the intake, once it has been looked at
        self.stale: list[str] = []
        self.looked = threading.Event()
        threading.Thread(target=self.look, name="staleness", daemon=True).start()

    def look(self) -> None:
        """Find out what is stale, in the background: every input, rule and module is looked at."""
        try:
            run = open_data(self.path).state
            behind = [
                record.__name__
                for record in (Trajectory, Evidence, Annotation)
                if run.keys[record] != self.run.keys.get(record)
            ]
            if behind and self.run.keys[Trajectory]:
                changed = differences(run)
                self.changed_rules = changed.rules
                self.stale = [
                    f"Changed since the last run: {changed}. These pages show what the last run made. "
                    f"Run `openclawbench run --data {one_line(str(self.path))}`."
                ]
            elif behind:  # a run that has not come to its end
                self.run = run
                self.__dict__.pop("index", None)
                self.__dict__.pop("keys", None)
            self.current = run
        except OpenClawBenchError as error:
            self.stale = [one_line(str(error))]
        finally:
            self.looked.set()

    def stamps(self) -> dict[str, int]:
        """Manifest -> time of its last change."""
        folder = self.folder.work / "manifests"
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")} if folder.is_dir() else {}

    @property
    def digest(self) -> str:
        keys = [f"{record.__name__}{sorted(self.run.keys[record].items(), key=str)}" for record in TABLES]
        return digest(*keys)[:12]

    def has_changed(self) -> bool:
        return self.stamps() != self.manifests

    def notices(self) -> list[str]:
        if not self.keys:
            return []
        missing = [record.__name__ for record in TABLES if len(fresh(self.run, record)) < len(self.run.keys[record])]
        gone = f"Parts of {', '.join(missing)} are gone, and their trajectories are left out. Reload the page."
        return [*self.stale, *([gone] if missing else [])]

    @cached_property
    def keys(self) -> Mapping[tuple[str, str], Key]:
        try:
            return {key[:2]: key for key in trajectory_keys(self.run)}
        except NotFound:
            return {}

    @cached_property
    def index(self) -> pl.DataFrame:
        rows = self.table(Trajectory).select(*TRAJECTORY_KEY, "num_steps")
        summary = pl.col("trace_summary").struct.field("end")
        joined: dict[type[Record], Callable[[pl.LazyFrame], pl.LazyFrame]] = {
            TraceSummaryRow: lambda table: table.select(*TRAJECTORY_KEY, "behaviour", end=summary),
            Fused: lambda table: table.select(*TRAJECTORY_KEY, "task_id", "subset", "oracle_outcome"),
            Risk: lambda table: table.select(*TRAJECTORY_KEY, "risk_score", "risk_bucket", "slice_label"),
            Annotation: label_columns,
            PASS2[Annotation]: second_columns,
        }
        for record, columns in joined.items():
            rows = rows.join(columns(self.table(record)), on=TRAJECTORY_KEY, how="left")
        return complete_index(rows, {})

    def packets(self) -> pl.LazyFrame:
        return self.table(Evidence)

    def table(self, record: type[Record]) -> pl.LazyFrame:
        """The parts of a table that are there."""
        return self.folder.scan(record, fresh(self.run, record) if record in self.run.keys else {})

    def open(self, model: str, trajectory_id: str) -> Rows:
        """The rows of a trajectory. NotFound if it does not exist."""
        if (model, trajectory_id) not in self.keys:
            name = f"{model}/{trajectory_id}"
            raise NotFound(f"{name}: no trajectory has this id.{self.nearest(name)}")
        return Rows(self.run, self.keys[model, trajectory_id])

    def trajectory(self, model: str, trajectory_id: str) -> Row:
        rows = self.opened(model, trajectory_id)
        rows.read(*(record for record in SHOWN if record in self.run.keys))
        session, summary = rows.rows(Trajectory)[0], rows.row(TraceSummaryRow)
        fused, risk, onset = rows.row(Fused) or {}, rows.row(Risk), rows.row(Onset)
        names = ("task_id", "subset", "attempt", "oracle_outcome", "oracle")
        shown = session | {name: fused.get(name, session.get(name)) for name in names}
        shown |= {"trace_summary": summary and summary["trace_summary"], "has_raw": True}
        shown |= self.texts(rows)
        shown["risk"] = risk
        shown["onset_candidates"] = onset and onset["onset_candidates"]
        shown["label"] = annotation(rows.row(Annotation))
        shown["second_label"] = annotation(rows.row(PASS2[Annotation])) if PASS2[Annotation] in self.run.keys else None
        return shown

    def texts(self, rows: Rows) -> Row:
        """User turns and steps with descriptors; from the steps alone where the packet is not there yet."""
        places = {row["step_id"]: row for row in rows.rows(Step)}
        evidence = rows.row(Evidence)
        if evidence is None:
            raise NotFound(
                f"{rows.key.trajectory_id}: has no event descriptors yet. Run `openclawbench run --data {self.path}`."
            )
        steps = [step | place(places[step["step_id"]]) for step in evidence["steps"]]
        return {**{name: evidence[name] for name in ("user_turns", "compacted", "languages")}, "steps": steps}

    def raw(self, model: str, trajectory_id: str, step: int) -> list[Row]:
        key = self.opened(model, trajectory_id).key
        records = TrajectoryView(Data(self.path, self.with_inputs()), key).raw(step)
        return [{name: getattr(record, name) for name in RAW} for record in records]

    def looked_at(self) -> Run:
        """The run as it would be now, once inputs, rules and program have been looked at. NotFound if they cannot."""
        self.looked.wait()
        if self.current is None:
            raise NotFound(" ".join(self.stale))
        return self.current

    def with_inputs(self) -> Run:
        """What the last run made, with the inputs as they are now."""
        run = Run(self.folder, self.looked_at().intake, self.run.judges[1], second=self.run.judges[2])
        run.keys = self.run.keys
        return run

    def why(self, model: str, trajectory_id: str, step: int) -> Row:
        return explain_steps(self.opened(model, trajectory_id), step)[0]


def place(step: Row) -> Row:
    """When a step happened, and its first raw line."""
    return {"timestamp": step["timestamp"], "first_line": min((raw["line"] for raw in step["raw"]), default=None)}


def annotation(row: Row | None) -> Row | None:
    """An Annotation as the label of a page."""
    if row is None:
        return None
    stages: dict[str, Any] = {stage: row[f"stage_{stage}"] for stage in ("a", "b1", "b2", "c")}
    return label_of(row, stages)
