"""Every sample session of tests/samples against its golden normalized form in samples/<release>/.

All releases run through the real flow at once, each in a folder of its own. `OPENCLAWBENCH_UPDATE_GOLDEN=1 pytest
tests/golden` writes the expectations anew; read the difference, beside the raw file, before keeping it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_golden import HINT, SHARDS, UPDATE, first_difference, write

from openclawbench.records.session import FileOutcome, Step, TraceSummaryRow, Trajectory, UserTurn
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

SAMPLES = Path(__file__).parents[1] / "samples"
GOLDEN = Path(__file__).parent / "samples"
CASES = Path(__file__).parent / "cases"
RELEASES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
FILES = sorted(path for release in RELEASES for path in (SAMPLES / release).iterdir())
STORE = "2026.9.6/openclaw-agent.sqlite"
COPIES = (STORE, "2026.6.11/killed-midtool.jsonl")
LONG = 400  # characters: longer texts are kept as digest, length and beginning
HEAD = 120

# What says the same of every sample, or of the golden file's own place.
TRAJECTORY_LEFT_OUT = {
    "source_model",
    "subset",
    "task_id",
    "attempt",
    "unknown_blocks",
    "source_file",
    "source_base_line",
    "source_base_offset",
    "source_sha256",
}
FILE_FIELDS = (
    "disposition",
    "trajectory_id",
    "reason",
    "line",
    "message",
    "warnings",
    "first_warning_line",
    "records_in",
    "record_counts",
)
# Fields of a step or turn that are left out where they hold this: what is written down is what happened.
USUAL = {
    "result_synthetic": False,
    "partial": False,
    "orphan": False,
    "order_ambiguous": False,
    "resolved_by_step": None,
    "resolved_by_user_turn": None,
    "resolved_status": None,
    "silent_token": None,
    "thinking": None,
    "narration": None,
    "narration_position": None,
}


def compact(value: Any) -> Any:
    """The value with long texts as digest, length and beginning, and counts as a plain object."""
    if isinstance(value, str) and len(value) > LONG:
        return {"sha256": hashlib.sha256(value.encode()).hexdigest(), "chars": len(value), "head": value[:HEAD]}
    if isinstance(value, dict):
        return {name: compact(entry) for name, entry in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(entry, dict) and set(entry) == {"name", "count"} for entry in value):
            return {entry["name"]: entry["count"] for entry in value}
        return [compact(entry) for entry in value]
    return value


def places(raw: list[dict[str, Any]]) -> list[str]:
    """Pointers to raw records in short: part, line, offset, length."""
    return [f"{entry['part']} line {entry['line']} at {entry['offset']}+{entry['length']}" for entry in raw]


def row_of(row: dict[str, Any]) -> dict[str, Any]:
    """A step or a user turn without its key and what is as usual."""
    row = {name: value for name, value in row.items() if name not in TRAJECTORY_KEY}
    row = {name: value for name, value in row.items() if name not in USUAL or value != USUAL[name]}
    if "raw" in row:
        row["raw"] = places(row["raw"])
    return compact(row)


def by_trajectory(frame: pl.LazyFrame, order: str | None = None) -> dict[tuple[str, str], list[dict[str, Any]]]:
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in frame.sort(*TRAJECTORY_KEY, *([order] if order else [])).collect().iter_rows(named=True):
        rows.setdefault((row["source_model"], row["trajectory_id"]), []).append(row)
    return rows


def normalized(raw: Path, folder: Path) -> dict[str, Any]:
    """Golden form of every file below `raw`, by path; a store has one of all its sessions."""
    data = DataFolder(folder)
    data.save_layout({"shards": SHARDS})
    done = update(data, settings(data, raw=str(raw), oracle=None, judge="rules"), "enrich", Progress())
    assert done.tables is not None
    trajectories = by_trajectory(done.tables[Trajectory].lazy())
    steps = by_trajectory(done.tables[Step].lazy(), "step_id")
    turns = by_trajectory(done.tables[UserTurn].lazy(), "user_turn")
    summaries = by_trajectory(done.tables[TraceSummaryRow].lazy())
    actual_row: dict[str, Any] = {}
    for row in done.tables[FileOutcome].collect().sort("path", "member").iter_rows(named=True):
        assert row["records_in"] == sum(record_count["count"] for record_count in row["record_counts"]), row["path"]
        golden: dict[str, Any] = {"file": compact({name: row[name] for name in FILE_FIELDS})}
        if row["disposition"] == "trajectory":
            key = (row["source_model"], row["trajectory_id"])
            (trajectory,) = trajectories[key]
            (summary,) = summaries[key]
            if not trajectory["aliases"]:
                del trajectory["aliases"]
            golden["trajectory"] = compact(
                {name: value for name, value in trajectory.items() if name not in TRAJECTORY_LEFT_OUT}
            )
            golden["behaviour"] = f"{summary['behaviour']}: {summary['trace_summary']['behaviour_rule']}"
            golden["user_turns"] = [row_of(entry) for entry in turns.get(key, [])]
            golden["steps"] = [row_of(entry) for entry in steps.get(key, [])]
        if row["member"] is None:
            actual_row[row["path"]] = golden
        else:
            actual_row.setdefault(row["path"], {})[row["member"]] = golden
    return actual_row


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All samples as they lie; what is a copy there has under `alone` what it is without the longer file beside it."""
    row = normalized(SAMPLES, tmp_path_factory.mktemp("samples") / "data")
    for path, golden in alone(tmp_path_factory.mktemp("alone")).items():
        if path == STORE:
            row[path] = {name: {**entry, "alone": run_of(golden[name])} for name, entry in row[path].items()}
        else:
            row[path]["alone"] = golden
    return row


