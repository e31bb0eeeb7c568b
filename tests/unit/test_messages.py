"""The sentences about what cannot be used name the right place, what is wrong and what can be done."""

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from normalizing import SAMPLES, Row, normalized_folder, read

from openclawbench.construct.normalize.messages import FORMATS_READ
from openclawbench.records.session import FileOutcome
from openclawbench.tables.schema import from_records
from openclawbench.workspace.run_summary import file_warnings

RESULT = {"record_type": "result", "provider": "p", "model": "m", "prompt_id": "P", "raw_output": "hi", "success": True}
HEADER = '{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z"}\n'
SAY = '{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"do"}}\n'


def files(tmp_path: Path, **contents: Any) -> dict[tuple[str, str | None], Row]:
    """What becomes of files of one source model, by name and member."""
    for name, content in contents.items():
        path = tmp_path / "raw" / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    return {(row["path"].removeprefix("m/"), row["member"]): row for row in result.files}


def test_a_wrong_line_of_a_results_file_is_named_by_its_own_number(tmp_path: Path) -> None:
    good = [json.dumps(RESULT | {"run_id": str(number)}).encode() for number in range(4)]
    odd = json.dumps({"record_type": ["note"]}).encode()
    bad = json.dumps(RESULT).encode().replace(b"hi", b"\xff")
    content = b"\n".join([*good, odd, b'{"record_type": "res', bad, b'{"record_type": "result", "model": NaN}'])
    rows = files(tmp_path, **{"results.jsonl": content})
    note, cut, bytes_ = (rows["results.jsonl", f"line{number}"] for number in (5, 6, 7))
    assert (note["line"], cut["line"], bytes_["first_warning_line"]) == (5, 6, 7)
    assert note["message"].startswith("m/results.jsonl: line 5: a row of record_type \"['note']\", which is neither")
    assert cut["message"].startswith("m/results.jsonl: line 6: not JSON: Unterminated string starting at (column 17).")
    assert "the other lines are read" in note["message"] and "the other lines are read" in cut["message"]
    assert (
        "line 8: a row of record_type result without provider, prompt_id" in rows["results.jsonl", "line8"]["message"]
    )


def test_a_fault_inside_a_later_line_has_that_line_too(tmp_path: Path) -> None:
    content = b"\n" + json.dumps(RESULT).encode() + b'\n\n{"type": '
    assert files(tmp_path, **{"r.jsonl": content})["r.jsonl", "line4"]["line"] == 4


def damaged(tmp_path: Path, statement: str) -> Row:
    """The outcome of a session of a store after an SQL statement."""
    (tmp_path / "raw" / "m").mkdir(parents=True)
    path = tmp_path / "raw" / "m" / "openclaw-agent.sqlite"
    shutil.copy(SAMPLES / "2026.9.6" / "openclaw-agent.sqlite", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute(statement)
    rows = files(tmp_path)
    bad = [row for row in rows.values() if row["disposition"] == "quarantined"]
    assert len(bad) == 1 and len(rows) > 30
    return bad[0]


@pytest.mark.parametrize("blob", ["00112233", "28b52ffd00112233"])
def test_a_damaged_row_of_a_store_is_named_with_its_session(tmp_path: Path, blob: str) -> None:
    row = damaged(
        tmp_path, f"update transcript_events set event_zstd=x'{blob}' where session_id='tool-errors' and seq=12"
    )
    assert (row["member"], row["reason"]) == ("tool-errors", "unreadable_file")
    assert "session tool-errors: row 12 (seq): its compressed data cannot be read" in row["message"]
    assert row["message"].endswith("its other sessions are read.") and "line" not in row["message"]


def test_a_row_of_a_store_that_is_no_json_is_named_with_its_session(tmp_path: Path) -> None:
    row = damaged(tmp_path, "update transcript_events set event_json='{\"a' where session_id='tool-errors' and seq=4")
    assert (row["member"], row["reason"], row["line"]) == ("tool-errors", "broken_json", 5)
    assert "session tool-errors: record 5: not JSON" in row["message"]
    assert row["message"].endswith("its other sessions are read.")


def test_a_header_without_a_time_is_told_what_it_lacks() -> None:
    session_file = read(b'\n{"type":"session","version":3,"id":"x"}\n' + SAY.encode())
    assert (session_file.reason, session_file.line) == ("not_a_session", 2)
    assert session_file.message == (
        "m/s.jsonl: line 2: a session header without `timestamp`. "
        "Add what is missing, or take the file out of the raw folder."
    )


def test_a_file_of_no_format_is_told_the_formats() -> None:
    session_file = read(b'{"hello": 1}\n')
    assert session_file.message is not None
    assert f"a format that is read: {FORMATS_READ}." in session_file.message
    assert "name its format" not in session_file.message


def test_a_sentence_that_quotes_a_file_stays_one_that_can_be_read(tmp_path: Path) -> None:
    row = json.dumps({"record_type": ["x" * 100_000]}).encode()
    rows = files(tmp_path, **{"results.jsonl": json.dumps(RESULT).encode() + b"\n" + row})
    message = rows["results.jsonl", "line2"]["message"]
    assert message.startswith("m/results.jsonl: line 2: a row of record_type \"['xxx") and message.endswith("x…")
    assert len(message) < 2100


@pytest.mark.parametrize("value", ["NaN", "-Infinity"])
def test_what_is_no_json_value_is_called_so(value: str) -> None:
    record = SAY.replace('"content":"do"', f'"content":"do","usage":{{"input":{value}}}')
    session_file = read((HEADER + record + SAY).encode())
    assert (session_file.reason, session_file.line) == ("broken_json", 2)
    assert session_file.message is not None
    assert f"line 2: not JSON: {value} is not a JSON value." in session_file.message


@pytest.mark.parametrize("before", [0, 1, 2])
def test_what_opens_for_ever_is_nested_too_deeply(before: int) -> None:
    deep = ('{"type":"custom","data":' if before else "") + "[" * 100_000 + "\n"
    session_file = read("".join([*[HEADER, SAY][:before], deep, SAY]).encode())
    assert session_file.line == before + 1
    assert session_file.message is not None
    assert "a value is nested too deeply to be read" in session_file.message
    assert "recursion" not in session_file.message


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ('{"agent:main', 1, "not JSON: Unterminated string starting at (column 2)"),
        ("[1,2]", 1, "no object of entries by session key"),
        ('{\n "a": {"sessionId": "x"},\n "b": 7,\n "c": 8}', 3, "the entry 'b': it is not an object (and 1 more"),
        ('{"a": {"sessionId": ["x"]}}', 1, "the entry 'a': `sessionId` is not text"),
        ('{\n"a": {"sessionId": "x", "abortedLastRun": "yes"}}', 2, "`abortedLastRun` is not true or false"),
        ('{"a": {"sessionId": "x", "estimatedCostUsd": true}}', 1, "`estimatedCostUsd` is not a number"),
    ],
)
def test_a_session_index_of_no_use_is_told(tmp_path: Path, content: str, line: int, what: str) -> None:
    index = {"sessions.json": content.encode(), "x.jsonl": (HEADER + SAY).encode()}
    rows = files(tmp_path, **index)
    row = rows["sessions.json", None]
    assert (row["disposition"], row["reason"], row["line"]) == ("sidecar", "broken_context", line)
    assert row["message"].startswith(f"m/sessions.json: line {line}: ") and what in row["message"]
    assert "Repair the file, or remove it." in row["message"]
    assert rows["x.jsonl", None]["disposition"] == "trajectory"
    actual_file_warnings = file_warnings(from_records(list(rows.values()), FileOutcome))
    assert actual_file_warnings == [f"broken_context: {row['message']}"]


