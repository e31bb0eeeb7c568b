"""Real sessions: what the model said stands in the steps, and neither noise nor a cut changes what was there."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from normalizing import SAMPLES, Row, normalized_rows, raw_row, read

SESSIONS = sorted(path for path in SAMPLES.glob("*/*.jsonl") if not path.name.endswith(".trajectory.jsonl"))
SMALL = [path for path in SESSIONS if path.stat().st_size < 10_000]
# Small, without branches: parallel calls, text of several bytes a character, a run that failed and another after it.
CUT = ("2026.6.11/parallel-tools.jsonl", "2026.4.15/unicode.jsonl", "2026.4.15/agent-timeout.jsonl")
OF_THE_ACTION = ("step_id", "user_turn", "message_index", "action_kind", "thinking", "narration", "narration_position")
OF_THE_ACTION += ("action_text", "tool_name_raw", "arguments", "partial", "orphan", "timestamp")
OF_THE_FEEDBACK = ("reflection_text", "result_is_error", "result_details", "result_synthetic")
EVERY = 37  # bytes between two cuts in the fast suite


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


# ---- text ------------------------------------------------------------------------------------------------------------
def messages(content: bytes) -> Iterator[Row]:
    """Messages of a session without branches, in order; lines that no model wrote are left out."""
    before = ""
    for line in content.split(b"\n"):
        message = json.loads(line).get("message") if line.strip() else None
        if message is None:
            continue
        text = spoken(message, "text")
        if message.get("api") == "cli" and text.strip() == before.strip():
            continue
        before = text if text and message["role"] == "assistant" else before
        yield message


def spoken(message: Row, kind: str) -> str:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "\n".join(block[kind] for block in blocks if block["type"] == kind and block[kind])
    return text if text.strip() else ""


@pytest.mark.parametrize("path", SESSIONS, ids=name_of)
def test_every_text_of_the_raw_records_is_in_one_step_unchanged(path: Path) -> None:
    session = read(path.read_bytes()).session
    assert session is not None
    stated, thought, heard, asked = [], [], [], []
    for message in messages(path.read_bytes()):
        text = spoken(message, "text")
        if message["role"] == "assistant":
            stated.append(text)
            thought.append(spoken(message, "thinking"))
        else:
            (asked if message["role"] == "user" else heard).append(text)
    steps = session.steps
    in_steps = [step["action_text"] if step["action_kind"] == "reply" else step["narration"] for step in steps]
    assert [text for text in in_steps if text] == [text for text in stated if text]
    assert [step["thinking"] for step in steps if step["thinking"]] == [text for text in thought if text]
    feedback = [step["reflection_text"] for step in steps if step["reflection_text"]]
    assert feedback == [text for text in heard if text]
    if "off_branch" in session.record_counts:
        assert {turn["raw_text"] for turn in session.user_turns} < set(asked)
    else:
        assert [turn["raw_text"] for turn in session.user_turns] == asked


# ---- noise -----------------------------------------------------------------------------------------------------------
def without_places(rows: list[Row]) -> list[Row]:
    """Steps or turns without the lines they came from."""
    return [{name: value for name, value in row.items() if name not in ("raw", "line")} for row in rows]


data = st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
unknown = st.fixed_dictionaries(
    {"type": st.sampled_from(["hologram", "metrics", "message.draft"])},
    optional={
        "data": data,
        "timestamp": st.just("2026-01-01T00:00:00.000Z"),
        "message": st.sampled_from(["a text", 7, {"content": 7}]),
        "customType": st.just(["no", "text"]),
    },
)


def add(lines: list[bytes], place: int, record: Row, linked: bool) -> None:
    """A record put among the lines: as a link of the chain, or without an id, hung on nothing."""
    if linked:
        before = json.loads(lines[place - 1])
        parent = before["id"] if before["type"] != "session" else None
        record = record | {"id": f"added-{len(lines)}", "parentId": parent}
        for index in range(place, len(lines)):
            after = json.loads(lines[index])
            if after.get("parentId", "") == parent:
                was, now = (f'"parentId":{json.dumps(entry)}'.encode() for entry in (parent, record["id"]))
                lines[index] = lines[index].replace(was, now)
    lines.insert(place, json.dumps(record, separators=(",", ":")).encode())


@given(
    st.sampled_from(SMALL),
    st.lists(st.tuples(st.integers(1, 10**6), unknown), min_size=1, max_size=5),
    st.booleans(),
)
def test_records_of_unknown_types_change_nothing_but_the_counts(
    path: Path, added: list[tuple[int, Row]], linked: bool
) -> None:
    content = path.read_bytes()
    lines = content.removesuffix(b"\n").split(b"\n")
    for place, record in added:
        add(lines, 1 + place % len(lines), record, linked)
    before, after = read(content).session, read(b"\n".join(lines) + b"\n").session
    assert before is not None
    assert after is not None
    assert without_places(after.steps) == without_places(before.steps)
    assert without_places(after.user_turns) == without_places(before.user_turns)
    assert (after.run["end"], after.abandoned_steps) == (before.run["end"], before.abandoned_steps)
    counted = after.record_counts - before.record_counts
    assert counted.total() == len(added)
    assert set(counted) <= {f"unknown_type:{record['type']}" for _, record in added}


# ---- files -----------------------------------------------------------------------------------------------------------
@given(st.lists(st.sampled_from(SMALL), min_size=2, max_size=12), st.randoms(use_true_random=False), st.data())
@settings(max_examples=15)
def test_the_order_of_files_changes_nothing(paths: list[Path], shuffler: random.Random, data: st.DataObject) -> None:
    rows = []
    for number, path in enumerate(paths):
        content = path.read_bytes()
        cut = data.draw(st.sampled_from([len(content), len(content) * 2 // 3, content.rindex(b"\n", 0, -1) + 1]))
        rows.append(raw_row([content[:cut]], f"m/{number}/{path.name}", sha256=f"{number:064x}"))
    shuffled = shuffler.sample(rows, len(rows))
    normalized, other = normalized_rows(rows), normalized_rows(shuffled)
    for name, order in (
        ("files", ("path",)),
        ("trajectories", ("trajectory_id",)),
        ("steps", ("trajectory_id", "step_id")),
        ("turns", ("trajectory_id", "user_turn")),
    ):
        first, second = getattr(normalized, name), getattr(other, name)
        assert sorted(first, key=lambda row: [row[k] for k in order]) == sorted(
            second, key=lambda row: [row[k] for k in order]
        )


# ---- cuts ------------------------------------------------------------------------------------------------------------
def check_cut(content: bytes, all_rows: list[Row], size: int) -> None:
    """The first `size` bytes give the first steps of the whole, or a reason why there are none."""
    session_file = read(content[:size])
    if session_file.session is None:
        assert size < content.index(b"\n"), session_file.message
        return
    steps = session_file.session.steps
    assert len(steps) <= len(all_rows)
    last = steps[-1]["message_index"] if steps else None
    for cut, step in zip(steps, all_rows, strict=False):
        assert [cut[name] for name in OF_THE_ACTION] == [step[name] for name in OF_THE_ACTION]
        if cut["has_result"] or not step["has_result"]:
            assert [cut[name] for name in OF_THE_FEEDBACK] == [step[name] for name in OF_THE_FEEDBACK]
        else:
            assert cut["message_index"] == last
            assert cut["reflection_text"] is None
    at_end_of_line = size == len(content) or content[size - 1 : size + 1].count(b"\n") > 0
    assert session_file.session.truncated != at_end_of_line


def cuts(name: str, every: int) -> None:
    content = (SAMPLES / name).read_bytes()
    session = read(content).session
    assert session is not None
    assert not session.record_counts["off_branch"]
    for size in range(every - 1, len(content) + 1, every):
        check_cut(content, session.steps, size)


@pytest.mark.parametrize("name", CUT)
def test_a_cut_file_yields_the_first_steps(name: str) -> None:
    cuts(name, EVERY)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", CUT)
def test_a_file_cut_at_any_byte_yields_the_first_steps(name: str) -> None:
    cuts(name, 1)


@pytest.mark.parametrize(
    ("name", "lines", "end"),
    [
        ("2026.4.15/agent-timeout.jsonl", 9, "timeout"),
        ("2026.6.11/agent-timeout.jsonl", 9, "timeout"),
        ("2026.9.6/agent-timeout.jsonl", 10, "timeout"),  # no run error there, only the aborted message
        ("2026.4.15/agent-timeout.jsonl", 10, "unanswered"),  # the next question has no answer yet
        ("2026.4.15/agent-timeout.jsonl", 11, "completed"),
        ("2026.6.11/abort-midstream.jsonl", 9, "aborted"),
        ("2026.6.11/compaction-overflow.jsonl", 13, "error"),  # then a repeat of the reply before
    ],
)
def test_how_the_run_ended_by_then(name: str, lines: int, end: str) -> None:
    content = b"\n".join((SAMPLES / name).read_bytes().split(b"\n")[:lines]) + b"\n"
    session = read(content).session
    assert session is not None
    assert session.run["end"] == end


def test_a_run_error_after_the_last_reply_counts() -> None:
    """Where a run fails before the model says anything, its error is the only record of it."""
    content = (SAMPLES / "2026.6.11" / "simple-reply.jsonl").read_bytes()
    error = {"type": "custom", "customType": "openclaw:prompt-error", "data": {"error": "request timed out"}}
    session = read(content + json.dumps(error).encode() + b"\n").session
    assert session is not None
    assert (session.run["end"], session.run["first_provider_error"]) == ("timeout", "request timed out")


# ---- a number too large ----------------------------------------------------------------------------------------------
def numbers(value: Any) -> Row:
    usage = {"input": value, "output": value, "totalTokens": value, "cost": {"total": value}}
    content = [{"type": "text", "text": "yes"}]
    message = {"role": "assistant", "content": content, "usage": usage, "model": "m", "stopReason": "stop"}
    return {"type": "message", "message": message, "timestamp": value}


@pytest.mark.parametrize("value", ["1e400", "-1e308", str(10**30), str(2**63), str(-(2**63)), "true", '"7"', "[]"])
def test_numbers_that_fit_no_column_are_no_numbers(value: str) -> None:
    header = json.dumps({"type": "session", "id": "s", "timestamp": "2026-01-01T00:00:00Z"})
    record = json.dumps(numbers("HERE")).replace('"HERE"', value)
    normalized = normalized_rows([raw_row(["\n".join([header, record, record, ""]).encode()])])
    assert [row["disposition"] for row in normalized.files] in (["trajectory"], ["quarantined"])


def test_a_turn_that_was_timed_out_in_mid_session_is_counted_once() -> None:
    """Its run error and its aborted message are of one turn; the session went on and completed."""
    session = read((SAMPLES / "2026.4.15" / "agent-timeout.jsonl").read_bytes()).session
    assert session is not None
    assert (session.run["run_errors"], session.run["provider_errors"], session.run["end"]) == (1, 0, "completed")
    assert session.run["first_provider_error"] == "request timed out | request timed out"
    assert session.run["first_provider_error_after"] == 1
