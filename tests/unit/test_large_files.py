"""Large files beside sessions: the index is read whatever its size, and nothing is held that says nothing."""

import gzip
import json
from pathlib import Path

import pytest
from normalizing import Normalized, check_accounting, normalized_folder

import openclawbench.intake.file_scanner
import openclawbench.intake.raw_folder
import openclawbench.sources.identification
import openclawbench.sources.io.file_encodings
import openclawbench.tables.bytes_column
from openclawbench.intake.sidecars import HEAD_BYTES, KEPT_BYTES, SidecarReader
from openclawbench.sources.io.jsonl import number_of_lines, pieces
from openclawbench.sources.openclaw.session_index import contexts_by_session

HEADER = b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z"}\n'
SAY = b'{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"do"}}\n'
PADDING = " " * (17 << 20)  # more than what is copied, not mapped


def normalized(tmp_path: Path, **contents: bytes) -> Normalized:
    """Files of one source model."""
    folder = tmp_path / "raw" / "m"
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return result


def fate(normal: Normalized, name: str) -> tuple[str, str | None]:
    """Disposition and reason of a file."""
    (row,) = (row for row in normal.files if row["path"] == f"m/{name}")
    return row["disposition"], row["reason"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_large_index_is_read(tmp_path: Path, indent: int | None) -> None:
    index = {
        "agent:main:main": {"sessionId": "x", "status": "done", "skillsSnapshot": {"prompt": PADDING}},
        "agent:main:other": {"sessionId": "y"},
    }
    files = {"x.jsonl": HEADER + SAY, "sessions.json": json.dumps(index, indent=indent).encode()}
    actual_normalized = normalized(tmp_path, **files)
    assert fate(actual_normalized, "sessions.json") == ("sidecar", "used_as_context")
    (row,) = actual_normalized.trajectories
    assert (row["context"]["session_key"], row["context"]["status"]) == ("agent:main:main", "done")


@pytest.mark.parametrize(
    ("entry", "line"), [('{"sessionId": 7}', 4), ("7", 4), ('{"sessionId": "x", "status": false}', 4), ('{"s', 1)]
)
def test_what_is_broken_in_a_large_index_is_told(tmp_path: Path, entry: str, line: int) -> None:
    index = f'{{\n"a": {{"sessionId": "z",\n"prompt": "{PADDING}"}},\n"b": {entry}}}'
    actual_normalized = normalized(tmp_path, **{"x.jsonl": HEADER + SAY, "sessions.json": index.encode()})
    assert fate(actual_normalized, "sessions.json") == ("sidecar", "broken_context")
    (row,) = (row for row in actual_normalized.files if row["path"] == "m/sessions.json")
    assert line in (row["line"], 1) and f"line {row['line']}: " in row["message"]


def test_of_several_entries_for_a_session_the_first_counts() -> None:
    index = {"a": {"sessionId": "x", "status": "one"}, "b": {"sessionId": "x", "status": "two"}, "c": {}, "d": 1}
    contexts = contexts_by_session(json.dumps(index).encode())
    assert {name: (context["session_key"], context["status"]) for name, context in contexts.items()} == {
        "x": ("a", "one")
    }


@pytest.mark.parametrize("text", ['{"a": {"sessionId": "x", "b": NaN}}', '{"a": {"sessionId": "x", "b": "\\ud800"}}'])
def test_what_only_the_standard_parser_reads_is_read(text: str) -> None:
    assert set(contexts_by_session(b"\xef\xbb\xbf" + text.encode())) == {"x"}


def test_the_beginning_of_a_large_sidecar_is_read(tmp_path: Path) -> None:
    prompt = {"type": "prompt.submitted", "data": {"prompt": "what the head said"}}
    events = [prompt, {"type": "context.compiled", "data": {"messages": PADDING}}, {"type": "end"}]
    sidecar = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    assert len(sidecar) > HEAD_BYTES
    actual_normalized = normalized(tmp_path, **{"x.jsonl": HEADER + SAY, "x.trajectory.jsonl": sidecar})
    assert [row["head_drop"] for row in actual_normalized.trajectories] == [True]


def test_few_bytes_of_what_lies_beside_are_kept() -> None:
    asked: list[str] = []

    def read(name: str) -> bytes:
        asked.append(name)
        return b"1" * (KEPT_BYTES // 4)

    beside = SidecarReader(read)
    for name in "abcdefab":
        beside.value(f"{name}.txt")
    assert asked == [f"{name}.txt" for name in "abcdefab"]
    assert list(beside.loaded) == ["e.txt", "f.txt", "a.txt", "b.txt"]
    assert (beside.value("e.txt"), len(asked)) == (beside.value("e.txt"), 8)


@pytest.mark.parametrize(
    ("name", "content", "became"),
    [
        ("film.mp4", bytes(100), ("sidecar", "no_session")),
        ("film.jsonl", bytes(100), ("quarantined", "not_json")),
        ("notes.jsonl", b'{"hello": 1}\n' * 9, ("quarantined", "not_a_session")),
        ("run.json", b'{"a":\n[1, 2, "' + b"x" * 100 + b'"]}', ("quarantined", "too_large")),
        ("blank.jsonl", b" \n" * 50, ("quarantined", "empty_file")),
        ("x.trajectory.jsonl", b'{"traceSchema": "openclaw-trajectory"}\n' * 9, ("sidecar", "openclaw_trajectory")),
        ("late.jsonl", b" \n" * 50 + HEADER + SAY, ("trajectory", None)),
        ("sessions.json", HEADER + SAY, ("trajectory", None)),
    ],
)  # fmt: skip
def test_a_large_file_that_is_no_session_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, became: tuple[str, str | None]
) -> None:
    monkeypatch.setattr(openclawbench.intake.file_scanner, "LARGE_BYTES", 13)
    monkeypatch.setattr(openclawbench.intake.raw_folder, "LARGE_BYTES", 13)
    monkeypatch.setattr(openclawbench.tables.bytes_column, "LARGE_BYTES", 13)
    monkeypatch.setattr(openclawbench.sources.identification, "WHOLE_JSON", 50)
    monkeypatch.setattr("openclawbench.construct.normalize.messages.WHOLE_JSON", 50)
    actual_normalized = normalized(tmp_path, **{name: content})
    assert fate(actual_normalized, name) == became


def test_a_small_file_that_stands_for_more_than_memory_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclawbench.sources.io.file_encodings, "MOST_BYTES", 1000)
    packed = {"small.jsonl.gz": gzip.compress(HEADER + SAY), "bomb.jsonl.gz": gzip.compress(HEADER + b" " * 10_000)}
    actual_normalized = normalized(tmp_path, **packed)
    assert fate(actual_normalized, "small.jsonl.gz") == ("trajectory", None)
    assert fate(actual_normalized, "bomb.jsonl.gz") == ("quarantined", "unreadable_file")
    (row,) = (row for row in actual_normalized.files if row["reason"])
    assert row["message"].endswith("Unpack the file if that is a session, or remove it.")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_counted_as_they_are_read(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("openclawbench.sources.io.jsonl.CHUNK", size)
    for content in (
        b"",
        b"\n",
        b"a",
        b"a\n",
        b"a\nb",
        b" a\r\n \t\r\n\nb b\n ",
        b"\xef\xbb\xbfa\n\xef\xbb\xbf",
        b"\xef\xbb\xbf",
    ):
        assert number_of_lines(content) == len(list(pieces(content))) == number_of_lines(memoryview(content))