@pytest.mark.parametrize("name", ["a.zip", "B.ZIP", "a.tar.gz"])
def test_an_archive_beside_sessions_is_named_as_not_read(tmp_path: Path, name: str) -> None:
    content = gzip.compress(b"x" * 600) if name.endswith(".gz") else b"PK\x03\x04rest"
    rows = files(tmp_path, **{name: content, "x.jsonl": (HEADER + SAY).encode()})
    row = rows[name, None]
    assert (row["disposition"], row["reason"]) == ("sidecar", "archive")
    sentence = f"m/{name}: an archive, which is not looked into. If it holds sessions, unpack it; else remove it."
    assert row["message"] == sentence
    assert file_warnings(from_records(list(rows.values()), FileOutcome)) == [f"archive: {sentence}"]


def test_an_archive_that_cannot_be_unpacked_is_an_archive_and_one_of_a_session_is_quarantined(tmp_path: Path) -> None:
    damaged_gzip = gzip.compress(b"x" * 600)[:20]
    rows = files(tmp_path, **{"a.tgz": damaged_gzip, "x.jsonl.gz": damaged_gzip, "y.jsonl.zip": b"PK\x03\x04rest"})
    assert {name: row["disposition"] for (name, _), row in rows.items()} == {
        "a.tgz": "sidecar",
        "x.jsonl.gz": "quarantined",
        "y.jsonl.zip": "quarantined",
    }


def test_of_many_archives_the_first_are_named(tmp_path: Path) -> None:
    rows = files(tmp_path, **{f"{number}.zip": b"PK\x03\x04rest" for number in range(5)})
    warnings = file_warnings(from_records(list(rows.values()), FileOutcome))
    assert [warning.partition(", ")[0] for warning in warnings] == [
        *(f"archive: m/{number}.zip: an archive" for number in range(3)),
        "archive: 2 more archives; `openclawbench status` lists them",
    ]


def test_an_archive_in_the_folder_of_a_task_is_a_product_of_the_task(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "m" / "task__abc1" / "artifacts"
    folder.mkdir(parents=True)
    (folder / "out.zip").write_bytes(b"PK\x03\x04rest")
    (tmp_path / "raw" / "m" / "x.jsonl").write_text(HEADER + SAY)
    _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    assert {row["reason"] for row in result.files if row["disposition"] == "sidecar"} == {"harbor_task_file"}


def test_a_sound_session_index_is_not_told(tmp_path: Path) -> None:
    sound = {"a": {"sessionId": "x", "estimatedCostUsd": 1, "abortedLastRun": False, "status": None}, "b": {}}
    row = files(tmp_path, **{"sessions.json": json.dumps(sound).encode()})["sessions.json", None]
    assert (row["disposition"], row["reason"]) == ("sidecar", "no_session")


def test_a_name_that_is_no_text_is_to_be_changed(tmp_path: Path) -> None:
    (tmp_path / "raw" / "m").mkdir(parents=True)
    with open(bytes(tmp_path / "raw" / "m") + b"/caf\xe9.jsonl", "wb") as file:  # noqa: PTH123 (a name that is not text)
        file.write(HEADER.encode())
    (row,) = files(tmp_path).values()
    assert row["message"] == "m/caf\\xe9.jsonl: its name is not UTF-8. Rename it and run again."
