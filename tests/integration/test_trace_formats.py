"""From a step back to its raw bytes, in every format and from packed files; what no rule knows is shown by status."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from openclawbench.base.terminal import output
from openclawbench.cli.commands.status import NAME_SHOWN, ROWS_SHOWN, most_frequent, print_status
from openclawbench.inspect.find import find
from openclawbench.inspect.raw_records import raw_records
from openclawbench.inspect.status import as_data
from openclawbench.records.session import Trajectory
from openclawbench.runtime.run import Run
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run, update

CASES = Path(__file__).parents[1] / "golden" / "cases"
HELLO = CASES / "mixed-formats" / "raw" / "model-native" / "hello.jsonl"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def normalized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path, list[str]]:
    """The mixed corpus with two packed sessions and records of unknown types: (run, raw folder, trajectories)."""
    folder = tmp_path_factory.mktemp("trace")
    raw = folder / "raw"
    shutil.copytree(CASES / "mixed-formats" / "raw", raw)
    for name in ("gz", "zst"):
        content = HELLO.read_bytes().replace(b'"hello"', f'"packed-{name}"'.encode())
        unknown = b'{"type":"hologram","id":"h","parentId":"00000002"}\n'
        unknown += b'{"type":"message","id":"i","parentId":"h","message":{"role":"user","content":[{"type":"wink"}]}}\n'
        packed = gzip.compress(content + unknown) if name == "gz" else pa.compress(content, codec="zstd", asbytes=True)
        (raw / "model-native" / f"packed-{name}.jsonl.{name}").write_bytes(packed)
    with closing(sqlite3.connect(next(raw.rglob("*.sqlite")), isolation_level=None)) as store:
        store.execute("update session_nodes set entry_json='[]'")
    (raw / "model-native" / "sessions.json").write_text("{")
    data = DataFolder(folder / "data")
    chosen = settings(data, raw=str(raw), oracle=None, judge="rules")
    done = update(data, chosen, "enrich", Progress())
    assert done.tables is not None
    rows = done.tables[Trajectory].select("source_model", "trajectory_id").collect().iter_rows()
    return open_run(data, chosen), raw, sorted(f"{model}/{name}" for model, name in rows)


def source(raw: Path, file: str) -> bytes:
    """A file's bytes; of a session in a store its records, one a line."""
    path, _, member = file.partition("#")
    if not member:
        return decompressed((raw / path).read_bytes())
    with closing(sqlite3.connect(f"file:{raw / path}?mode=ro", uri=True)) as store:
        query = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
        events = store.execute(query, (member,)).fetchall()
    return b"".join((decompressed(blob) if text is None else text.encode()) + b"\n" for text, blob in events)


def test_every_step_leads_to_its_bytes(normalized: tuple[Run, Path, list[str]]) -> None:
    run, raw, names = normalized
    traced = set()
    for name in names:
        for pointer, raw_record in raw_records(run, find(run, name), None):
            content = source(raw, pointer["source_file"])
            offset, length = pointer["offset"], pointer["length"]
            assert content[offset : offset + length] == raw_record
            assert content[:offset].count(b"\n") == pointer["line"] - 1
            assert json.loads(raw_record)
            traced.add(pointer["source_file"].partition("#")[0].rpartition("/")[2])
    files = {"hello.jsonl", "packed-gz.jsonl.gz", "packed-zst.jsonl.zst", "openclaw-agent.sqlite", "native-1.jsonl"}
    files |= {"run_1.json", "results.jsonl", "trajectory.jsonl", "conversation.jsonl", "atif.json"}
    assert traced == files


def test_what_no_rule_knows_is_shown(normalized: tuple[Run, Path, list[str]]) -> None:
    run, _, _ = normalized
    counts = {entry["what"]: entry["count"] for entry in as_data(run, [])["unknown"]}
    assert counts["unknown_type:hologram"] == 1
    assert counts["unknown_block:wink"] == 1
    lost = as_data(run, [])["quarantined"]
    assert [entry["reason"] for entry in lost] == ["no_native_session"]


def test_context_that_cannot_be_used_is_shown(
    normalized: tuple[Run, Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    run, _, _ = normalized
    lost = as_data(run, [])["unusable_context"]
    assert {entry["reason"] for entry in lost} == {"broken_context"}
    assert ["sqlite: session_nodes: " in entry["message"] for entry in lost] == [False, True]
    assert "model-native/sessions.json: line 1: not JSON" in lost[0]["message"]
    print_status(run, [], output())
    shown = capsys.readouterr().out
    assert "Files beside sessions that are not used" in shown
    assert all(entry["message"] in shown.replace("\n", "") for entry in lost)


def test_very_many_names_are_cut_and_add_up() -> None:
    counted = [{"what": f"tool:{number:04}" + "x" * 500, "count": 1 + (number == 700)} for number in range(1000)]
    rows = most_frequent(counted)
    assert len(rows) == ROWS_SHOWN + 1
    assert sum(count for _, count in rows) == 1001
    assert ["tool:0700" + "x" * (NAME_SHOWN - 9), 2] in rows and max(len(name) for name, _ in rows) == NAME_SHOWN
    assert most_frequent(counted[:3]) == [[entry["what"][:NAME_SHOWN], 1] for entry in counted[:3]]
