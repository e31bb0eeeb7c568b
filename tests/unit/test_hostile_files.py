"""What a stranger's folder may hold: forms that are not read, circles of parents, times and numbers that are none."""

import bz2
import gzip
import json
import lzma
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from normalizing import Normalized, Row, check_accounting, normalized_folder, read

from openclawbench.construct.normalize.session_rows import outcome_row
from openclawbench.intake.lineage import own_ancestors
from openclawbench.sources.io.timestamps import is_written, iso_time
from openclawbench.sources.openclaw.records import decode_outline

TIME = "2026-01-01T00:00:00.000Z"
SAY: Row = {"type": "message", "id": "a", "parentId": None, "timestamp": TIME}
SAY["message"] = {"role": "user", "content": "x"}


def session(name: Any, *records: Row, **header: Any) -> bytes:
    """A session's bytes; of one user message where no records are given."""
    lines = [{"type": "session", "version": 3, "id": name, "timestamp": TIME} | header, *(records or (SAY,))]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def normalized(tmp_path: Path, **contents: bytes) -> Normalized:
    """Files of one source model."""
    (tmp_path / "raw" / "m").mkdir(parents=True)
    for name, content in contents.items():
        (tmp_path / "raw" / "m" / name).write_bytes(content)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return result


TEXT = session("s").decode()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (TEXT.encode("utf-16"), "its text is UTF-16. Convert it to UTF-8, or"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "its text is UTF-16. Convert"),
        (TEXT.encode("utf-16-le"), "its text is UTF-16. Convert"),
        (TEXT.encode("utf-16-be"), "its text is UTF-16. Convert"),
        (TEXT.encode("utf-32"), "its text is UTF-32. Convert"),
        (TEXT.encode("utf-32-be"), "its text is UTF-32. Convert"),
        (gzip.compress(gzip.compress(TEXT.encode())), "it is packed twice. Unpack it once, or"),
        (bz2.compress(TEXT.encode()), "it is packed with bzip2, which is not read. Unpack it"),
        (lzma.compress(TEXT.encode()), "it is packed with xz, which is not read. Unpack it"),
        (b"PK\x03\x04" + TEXT.encode(), "it is packed with zip, which is not read. Unpack it"),
    ],
)
def test_a_form_that_is_not_read_is_called_so(tmp_path: Path, content: bytes, what: str) -> None:
    (row,) = normalized(tmp_path, **{"s.jsonl": content}).files
    assert (row["disposition"], row["reason"]) == ("quarantined", "not_json")
    assert row["message"].startswith(f"m/s.jsonl: {what}")
    assert row["message"].endswith("or take the file out of the raw folder.")


@pytest.mark.parametrize("damage", [lambda packed: packed[:-20], lambda packed: packed + b"garbage"])
def test_broken_packing_is_to_be_put_back(tmp_path: Path, damage: Any) -> None:
    (row,) = normalized(tmp_path, **{"s.jsonl.gz": damage(gzip.compress(session("s")))}).files
    assert (row["disposition"], row["reason"]) == ("quarantined", "unreadable_file")
    assert row["message"].endswith(". Put the file back whole, or remove it.")


def test_a_session_without_its_header_is_called_so() -> None:
    session_file = read(json.dumps(SAY).encode() + b"\n" + session("s"))
    assert session_file.reason == "not_a_session"
    assert session_file.message is not None and "a session without its header" in session_file.message


@pytest.mark.parametrize("name", [[1], {"a": 1}, 7, None, "", "../../x", True])
def test_an_id_may_be_anything(tmp_path: Path, name: Any) -> None:
    index = json.dumps({"k": {"sessionId": "s"}}).encode()
    actual_normalized = normalized(tmp_path, **{"s.jsonl": session(name), "sessions.json": index})
    (row,) = actual_normalized.trajectories
    assert row["trajectory_id"].startswith("s.")
    assert row["context"]["session_key"] is None


def test_sessions_that_would_be_their_own_ancestors_have_no_parent(tmp_path: Path) -> None:
    links = {"itself": "itself", "one": "two", "two": "three", "three": "one", "child": "one", "lost": "nowhere"}
    files = {
        f"{name}.jsonl": session(name, SAY | {"id": f"record-{name}"}, parentSession=f"/x/{parent}.jsonl")
        for name, parent in links.items()
    }
    actual_normalized = normalized(tmp_path, **files)
    parents = {row["session_id"]: row["parent_trajectory_id"] for row in actual_normalized.trajectories}
    ids = {row["session_id"]: row["trajectory_id"] for row in actual_normalized.trajectories}
    assert parents == dict.fromkeys(links) | {"child": ids["one"]}
    warned = {Path(row["path"]).stem for row in actual_normalized.files if row["warnings"]}
    assert warned == {"itself", "one", "two", "three"}
    assert {warning["name"] for row in actual_normalized.files for warning in row["warnings"]} == {"circular_parent"}


@given(st.dictionaries(st.integers(0, 12), st.integers(0, 12)))
def test_circles_are_found(links: dict[int, int]) -> None:
    parents = {("m", str(child)): str(parent) for child, parent in links.items()}
    expected = set()
    for child, parent in links.items():
        entry = parent
        for _ in links:
            if entry == child:
                expected.add(("m", str(child)))
            entry = links.get(entry, -1)
    assert own_ancestors(parents) == expected


