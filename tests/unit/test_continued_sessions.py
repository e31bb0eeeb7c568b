"""A session that the program went on with in another file: what it copied there is a step once, of the first file."""

import json
from pathlib import Path

import pytest
from normalizing import Normalized, Row, check_accounting, normalized_folder

from openclawbench.records.session import SourceFile

Records = list[Row]
FOLDER = "/home/user/.openclaw/agents/main/sessions"


def header(name: str, minute: int, parent: str | None = None) -> Row:
    row = {"type": "session", "version": 3, "id": name, "timestamp": f"2026-05-01T00:{minute:02d}:00.000Z", "cwd": "/w"}
    return row | ({"parentSession": f"{FOLDER}/{parent}"} if parent else {})


def turn(number: int, parent: str | None) -> Records:
    """A user's turn and its answer, with ids of their own."""
    texts = {"user": f"Question {number}?", "assistant": f"Answer {number}."}
    rows: Records = []
    for role, text in texts.items():
        usage = {"usage": {"input": number, "output": 1}} if role == "assistant" else {}
        message = {"role": role, "content": [{"type": "text", "text": text}], "stopReason": "stop"} | usage
        name = f"{role[0]}{number}"
        time = f"2026-05-01T00:{number:02d}:0{len(rows)}.000Z"
        rows.append({"type": "message", "id": name, "parentId": parent, "timestamp": time, "message": message})
        parent = name
    return rows


def compaction(number: int, parent: str) -> Row:
    time = f"2026-05-01T00:{number:02d}:30.000Z"
    return {"type": "compaction", "id": f"k{number}", "parentId": parent, "timestamp": time, "summary": "so far"}


FIRST = [header("a", 0), *turn(1, None), *turn(2, "a1"), compaction(2, "a2")]
KEPT = [compaction(2, "a2") | {"parentId": None}, *turn(2, "k2")]
SECOND = [header("b", 3, "a.jsonl"), *KEPT, *turn(4, "a2"), compaction(4, "a4")]
THIRD = [header("c", 5, "b.jsonl"), compaction(4, "a4") | {"parentId": None}, *turn(4, "k4"), *turn(6, "a4")]


def read(folder: Path, **files: Records) -> Normalized:
    raw = folder / "raw" / "m"
    raw.mkdir(parents=True)
    for name, records in files.items():
        text = "".join(json.dumps(record) + "\n" for record in records)
        path = name.replace("__", ".jsonl.") if "__" in name else f"{name}.jsonl"
        (raw / path).write_text(text, encoding="utf-8")
    intake, result = normalized_folder(raw.parent, folder / "data")
    check_accounting(result, intake.rows(SourceFile))
    return result


def by_name(result: Normalized) -> dict[str, tuple[list[str], str | None]]:
    """Steps, and the session that is continued, by session id."""
    names = {row["trajectory_id"]: row["session_id"] for row in result.trajectories} | {None: None}
    return {
        row["session_id"]: (
            [step["action_text"] for step in result.steps_of(row)],
            names[row["continues_trajectory_id"]],
        )
        for row in result.trajectories
    }


@pytest.mark.parametrize("first", ["a", "a__reset.2026-05-01T00-03-00.000Z"])
def test_what_a_rotated_file_kept_is_a_step_once(tmp_path: Path, first: str) -> None:
    result = read(tmp_path, **{first: FIRST}, b=SECOND, c=THIRD)
    assert by_name(result) == {
        "a": (["Answer 1.", "Answer 2."], None),
        "b": (["Answer 4."], "a"),
        "c": (["Answer 6."], "b"),
    }
    assert {row["session_id"]: row["run"]["input_tokens"] for row in result.trajectories} == {"a": 3, "b": 4, "c": 6}
    turns = [(turn["user_turn"], turn["text"]) for turn in result.turns if turn["trajectory_id"].startswith("b.")]
    assert turns == [(1, "Question 4?")]
    counts = {row["path"]: {count["name"]: count["count"] for count in row["record_counts"]} for row in result.files}
    assert (counts["m/b.jsonl"]["copied_record"], counts["m/c.jsonl"]["copied_record"]) == (3, 3)


def test_without_the_first_file_nothing_is_lost(tmp_path: Path) -> None:
    assert by_name(read(tmp_path, b=SECOND)) == {"b": (["Answer 2.", "Answer 4."], None)}


def test_a_session_that_was_forked_from_a_checkpoint_copies_it(tmp_path: Path) -> None:
    fork = [header("f", 9, "a.checkpoint.0b1c2d3e-1111-2222-3333-444455556666.jsonl"), *FIRST[1:3], *turn(10, "a1")]
    assert by_name(read(tmp_path, a=FIRST, f=fork))["f"] == (["Answer 10."], "a")


def test_a_rotation_with_nothing_new_yet_is_no_session(tmp_path: Path) -> None:
    result = read(tmp_path, a=FIRST, b=SECOND[:4])
    assert list(by_name(result)) == ["a"]
    assert [row["reason"] for row in result.files if row["path"] == "m/b.jsonl"] == ["copied_context"]


def test_a_parent_without_common_records_is_only_the_parent(tmp_path: Path) -> None:
    child = [header("d", 7, "a.jsonl"), *turn(8, None)]
    result = read(tmp_path, a=FIRST, d=child)
    assert by_name(result)["d"] == (["Answer 8."], None)
    assert [row["parent_trajectory_id"] is None for row in result.trajectories].count(False) == 1


def test_sessions_that_would_continue_one_another_are_all_kept(tmp_path: Path) -> None:
    first = [header("a", 0, "b.jsonl"), *FIRST[1:]]
    assert sum(len(steps) for steps, _ in by_name(read(tmp_path, a=first, b=SECOND)).values()) >= 3


def test_where_two_sessions_have_the_name_of_the_predecessor_none_is_continued_and_that_is_counted(
    tmp_path: Path,
) -> None:
    other = [header("z", 0), *turn(20, None)]
    for folder, records in {"x": FIRST, "y": other}.items():
        path = tmp_path / "raw" / "m" / folder / "a.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    second = "".join(json.dumps(record) + "\n" for record in SECOND)
    (tmp_path / "raw" / "m" / "b.jsonl").write_text(second, encoding="utf-8")
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, intake.rows(SourceFile))
    assert by_name(result)["b"] == (["Answer 2.", "Answer 4."], None)
    warnings = {row["path"]: [warning["name"] for warning in row["warnings"]] for row in result.files}
    assert warnings == {"m/x/a.jsonl": [], "m/y/a.jsonl": [], "m/b.jsonl": ["ambiguous_parent"]}
