"""Trajectory ids stay with their sessions as files arrive and grow; a value too deep to be read is called so."""

import json
from itertools import permutations
from typing import Any

import pytest
from normalizing import Normalized, normalized_rows, raw_row, read

from openclawbench.base.session_names import copy_order
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.openclaw.adapter import OpenClaw

HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"}
ROW = {"record_type": "result", "run_id": "r", "provider": "p", "model": "m", "thinking_level": None, "prompt_id": "p1"}
DEEP = {"type": "custom", "customType": "x", "id": "d", "parentId": None, "timestamp": HEADER["timestamp"]}
DEEP_LINE = json.dumps(DEEP | {"data": 0}).replace("0}", "[" * 3000 + "]" * 3000 + "}").encode() + b"\n"


def line(number: int, word: str) -> dict[str, Any]:
    """A user's or a model's message of a native session."""
    role = "user" if number == 0 else "assistant"
    message = {"role": role, "content": [{"type": "text", "text": word}], "provider": "p", "model": "m"}
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": None if number == 0 else f"{number - 1:08x}",
        "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        "message": message if role == "user" else message | {"stopReason": "stop"},
    }


def session(*word: str) -> bytes:
    records = [HEADER, *(line(number, entry) for number, entry in enumerate(word))]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def ids(files: dict[str, bytes]) -> dict[str, str]:
    """Trajectory id by path."""
    return {row["path"]: row["trajectory_id"] for row in normal(files).files}


def normal(files: dict[str, bytes]) -> Normalized:
    return normalized_rows([raw_row([content], path, sha256=path) for path, content in files.items()])


LIVE = {"m/x.jsonl": session("do", "a", "b")}
LATER = {
    "m/x.jsonl.reset.2026-01-02T00-00-00.000Z": session("do", "a", "c"),
    "m/x.jsonl.reset.2026-01-03T00-00-00.000Z": session("do", "z"),
    "m/other.jsonl": session("do", "q"),
    "m/deep/er/x.jsonl.reset.2026-01-04T00-00-00.000Z": session("do", "a", "d", "e"),
}


def test_ids_stay_as_divergent_files_arrive() -> None:
    alone = ids(LIVE)
    assert alone["m/x.jsonl"].startswith("x.")
    for order in permutations(LATER):
        files = dict(LIVE)
        for path in order:
            files[path] = LATER[path]
            actual_ids = ids(files)
            assert len(set(actual_ids.values())) == len(actual_ids)
            assert actual_ids["m/x.jsonl"] == alone["m/x.jsonl"]
            assert actual_ids.get("m/other.jsonl", "other.") in ("other.", alone["m/x.jsonl"].replace("x.", "other."))


def test_a_file_that_stands_later_moves_no_id() -> None:
    files = dict(LIVE)
    known = ids(files)
    for path in sorted(LATER, key=lambda file_name: (not file_name.endswith(".jsonl"), file_name)):
        files[path] = LATER[path]
        actual_ids = ids(files)
        assert {name: actual_ids[name] for name in known} == known
        known = actual_ids


def test_a_session_that_grows_keeps_its_id() -> None:
    files = {**LIVE, **LATER}
    grown = {**files, "m/x.jsonl": session("do", "a", "b", "more"), "m/other.jsonl": session("do", "q", "more")}
    grown["m/x.jsonl.reset.2026-01-03T00-00-00.000Z"] = session("do", "z", "more", "and more")
    assert ids(grown) == ids(files)


def test_files_that_share_an_identity_are_named() -> None:
    normalized = normal({**LIVE, "m/other.jsonl": LATER["m/other.jsonl"]})
    assert [row["divergent"] for row in normalized.trajectories] == [True, True]
    assert [[warning["name"] for warning in row["warnings"]] for row in normalized.files] == [["divergent"]] * 2
    assert [row["warnings"] for row in normal(LIVE).files] == [[]]


