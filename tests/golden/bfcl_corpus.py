"""Sessions and a run manifest for the tasks of a BFCL tree, one session a task, as small as a session can be."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from openclawbench.inspect.reports import table_report
from openclawbench.intake.intake import Intake, take_in
from openclawbench.records.oracle import Contradiction, Coverage, Fused
from openclawbench.records.session import Trajectory
from openclawbench.reports.section import Report
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import RunReport, update

TREE = Path(__file__).parent / "bfcl" / "tree"
CALLS_MODEL = "lab_scripted-calls-FC"
MODELS = {CALLS_MODEL: "scripted-calls", "lab_scripted-text": "scripted-text"}
Row = dict[str, Any]


class Corpus:
    """A raw folder, a BFCL tree and a data folder below one folder."""

    def __init__(self, folder: Path, categories: set[str] | None = None) -> None:
        """The whole tree, or only some of its categories."""
        self.raw, self.tree, self.data = folder / "raw", folder / "oracle" / "run-1", DataFolder(folder / "data")
        shutil.copytree(TREE, self.tree)
        self.manifest: list[Row] = []
        for path in sorted(self.tree.rglob("*_*.json")):
            if categories and not any(f"BFCL_v4_{entry}_" in path.name for entry in categories):
                path.unlink()
        self.data.save_layout({"shards": 2})
        mapped = "".join(f'"{model}" = "{source}"\n' for model, source in MODELS.items())
        self.data.root.mkdir(exist_ok=True)
        (self.data.root / "openclawbench.toml").write_text(
            f'raw = "{self.raw}"\noracle = "{self.tree.parent}"\n[bfcl.models]\n{mapped}', encoding="utf-8"
        )

    def file(self, category: str, role: str, model: str = "lab_scripted-calls-FC") -> Path:
        """The result or score file of a category."""
        return next((self.tree / role / model).rglob(f"BFCL_v4_{category}_{role}.json"))

    def header(self, category: str, **fields: Any) -> None:
        """Replace the header of a score file."""
        path = self.file(category, "score")
        rewrite(path, [json.dumps(fields), *lines(path)[1:]])

    def ids(self, category: str, model: str = "lab_scripted-calls-FC") -> list[str]:
        """Task ids of a category's result file, in order."""
        return [json.loads(line)["id"] for line in lines(self.file(category, "result", model))]

    def session(self, source_model: str, name: str, session_id: str | None = None, words: str = "Done.") -> Path:
        """Write a session of one reply; its name may have folders."""
        path = self.raw / source_model / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        stamp = "2026-01-02T03:04:05.000Z"
        header = {"type": "session", "version": 3, "id": session_id or path.stem, "timestamp": stamp, "cwd": "/"}
        stated = [("user", "Please do it."), ("assistant", words)]
        messages = [
            {
                "type": "message",
                "id": f"m{n}",
                "parentId": f"m{n - 1}" if n else None,
                "timestamp": stamp,
                "message": item,
            }
            for n, item in enumerate({"role": r, "content": [{"type": "text", "text": text}]} for r, text in stated)
        ]
        path.write_text("".join(json.dumps(message) + "\n" for message in [header, *messages]), encoding="utf-8")
        return path

    def sessions(self) -> "Corpus":
        """A session, and a line of the run manifest, for each task of the tree."""
        for model, source_model in MODELS.items():
            for path in sorted((self.tree / "result" / model).rglob("*_result.json")):
                for line in lines(path):
                    self.attempt(source_model, json.loads(line)["id"])
        return self

    def attempt(self, source_model: str, task_id: str, name: str | None = None, **more: Any) -> None:
        """A session that ran a task, and its line of the manifest."""
        name = name or "".join(c if c.isalnum() or c in "-_." else "-" for c in task_id)
        self.session(source_model, name)
        row = {"source_model": source_model, "task_id": task_id, "native_session_basename": name}
        self.manifest.append(row | {"run_id": "run-1", "attempt": 1} | more)

    def write_manifest(self) -> None:
        """A manifest with no line is not written."""
        if self.manifest:
            text = "".join(json.dumps(row) + "\n" for row in self.manifest)
            (self.raw / "run_manifest.jsonl").write_text(text, encoding="utf-8")

    def read(self, oracle: Path | None = None) -> "Reading":
        """What the intake makes of the tree, or of another oracle path, the stages left out."""
        self.write_manifest()
        models = settings(self.data).bfcl_models
        return Reading(take_in(self.data, self.raw, oracle or self.tree.parent, save=False, models=models))

    def update(self, verb: str = "fuse", **flags: Any) -> "Outcome":
        """Run up to a verb in this process."""
        self.write_manifest()
        chosen = settings(self.data, raw=str(self.raw), oracle=str(self.tree.parent), judge="rules", **flags)
        return Outcome(update(self.data, chosen, verb, Progress()))


class Reading:
    """What came in."""

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self.faults = [fault["reason"] for fault in intake.faults]
        self.notes = [warning["reason"] for warning in intake.warnings]
        rows = {row["row_id"]: row for shard in intake.oracle_rows.values() for row in shard}
        self.rows = sorted(rows.values(), key=lambda row: row["row_id"])

    def verdicts(self) -> Counter[tuple[str, bool | None]]:
        """(status, success) -> rows that name a session."""
        return Counter((row["status"], row["success"]) for row in self.rows if row["sessions_named"] == 1)

    def joined(self) -> dict[str, str]:
        """Session basename -> task id as it was found."""
        return {row["basename"]: row["task_id"] for row in self.rows if row["sessions_named"] == 1}

    def category(self, name: str, source_model: str = "scripted-calls") -> Row:
        categories = [c for c in self.intake.categories if (c["source_model"], c["category"]) == (source_model, name)]
        assert len(categories) == 1
        return categories[0]


class Outcome:
    """What a run made of a corpus."""

    def __init__(self, done: RunReport) -> None:
        assert done.tables is not None
        self.done, self.tables = done, done.tables
        self.intake = done.tables.run.intake
        self.faults = [fault["reason"] for fault in done.faults]
        self.notes = [note["reason"] for note in done.notes]

    def rows(self, record: type[Record]) -> list[Row]:
        return self.tables[record].collect().to_dicts()

    def fused(self, source_model: str = "scripted-calls") -> dict[str, Row]:
        """Session basename -> its row, of one model."""
        rows = (row for row in self.rows(Fused) if row["source_model"] == source_model)
        return {row["trajectory_id"].rsplit(".", 1)[0]: row for row in rows}

    def fused_with_ids(self, source_model: str) -> dict[str, Row]:
        """Session id -> its row, of one model."""
        ids = {row["trajectory_id"]: row["session_id"] for row in self.rows(Trajectory)}
        return {ids[r["trajectory_id"]]: r for r in self.rows(Fused) if r["source_model"] == source_model}

    def outcomes(self, source_model: str = "scripted-calls") -> Counter[tuple[str | None, str | None]]:
        """(subset, outcome) -> sessions of a model."""
        return Counter(
            (r["subset"], r["oracle_outcome"]) for r in self.rows(Fused) if r["source_model"] == source_model
        )

    def coverage_report(self) -> Report:
        return table_report("coverage", self.tables.run, self.tables.__getitem__, with_inputs=True)

    def rows_of_coverage(self) -> list[Row]:
        return self.rows(Coverage)

    def coverage(self) -> dict[tuple[str, str | None], Row]:
        return {(row["source_model"], row["subset"]): row for row in self.rows(Coverage)}

    def contradictions(self) -> list[Row]:
        return self.rows(Contradiction)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def rewrite(path: Path, kept: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
