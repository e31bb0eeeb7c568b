"""Sessions through scan and normalize, without the other stages: for tests that look at many files or many bytes."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclawbench.construct.normalize.normalize import normalize, read_file
from openclawbench.construct.normalize.session_file import SessionFile
from openclawbench.intake.intake import Intake, take_in
from openclawbench.records.oracle import SourceOutcome
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile, Step, Trajectory, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.identification import identify
from openclawbench.sources.io.utf8_check import are_clean_utf8
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.bytes_column import bytes_column
from openclawbench.tables.record import Record
from openclawbench.tables.schema import from_records

SAMPLES = Path(__file__).parent / "samples"
RULES = NormalizeRules.load()
DISPOSITIONS = ("trajectory", "copy", "quarantined", "sidecar")
Row = dict[str, Any]


@dataclass
class Normalized:
    """Rows of the tables that normalize writes."""

    files: list[Row] = field(default_factory=list)
    trajectories: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    turns: list[Row] = field(default_factory=list)
    outcomes: list[Row] = field(default_factory=list)

    def add(self, outputs: tuple[Any, ...]) -> None:
        """Tables of one call."""
        known: dict[type[Record], list[Row]] = {
            FileOutcome: self.files,
            Trajectory: self.trajectories,
            Step: self.steps,
            UserTurn: self.turns,
            SourceOutcome: self.outcomes,
        }
        for record, frame in zip(normalize.writes, outputs, strict=True):
            known.get(record, []).extend(frame.collect().to_dicts())

    def steps_of(self, trajectory: Row) -> list[Row]:
        """Steps of one trajectory, in order."""
        key = (trajectory["source_model"], trajectory["trajectory_id"])
        return [step for step in self.steps if (step["source_model"], step["trajectory_id"]) == key]


def raw_row(content: bytes, path: str = "m/s.jsonl", **more: Any) -> Row:
    """A raw file as the intake hands it on."""
    blank = dict.fromkeys(SourceFile.model_fields)
    file_format = identify(content[0] if isinstance(content, list) else content)
    blank |= {"adapter": file_format.source.name if file_format.source else None, "identity": file_format.identity}
    return blank | {"source_model": "m", "path": path, "base_line": 1, "base_offset": 0, "content": content} | more


def read(content: bytes, path: str = "m/s.jsonl") -> SessionFile:
    """One file read by its adapter; the accounting has to hold."""
    is_clean = next(are_clean_utf8(bytes_column("content", [content, b""])))
    session_file = read_file(raw_row(content, path, is_clean_utf8=is_clean), RULES)
    assert (session_file.session is None) == (session_file.disposition != "trajectory")
    if session_file.session is not None:
        assert session_file.records_in == sum(session_file.session.record_counts.values()), dict(
            session_file.session.record_counts
        )
    else:
        assert session_file.reason
        assert session_file.message
    return session_file


def normalized_rows(rows: list[Row]) -> Normalized:
    """Rows as one shard."""
    normalized = Normalized()
    none = from_records([], RunManifestRow).lazy()
    normalized.add(normalize(from_records(rows, SourceFile).lazy(), none, RULES))
    return normalized


def normalized_folder(raw: Path, data: Path) -> tuple[Intake, Normalized]:
    """Every file below a raw folder, by the real scan."""
    intake = take_in(DataFolder(data), raw, None, save=False)
    normalized = Normalized()
    for shard in sorted(intake.entries):
        normalized.add(normalize(intake.read(SourceFile, shard), intake.read(RunManifestRow, shard), RULES))
    return intake, normalized


def check_accounting(normalized: Normalized, entries: int) -> None:
    """Each file and each record is somewhere, and what is not used has a reason that a person can read."""
    fate = Counter(row["disposition"] for row in normalized.files)
    assert set(fate) <= set(DISPOSITIONS)
    assert fate.total() == entries
    sessions_in = entries - fate["sidecar"]
    assert sessions_in == fate["trajectory"] + fate["copy"] + fate["quarantined"]
    assert fate["trajectory"] == len(normalized.trajectories)
    names = [(row["source_model"], row["trajectory_id"]) for row in normalized.trajectories]
    assert len(names) == len(set(names))
    for row in normalized.files:
        assert row["records_in"] == sum(record_count["count"] for record_count in row["record_counts"]), row["path"]
        assert (row["disposition"] == "trajectory") == (row["reason"] is None), row["path"]
        assert row["reason"] is None or row["message"].strip(), row["path"]
    steps = Counter((row["source_model"], row["trajectory_id"]) for row in normalized.steps)
    for row in normalized.trajectories:
        assert row["num_steps"] == steps[row["source_model"], row["trajectory_id"]]