def rows(*results: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What became of each row of a results file, by the row's text."""
    lines = [json.dumps(ROW | {"availability_status": "ok"} | result).encode() for result in results]
    raw = [
        raw_row([text], "m/results.jsonl", member=f"line{number}", base_line=number)
        for number, text in enumerate(lines, start=1)
    ]
    return {
        (entry["raw_output"], f"line{number}"): row
        for number, (entry, row) in enumerate(zip(results, normalized_rows(raw).files, strict=True), start=1)
    }


@pytest.mark.parametrize("again", ["second time", "another", "a third text", "x", "y", "z"])
def test_a_row_keeps_its_id_when_another_attempt_is_added(again: str) -> None:
    first, other = {"raw_output": "first"}, {"raw_output": "other", "prompt_id": "p2"}
    before, after = rows(first, other), rows(first, other, {"raw_output": again})
    assert {key: after[key]["trajectory_id"] for key in before} == {
        key: row["trajectory_id"] for key, row in before.items()
    }
    assert len({row["trajectory_id"] for row in after.values()}) == 3
    assert {row["disposition"] for row in after.values()} == {"trajectory"}


def test_the_same_row_once_more_is_a_copy() -> None:
    actual_rows = rows({"raw_output": "first"}, {"raw_output": "first"})
    assert [row["disposition"] for row in actual_rows.values()] == ["trajectory", "copy"]


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_value_too_deep_is_called_so_wherever_it_stands(place: int) -> None:
    lines = session("do", "a").splitlines(keepends=True)
    session_file = read(b"".join([*lines[:place], DEEP_LINE, *lines[place:]]))
    assert (session_file.disposition, session_file.reason, session_file.line) == (
        "quarantined",
        "nested_too_deeply",
        place + 1,
    )


def test_a_deep_line_that_stops_in_the_middle_is_torn() -> None:
    session_file = read(session("do", "a") + DEEP_LINE[:-2000])
    assert (session_file.disposition, session_file.session and session_file.session.truncated) == ("trajectory", True)


def test_the_file_that_names_a_trajectory_among_equal_copies() -> None:
    def first(*paths: str, session_id: str | None = None) -> str:
        return min(paths, key=lambda path: copy_order(path, None, session_id))

    assert first("m/Backup of a.jsonl", "m/a.jsonl") == "m/a.jsonl"
    assert first("m/.copy.jsonl", "m/copy.jsonl") == "m/copy.jsonl"
    assert first("m/old/abc.jsonl", "m/sessions/zzz.jsonl") == "m/sessions/zzz.jsonl"
    assert first("m/a.jsonl", "m/0b12-session.jsonl", session_id="0b12-session") == "m/0b12-session.jsonl"
    assert first("m/a.jsonl.bak-1", "m/longer.jsonl") == "m/longer.jsonl"


@pytest.mark.parametrize(("id_", "time"), [("s-2", HEADER["timestamp"]), ("s-1", "2026-01-02T00:00:00.000Z")])
def test_several_sessions_in_one_file_are_kept_whole_and_flagged(id_: str, time: str) -> None:
    other = json.dumps(HEADER | {"id": id_, "timestamp": time}).encode() + b"\n"
    content = session("do", "a") + other + session("go", "b", "c").partition(b"\n")[2]
    rules, normalized = NormalizeRules.load(), normal({"m/x.jsonl": content})
    assert normalized.trajectories[0]["several_sessions"]
    assert [step["action_text"] for step in normalized.steps] == ["a", "b", "c"]
    assert [turn["text"] for turn in normalized.turns] == ["do", "go"]
    assert {warning["name"]: warning["count"] for warning in normalized.files[0]["warnings"]} == {"several_sessions": 1}
    long = OpenClaw().parse_long(memoryview(content), {}, rules)
    short = OpenClaw().parse(content, {}, rules)
    assert long is not None and long.several_sessions and long.warnings == short.warnings
    assert long.record_counts == short.record_counts


def test_a_session_begun_again_under_the_same_header_is_one() -> None:
    content = session("do", "a")
    normalized = normal({"m/x.jsonl": content + content})
    assert not normalized.trajectories[0]["several_sessions"] and len(normalized.steps) == 1
    assert normalized.files[0]["warnings"] == []


def test_a_copy_written_with_other_blanks_and_key_order_is_a_copy() -> None:
    plain = session("do", "a", "b")
    records = [json.loads(text) for text in plain.splitlines()]
    other = b"".join(json.dumps(record, sort_keys=True, separators=(",", ":")).encode() + b"\n" for record in records)
    begun = b"\n".join(other.split(b"\n")[:3]) + b"\n"
    assert other != plain
    files = {"m/x.jsonl": plain, "m/x.jsonl.bak-1": other, "m/x.jsonl.bak-2": begun}
    normalized = normal(files)
    assert len(normalized.trajectories) == 1 and not normalized.trajectories[0]["divergent"]
    of = {row["path"]: row for row in normalized.files}
    assert [of[path]["disposition"] for path in files] == ["trajectory", "copy", "copy"]
    assert len(normal(files | {"m/x.jsonl.bak-1": other.replace(b'"b"', b'"c"')}).trajectories) == 2