def alone(folder: Path) -> dict[str, Any]:
    """The files that are copies among the samples, in a folder without the others."""
    for path in COPIES:
        (folder / "raw" / path).parent.mkdir(parents=True)
        (folder / "raw" / path).symlink_to(SAMPLES / path)
    return normalized(folder / "raw", folder / "data")


def run_of(golden: dict[str, Any]) -> dict[str, Any]:
    """What the store says of a run, and the class of it; steps and turns are those of the exported file (tested)."""
    context = {name: value for name, value in golden["trajectory"]["context"].items() if value is not None}
    return {
        "source_format": golden["trajectory"]["source_format"],
        "context": context,
        "behaviour": golden["behaviour"],
    }


def golden_file(path: Path) -> Path:
    return GOLDEN / path.parent.name / f"{path.name.removesuffix('.jsonl')}.json"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sample(path: Path, samples: dict[str, Any]) -> None:
    received = samples[f"{path.parent.name}/{path.name}"]
    file = golden_file(path)
    if UPDATE:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, received)
    assert file.exists(), f"{file}: there is no such expectation. {HINT}"
    if difference := first_difference(json.loads(file.read_text(encoding="utf-8")), received):
        pytest.fail(f"samples/{path.parent.name}/{file.name}: {difference}\n{HINT}", pytrace=False)


def test_no_golden_file_is_left_over() -> None:
    assert sorted(GOLDEN.rglob("*.json")) == sorted(golden_file(path) for path in FILES)


def test_a_store_holds_the_same_sessions_as_its_export(samples: dict[str, Any], tmp_path: Path) -> None:
    members = alone(tmp_path)[STORE]
    exported = {name.removeprefix("2026.9.6/") for name in samples if name.startswith("2026.9.6/")}
    assert {f"{name}.jsonl" for name in members} == exported - {"openclaw-agent.sqlite"}
    for name, stored in members.items():
        beside = samples[f"2026.9.6/{name}.jsonl"]
        for part in ("user_turns", "steps"):
            assert stored[part] == beside[part], name
        assert stored["file"] == beside["file"]
        assert stored["trajectory"]["source_format"] == "openclaw_sqlite"
        differing = {
            field for field in beside["trajectory"] if stored["trajectory"][field] != beside["trajectory"][field]
        }
        assert differing <= {"source_format", "source_member", "context"}
        assert samples[STORE][name]["file"]["disposition"] == "copy"
        assert samples[STORE][name]["file"]["trajectory_id"] == beside["file"]["trajectory_id"]


def test_what_a_released_record_does_not_tell(tmp_path: Path) -> None:
    """Flags of hand-made cases that stand in the normalized trajectory only."""
    (tmp_path / "raw").mkdir()
    for name in ("calls-and-results", "files-beside", "identities", "who-speaks"):
        (tmp_path / "raw" / name).symlink_to(CASES / name / "raw" / "model-a")
    row = normalized(tmp_path / "raw", tmp_path / "data")
    trajectories = {path: entry["trajectory"] for path, entry in row.items() if "trajectory" in entry}
    flagged = {
        flag: {path.split("/", 1)[1] for path, trajectory in trajectories.items() if trajectory[flag]}
        for flag in ("truncated", "order_ambiguous", "several_sessions", "divergent", "head_drop")
    }
    assert flagged == {
        "truncated": set(),
        "order_ambiguous": {"repeated-ids.jsonl"},
        "several_sessions": {"two-runs.jsonl"},
        "divergent": {"copied.jsonl", "copied.jsonl.archived-old-29h"},
        "head_drop": {"headless.jsonl", "no-turn-left.jsonl"},
    }
    complete = trajectories["files-beside/whole.jsonl"]
    assert complete["parent_trajectory_id"] == trajectories["files-beside/headless.jsonl"]["trajectory_id"]
    assert complete["context"]["estimated_cost_usd"] == 1.0
    assert trajectories["files-beside/headless.jsonl"]["context"]["status"] is None
    turns = row["who-speaks/who-speaks.jsonl"]["user_turns"]
    words = {turn["kinds"][0]: turn["text"] for turn in turns if "user" not in turn["kinds"]}
    assert {kind for kind, text in words.items() if text} == {"cron", "subagent_task"}
    steps = row["calls-and-results/repeated-ids.jsonl"]["steps"]
    assert [step["step_id"] for step in steps if step.get("order_ambiguous")] == [1, 2]