NO_TIMES = [
    "2026-02-29T00:00:00.000Z",
    "2026-02-31T00:00:00.000Z",
    "2026-04-31T00:00:00.000Z",
    "0000-01-01T00:00:00.000Z",
]
NO_TIMES += [
    "1900-02-29T00:00:00.000Z",
    "2026-13-01T00:00:00.000Z",
    "2026-01-00T00:00:00.000Z",
    "yesterday",
    "2026-01-01 00:00:00",
    "2026-01-01T00:00:00.000",
    "20260101",
    "1970-01-01T00:00:00.000Z",
    "0001-01-01T00:00:00Z",
    "0",
]


@pytest.mark.parametrize("time", [*NO_TIMES, True, 0, -5, 12.5, 86_400_000, 1e300, -1e300, {"x": 1}, [], "9" * 5000])
def test_what_is_no_time_is_null_and_stops_nothing(time: Any) -> None:
    assert iso_time(time) is None
    other = SAY | {"id": "b", "parentId": "a", "timestamp": time}
    session_file = read(session("s", SAY, other))
    assert session_file.session is not None
    assert (session_file.session.run["started_at"], session_file.session.run["ended_at"]) == (TIME, TIME)


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("2024-02-29T00:00:00.000Z", "2024-02-29T00:00:00.000Z"),
        ("2026-01-31T23:59:59.999Z", "2026-01-31T23:59:59.999Z"),
        ("2026-01-01T02:00:00+02:00", TIME),
        ("2026-01-01 00:00:00+00:00", TIME),
        (1767225600, TIME),
        (1767225600.25, "2026-01-01T00:00:00.250Z"),
        (1767225600000, TIME),
        (1767225600000.0, TIME),
        (1767225600000000, TIME),
        (1767225600000000000, TIME),
        ("1767225600000", TIME),
        ("1767225600.25", "2026-01-01T00:00:00.250Z"),
    ],
)
def test_what_is_a_time_is_read(written: Any, time: str) -> None:
    assert iso_time(written) == time


@given(st.datetimes(), st.integers(0, 31))
def test_the_quick_look_at_a_time_is_right(moment: Any, day: int) -> None:
    text = f"{moment.year:04}-{moment.month:02}-{day:02}T{moment:%H:%M:%S}.000Z"
    try:
        valid = type(moment).fromisoformat(text) is not None
    except ValueError:
        valid = False
    assert valid or is_written(text) is None
    is_common = valid and 2000 <= moment.year < 2100 and (moment.month, day) != (2, 29)
    assert is_written(text) is not None or not is_common


def test_an_outline_is_of_what_the_record_is() -> None:
    for record in (
        {"type": "custom", "id": "a", "parentId": "b", "customType": "c", "data": 1e300},
        {"type": "hologram", "id": "a", "customType": 7},
    ):
        outline = decode_outline(json.dumps(record).replace("1e+300", "9" * 5000).encode())
        assert (outline.type, outline.id) == (record["type"], "a")


@pytest.mark.skipif(os.name != "posix", reason="names of bytes")
def test_names_that_are_odd_are_kept_as_they_are(tmp_path: Path) -> None:
    names = [
        "-rf.jsonl",
        "%s{x}[y].jsonl",
        "q'uo\"te.jsonl",
        " .jsonl",
        "a\nb\x1b[31m.jsonl",
        "ü 🦞.jsonl",
        "x" * 240 + ".jsonl",
    ]
    actual_normalized = normalized(tmp_path, **{name: session(f"s{number}") for number, name in enumerate(names)})
    assert {row["source_file"] for row in actual_normalized.trajectories} == {f"m/{name}" for name in names}


def test_names_and_ids_that_differ_in_case_are_different(tmp_path: Path) -> None:
    spoken = {"role": "assistant", "content": [{"type": "text", "text": "one"}], "stopReason": "stop"}
    records = [SAY | {"id": "A"}, SAY | {"id": "a", "parentId": "A", "message": spoken}]
    actual_normalized = normalized(
        tmp_path, **{"Same.jsonl": session("Same", *records), "same.jsonl": session("same", *records)}
    )
    assert sorted(row["session_id"] for row in actual_normalized.trajectories) == ["Same", "same"]
    assert [row["num_steps"] for row in actual_normalized.trajectories] == [1, 1]


def test_a_time_that_is_left_out_is_counted_with_its_line() -> None:
    """A clock without a zone is not UTC: it says nothing of when something happened."""
    local = SAY | {"id": "b", "parentId": "a", "timestamp": "2026-01-01T09:00:00"}
    unknown = SAY | {"id": "c", "parentId": "b", "timestamp": "1970-01-01T00:00:00.000Z"}
    outcome = outcome_row(read(session("s", SAY, local, unknown, local | {"id": "d", "parentId": "c"})))
    assert outcome["warnings"] == [
        {"name": "time_without_zone", "count": 2, "line": 3},
        {"name": "unreadable_time", "count": 1, "line": 4},
    ]


@pytest.mark.parametrize("seconds", [1767225600, 1767225600.0, "1767225600"])
def test_seconds_since_1970_are_of_their_year_in_other_formats_too(seconds: Any) -> None:
    step = {"step_id": 1, "source": "agent", "message": "hi", "timestamp": seconds}
    document = {"schema_version": "ATIF-v1.4", "agent": {"name": "a", "version": "1"}, "steps": [step]}
    session_file = read(json.dumps(document).encode(), "m/t.json")
    assert session_file.session is not None
    assert [step["timestamp"] for step in session_file.session.steps] == [TIME]
    assert session_file.session.run["started_at"] == TIME
