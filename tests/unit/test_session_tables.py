"""Rows of tables that hold a session: each is read from its own place, with the outcome that its row says."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from normalizing import check_accounting, normalized_folder
from session_tables import document, jsonl, messages, parquet, steps, trace_row

from openclawbench.base.terminal import output
from openclawbench.cli.commands.doctor import print_recognized
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.inspect.doctor import examine_folder
from openclawbench.intake.intake import Intake, take_in
from openclawbench.intake.scan import entry_content
from openclawbench.records.oracle import SourceOutcome
from openclawbench.records.session import RunManifestRow, SourceFile
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.rules.intake.tables import TableRules
from openclawbench.sources.tables import rows as table_rows
from openclawbench.sources.tables.facts import ScoreRanges, outcome_of
from openclawbench.sources.tables.rows import find_json_table
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import empty

RULES = TableRules.load()
Row = dict[str, Any]


def read(tmp_path: Path) -> tuple[Intake, Any, dict[str, Row]]:
    """(intake, rows of normalize, oracle record of each trajectory by its session's id or member)."""
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, intake.entries.rows())
    outcomes = {}
    for shard in intake.entries:
        tables = normalize(intake.read(SourceFile, shard), empty(RunManifestRow).lazy(), NormalizeRules.load())
        rows = dict(zip(normalize.writes, tables, strict=True))[SourceOutcome].collect().to_dicts()
        outcomes |= {row["oracle"]["native_session_basename"]: row["oracle"] for row in rows}
    return intake, result, outcomes


def fates(normalized: Any) -> dict[str, tuple[str, str | None]]:
    return {row["member"]: (row["disposition"], row["reason"]) for row in normalized.files if row["member"]}


def check_pointers(tmp_path: Path, intake: Intake, normalized: Any) -> int:
    """Each raw record of each step is the JSON text at its place: in the file where the session is bytes of it, else in
    the value of its row. The number of records."""
    entries = {(entry.path, entry.member): entry for some in intake.entries.values() for entry in some}
    records = 0
    for trajectory in normalized.trajectories:
        path, member = trajectory["source_file"], trajectory["source_member"]
        entry = entries[path, member]
        content = bytes(entry_content(tmp_path / "raw", path, member, entry.base_offset, entry.length))
        complete_content = (tmp_path / "raw" / path).read_bytes()
        for step in normalized.steps_of(trajectory):
            for raw in step["raw"]:
                text = content[raw["offset"] : raw["offset"] + raw["length"]]
                assert isinstance(json.loads(text), dict)
                if entry.length is not None and not path.endswith(".gz"):
                    at = raw["offset"] + trajectory["source_base_offset"]
                    assert complete_content[at : at + raw["length"]] == text
                    assert complete_content[:at].count(b"\n") + 1 == raw["line"] + trajectory["source_base_line"] - 1
                records += 1
    return records


def test_a_row_is_a_session_with_its_task_model_and_outcome(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw/claws/train.jsonl", [trace_row(1, 1.0, run="2"), trace_row(2, -1.0), trace_row(3, 0.25)])
    intake, result, outcomes = read(tmp_path)
    assert {row["source_model"] for row in result.trajectories} == {"vendor_model-b"}
    assert {row["source_format"] for row in result.trajectories} == {"atif"}
    first = next(row for row in result.trajectories if row["session_id"] == "u-1")
    assert (first["task_id"], first["subset"], first["attempt"]) == ("t1", "email", 2)
    assert (first["source_member"], first["models"], first["num_steps"]) == ("line1", ["vendor/model-b"], 2)
    by_name = {name: (outcome["success"], outcome["score"], outcome["flags"]) for name, outcome in outcomes.items()}
    assert by_name == {
        "u-1": (True, 1.0, []),
        "u-2": (False, -1.0, ["negative_score"]),
        "u-3": (False, 0.25, ["partial_reward"]),
    }
    assert outcomes["u-1"]["evaluator"]["name"] == "train"
    assert outcomes["u-1"]["evaluator"]["mode"] == "score"
    assert outcomes["u-1"]["evaluator"]["source_path"] == "train.jsonl#line1"
    assert check_pointers(tmp_path, intake, result) == 6


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("as_text", [False, True], ids=["object", "text"])
def test_a_document_in_a_row_is_read_whether_object_or_text(tmp_path: Path, as_text: bool, packed: bool) -> None:
    held = [document(number) for number in (1, 2)]
    path = jsonl(
        tmp_path / "raw/m/rows.jsonl",
        [{"task_id": f"t{n}", "trajectory": json.dumps(entry) if as_text else entry} for n, entry in enumerate(held)],
    )
    if packed:
        path.with_name("rows.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    intake, result, outcomes = read(tmp_path)
    members = {f"line{number}{'.trajectory' if as_text else ''}" for number in (1, 2)}
    assert {row["source_member"] for row in result.trajectories} == members
    assert {row["session_id"] for row in result.trajectories} == {"s-1", "s-2"}
    assert {row["source_model"] for row in result.trajectories} == {"m"}
    assert outcomes == {}
    assert check_pointers(tmp_path, intake, result) == 4


@pytest.mark.parametrize("size", [1, 100])
def test_rows_of_parquet_are_read_from_their_groups(tmp_path: Path, size: int) -> None:
    rows = [trace_row(number, float(number % 2)) for number in range(1, 6)]
    parquet(tmp_path / "raw/claws/a.parquet", rows, row_group_size=size)
    texts = [{"document": json.dumps(document(number)), "passed": number == 7} for number in (7, 8)]
    parquet(tmp_path / "raw/claws/b.parquet", texts, row_group_size=size, compression="zstd")
    intake, result, outcomes = read(tmp_path)
    assert {row["source_member"] for row in result.trajectories} == {
        *(f"row{number}.traces" for number in range(1, 6)),
        *("row1.document", "row2.document"),
    }
    assert {name: outcome["success"] for name, outcome in outcomes.items()} == {
        **{f"u-{number}": number % 2 == 1 for number in range(1, 6)},
        "s-7": True,
        "s-8": False,
    }
    assert check_pointers(tmp_path, intake, result) == 14


def test_fields_that_a_struct_of_parquet_invents_are_left_out(tmp_path: Path) -> None:
    """Each object of a column has the fields of all others, which are null where they never were."""
    other = steps(2)
    other[1]["tool_calls"][0]["arguments"] = {"path": "x.txt"}
    parquet(tmp_path / "raw/m/a.parquet", [trace_row(1, 1.0), trace_row(2, 1.0, traces=other)])
    _, result, _ = read(tmp_path)
    arguments = {step["arguments"] for step in result.steps if step["arguments"]}
    assert arguments == {'{"command":"ls 1"}', '{"path":"x.txt"}'}


def test_a_list_of_messages_with_a_status_is_a_session(tmp_path: Path) -> None:
    words = ("success", "failed", "error", "completed", "odd word", None)
    rows = [{"messages": messages(number), "status": word, "id": f"m{number}"} for number, word in enumerate(words)]
    jsonl(tmp_path / "raw/chat/run.jsonl", rows)
    text = tmp_path / "raw/chat/one.json"
    text.write_text(json.dumps({"task_id": "single", "status": "Success", "messages": messages(9)}, indent=2))
    intake, result, outcomes = read(tmp_path)
    assert {row["source_format"] for row in result.trajectories} == {"message_list"}
    by_name = {name: (record["status"], record["success"]) for name, record in outcomes.items()}
    assert by_name == {
        "m0": ("scored", True),
        "m1": ("scored", False),
        "m2": ("infra_error", None),
        "m3": ("not_scored", None),
        "m4": ("unscorable", None),
        "m5": ("not_scored", None),
        "line1": ("scored", True),
    }
    warned = {row["member"]: [warning["name"] for warning in row["warnings"]] for row in result.files}
    assert warned["line5"] == ["unknown_status"]
    assert warned["line6"] == ["missing_score"]
    assert outcomes["m4"]["error_message"] == "status odd word"
    first = next(row for row in result.trajectories if row["session_id"] == "m0")
    call, reply = result.steps_of(first)
    assert (call["tool_name_raw"], call["arguments"]) == ("exec", '{"command": "wc -l 0.txt"}')
    assert (call["reflection_text"], reply["action_text"]) == ("0 0.txt", "It has 0 lines.")
    assert [turn["text"] for turn in result.turns if turn["trajectory_id"] == first["trajectory_id"]] == [
        "Count the lines of 0.txt."
    ]
    assert check_pointers(tmp_path, intake, result) == 21


def test_messages_without_a_column_for_an_outcome_are_not_taken_for_a_session(tmp_path: Path) -> None:
    """Such files lie about: requests to an endpoint, data for fine-tuning."""
    jsonl(tmp_path / "raw/m/requests.jsonl", [{"model": "x", "messages": messages(1)}])
    _, result, _ = read(tmp_path)
    assert result.trajectories == []


def test_what_is_wrong_with_a_row_costs_that_row_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "MOST_BYTES", 20_000)
    good = {"trajectory": json.dumps(document(1)), "reward": 1.0, "task_id": "t"}
    huge = {"trajectory": json.dumps(document(2, notes="x" * 30_000)), "reward": 1.0}
    broken = {"trajectory": json.dumps(document(3) | {"steps": [{"source": "agent", "tool_calls": 7}]}), "reward": 1}
    rows = [
        '{"trajectory": "{\\"schema_ver',
        good,
        {"trajectory": "no document", "reward": 1.0},
        {"trajectory": None, "reward": 0.0},
        {"reward": 1.0},
        {"trajectory": '{"schema_version": "ATIF-v1.6", "steps": [', "reward": 1},
        {"trajectory": '{"format": "another"}', "reward": 1},
        broken,
        huge,
        good,
        {**good, "reward": None, "task_id": "u"},
        '{"trajectory": "{\\"schema_version\\": \\"ATIF',
    ]
    jsonl(tmp_path / "raw/m/rows.jsonl", rows)
    _, result, outcomes = read(tmp_path)
    assert fates(result) == {
        "line1": ("quarantined", "not_json"),
        "line2.trajectory": ("trajectory", None),
        "line3": ("quarantined", "not_a_session"),
        "line4": ("quarantined", "not_a_session"),
        "line5": ("quarantined", "not_a_session"),
        "line6.trajectory": ("quarantined", "not_json"),
        "line7.trajectory": ("quarantined", "not_a_session"),
        "line8.trajectory": ("quarantined", "unexpected_shape"),
        "line9": ("quarantined", "too_large"),
        "line10.trajectory": ("copy", "copy_of"),
        "line11.trajectory": ("trajectory", None),
        "line12": ("quarantined", "not_json"),
    }
    by_member = {
        row["member"]: (row["line"], row["message"]) for row in result.files if row["disposition"] == "quarantined"
    }
    for member, (line, message) in by_member.items():
        number = int(member.partition(".")[0].removeprefix("line"))
        assert line == number
        assert message.startswith(f"m/rows.jsonl: line {number}")
        assert message.endswith("the other rows are read.")
    assert "column trajectory" in by_member["line8.trajectory"][1]
    doubles = [row for row in result.trajectories if row["session_id"] == "s-1"]
    assert {row["task_id"] for row in doubles} == {"t", "u"}
    assert set(outcomes) == {"s-1"}


def test_rows_that_differ_in_their_outcome_alone_are_one_session_in_doubt(tmp_path: Path) -> None:
    row = {"trajectory": document(1), "task_id": "t"}
    jsonl(tmp_path / "raw/m/rows.jsonl", [{**row, "reward": 1.0}, {**row, "reward": 0.0}])
    _, result, _ = read(tmp_path)
    assert [kind for kind, _ in fates(result).values()].count("copy") == 1
    assert "differing_outcomes" in {warning["name"] for row in result.files for warning in row["warnings"]}


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = parquet(tmp_path / "raw/m/a.parquet", [trace_row(1, 1.0)])
    path.write_bytes(path.read_bytes()[:-20])
    jsonl(tmp_path / "raw/m/b.jsonl", [trace_row(2, 1.0)])
    _, result, outcomes = read(tmp_path)
    bad = next(row for row in result.files if row["path"] == "m/a.parquet")
    assert (bad["disposition"], bad["reason"]) == ("quarantined", "unreadable_file")
    assert bad["message"].endswith("Put the file back whole, or remove it.")
    assert set(outcomes) == {"u-2"}


def test_a_parquet_file_without_sessions_lies_beside_them(tmp_path: Path) -> None:
    parquet(tmp_path / "raw/m/a.parquet", [{"question": "q", "score": 1.0}])
    _, result, _ = read(tmp_path)
    assert [(row["disposition"], row["reason"]) for row in result.files] == [("sidecar", "no_session")]


def test_a_very_large_table_is_read(tmp_path: Path) -> None:
    """Of more than 16 MB: mapped, not held."""
    rows = [trace_row(number, 1.0, file_name="x" * 2_000_000) for number in range(1, 11)]
    jsonl(tmp_path / "raw/m/large.jsonl", rows)
    texts = [{"trajectory": json.dumps(document(n, notes="y" * 2_000_000)), "reward": 1} for n in range(20, 30)]
    jsonl(tmp_path / "raw/m/texts.jsonl", texts)
    parquet(tmp_path / "raw/m/large.parquet", texts, compression="none")
    assert all(path.stat().st_size > 16 << 20 for path in (tmp_path / "raw/m").iterdir())
    intake, result, _ = read(tmp_path)
    assert {row["disposition"] for row in result.files} <= {"trajectory", "copy"}
    assert len(result.trajectories) == 20
    assert check_pointers(tmp_path, intake, result) == 40


def test_an_unchanged_table_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path / "raw/m/rows.jsonl", [trace_row(1, 1.0)])
    keys = []
    for _ in range(2):
        intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", None, save=True)
        keys.append({shard: intake.key(SourceFile, shard) for shard in intake.entries})
        monkeypatch.setattr("openclawbench.intake.file_scanner.identify", lambda content: pytest.fail("opened"))
    assert keys[0] == keys[1]


def test_subagents_in_a_row_are_sessions_of_their_own(tmp_path: Path) -> None:
    inner = document(5, session_id="inner")
    jsonl(tmp_path / "raw/m/rows.jsonl", [{"trajectory": document(4, subagent_trajectories=[inner]), "model": "x/y"}])
    intake, result, _ = read(tmp_path)
    by_id = {row["session_id"]: row for row in result.trajectories}
    assert by_id["inner"]["source_member"] == "line1.subagent1"
    assert by_id["inner"]["parent_trajectory_id"] == by_id["s-4"]["trajectory_id"]
    assert {row["source_model"] for row in result.trajectories} == {"x_y"}
    assert check_pointers(tmp_path, intake, result) == 4


@pytest.mark.parametrize(
    ("values", "status", "success", "fault"),
    [
        ({"score": 1.0}, "scored", True, None),
        ({"reward": 1, "score": 0.2}, "scored", True, None),
        ({"metrics.reward": 0.0, "score": 1.0}, "scored", True, None),
        ({"style.score": 1.0, "tests.score": 0.0}, "not_scored", None, "missing_score"),
        ({"score": 87.0}, "unscorable", None, "score_off_scale"),
        ({"score": 0.5}, "unscorable", None, "score_off_scale"),
        ({"score": 87, "max_score": 100}, "scored", False, None),
        ({"score": 5, "max_score": 5}, "scored", True, None),
        ({"score": 1, "max_score": "5"}, "scored", False, None),
        ({"score": 6, "max_score": 5}, "unscorable", None, "score_off_scale"),
        ({"score": 3, "passed": False}, "scored", False, None),
        ({"reward": "1.0"}, "scored", True, None),
        ({"reward": "nan"}, "not_scored", None, "missing_score"),
        ({"score": float("nan")}, "not_scored", None, "missing_score"),
        ({"score": True}, "not_scored", None, "missing_score"),
        ({"passed": 1}, "scored", True, None),
        ({"passed": "yes"}, "scored", True, None),
        ({"resolved": "True"}, "scored", True, None),
        ({"passed": "false"}, "scored", False, None),
        ({"correct": "0"}, "scored", False, None),
        ({"is_correct": "wrong"}, "scored", False, None),
        ({"passed": "maybe"}, "not_scored", None, "missing_score"),
        ({"correct": 0.85}, "not_scored", None, "missing_score"),
        ({"status": "Timed-out"}, "not_scored", None, None),
        ({"status": "timeout", "reward": 0.0}, "scored", False, None),
        ({"status": "cancelled", "reward": 0.0}, "infra_error", None, None),
        ({"status": "odd", "reward": 0.0}, "scored", False, "unknown_status"),
        ({"status": "success", "reward": 0.0}, "unscorable", None, "contradictory_row"),
        ({"status": "success", "reward": 0.7}, "scored", True, None),
        ({"status": "failed", "passed": True}, "unscorable", None, "contradictory_row"),
        ({"status": None}, "not_scored", None, "missing_score"),
    ],
)
def test_what_the_columns_of_a_row_say(values: Row, status: str, success: bool | None, fault: str | None) -> None:
    outcome, faults = outcome_of(values, RULES, ScoreRanges())
    assert outcome is not None
    assert (outcome["status"], outcome["success"]) == (status, success)
    assert [reason for reason, _ in faults] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("scores", "successes"),
    [
        ([1, 2, 5], [None, None, None]),  # stars: 1 is the worst
        ([1, 5, 4, 1], [None] * 4),
        ([0.0, 0.5, 1.0], [False, False, True]),
        ([-1.0, 1.0], [False, True]),
        ([0.0, 0.3, 0.6], [False, None, None]),  # the full score is not known
        ([0, 100, 50], [None, None, None]),
        ([1, 1], [True, True]),
        (["1.0", "0.0"], [True, False]),
    ],
)
def test_what_a_score_means_is_told_by_its_column(
    tmp_path: Path, scores: list[Any], successes: list[bool | None]
) -> None:
    rows = [{"id": f"m{n}", "score": score, "messages": messages(n)} for n, score in enumerate(scores)]
    jsonl(tmp_path / "raw/m/run.jsonl", rows)
    parquet(tmp_path / "raw/p/run.parquet", [row | {"id": f"p{n}"} for n, row in enumerate(rows)])
    _, _, outcomes = read(tmp_path)
    for kind in ("m", "p"):
        assert [outcomes[f"{kind}{n}"]["success"] for n in range(len(scores))] == successes
    assert {outcome["status"] for outcome in outcomes.values() if outcome["success"] is None} <= {"unscorable"}


def test_a_number_names_no_subset_and_a_numbered_file_no_benchmark(tmp_path: Path) -> None:
    row = {"task_id": "t", "category": 3, "passed": True}
    jsonl(tmp_path / "raw/m/failures/7.jsonl", [row | {"id": "a", "messages": messages(1)}])
    jsonl(tmp_path / "raw/m/train-00001-of-00002.jsonl", [row | {"id": "b", "messages": messages(2)}])
    _, result, outcomes = read(tmp_path)
    assert {trajectory["subset"] for trajectory in result.trajectories} == {"failures", "train"}
    assert {outcome["evaluator"]["name"] for outcome in outcomes.values()} == {"failures", "train"}


@pytest.mark.parametrize(
    ("row", "reason", "words"),
    [
        ({"chosen": messages(1), "rejected": messages(2), "score": 1.0}, "no_run", "a row of preferences"),
        ({"prompt": messages(1)[:2], "completion": messages(1)[-1:], "score": 1.0}, "no_run", "a prompt and its"),
        ({"prompt": "a", "completion": "b"}, "no_run", "a prompt and its completion"),
        ({"messages": messages(1), "source": "x"}, "no_run", "messages in the column messages, and no column that"),
        ({"question": "q", "answer": "a"}, "not_a_session", "of no known session format"),
    ],
)  # fmt: skip
def test_rows_that_are_no_runs_are_refused_for_that(tmp_path: Path, row: Row, reason: str, words: str) -> None:
    jsonl(tmp_path / "raw/m/run.jsonl", [row, row])
    (tmp_path / "raw/m/rows.json").write_text(json.dumps([row, row], indent=1))
    _, result, _ = read(tmp_path)
    by_path = {file["path"].rpartition("/")[2]: file for file in result.files}
    assert (by_path["run.jsonl"]["reason"], words in by_path["run.jsonl"]["message"]) == (reason, True)
    assert reason != "no_run" or by_path["rows.json"]["reason"] == "no_run"
    assert result.trajectories == []


UNSUPPORTED: dict[str, tuple[Any, str]] = {
    "x.traj.json": ({"info": {"status": "done"}, "entries": []}, "a trajectory"),
    "swe.json": ({"info": {"exit_status": "submitted"}, "trajectory": []}, "a trajectory of SWE-agent"),
    "x.traj": ("instance: 1\nhistory: []\n", "a trajectory"),
    "x.eval": ("PK\x03\x04", "a log of Inspect"),
    "x.json": ({"simulations": [], "tasks": []}, "results of tau2-bench"),
    "events.json": ([{"id": 1, "source": "agent", "action": "run", "args": {}}], "a trajectory of OpenHands"),
    "claude.jsonl": ({"parentUuid": None, "sessionId": "s", "type": "user"}, "a session of Claude Code"),
    "rollout.jsonl": ({"timestamp": "x", "type": "session_meta", "payload": {}}, "a session of Codex"),
    "own.json": ({"run": 1, "turns": [{"speaker": "a", "text": "b"}]}, "messages or steps under 'turns'"),
    "list.json": ([{"thought": "a", "action": "b"}], "a list of messages or events"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_a_session_of_a_format_that_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    content, looks = UNSUPPORTED[name]
    path = tmp_path / "raw/m" / name
    path.parent.mkdir(parents=True)
    path.write_text(
        content if isinstance(content, str) else json.dumps(content, indent=1 if "jsonl" not in name else None)
    )
    _, result, _ = read(tmp_path)
    (file,) = result.files
    assert (file["disposition"], file["reason"]) == ("quarantined", "unsupported_session")
    assert f"looks like {looks}, a session of a format that is not read" in file["message"]


def test_what_harbor_made_a_trajectory_of_and_what_is_no_session_stay_beside(tmp_path: Path) -> None:
    folder = tmp_path / "raw/m/trial/agent"
    folder.mkdir(parents=True)
    (folder / "trajectory.json").write_text(json.dumps(document(1)))
    (folder / "mini.trajectory.json").write_text(
        json.dumps({"info": {"exit_status": "a", "submission": ""}, "messages": messages(1)})
    )
    (tmp_path / "raw/m/notes.json").write_text(json.dumps({"steps": 3, "events": ["a"], "history": []}))
    _, result, _ = read(tmp_path)
    assert sorted(file["disposition"] for file in result.files) == ["sidecar", "sidecar", "trajectory"]


def test_an_exception_that_is_not_the_agents_is_no_failure(tmp_path: Path) -> None:
    names = ("SandboxBuildFailedError", "AgentTimeoutError", "VerifierTimeoutError")
    jsonl(tmp_path / "raw/m/r.jsonl", [trace_row(n, 0.0, exception_type=name) for n, name in enumerate(names)])
    _, _, outcomes = read(tmp_path)
    assert [outcomes[f"u-{n}"]["status"] for n in range(3)] == ["infra_error", "scored", "not_scored"]
    assert [outcomes[f"u-{n}"]["success"] for n in range(3)] == [None, False, None]


def test_no_other_column_is_kept(tmp_path: Path) -> None:
    """Rows hold configurations, which may hold keys."""
    secret = {"config": {"env": {"API_KEY": "sk-secret"}}, "note": "sk-secret", "task": "sk-secret\nof two lines"}
    jsonl(tmp_path / "raw/m/r.jsonl", [trace_row(1, 1.0) | secret])
    intake, _, _ = read(tmp_path)
    assert not any("sk-secret" in (entry.context or "") for some in intake.entries.values() for entry in some)


def test_other_json_is_no_table() -> None:
    for first in ({"traceSchema": "openclaw-trajectory", "data": {"messages": messages(1)}}, {"a": [1]}, ["x"], 7):
        content = json.dumps(first).encode()
        assert find_json_table(content, first, RULES) is None


def test_a_map_of_parquet_is_an_object(tmp_path: Path) -> None:
    kind = pa.struct([("role", pa.string()), ("content", pa.string()), ("extra", pa.map_(pa.string(), pa.string()))])
    records = [{"role": "user", "content": "go", "extra": [("a", "b")]}, {"role": "assistant", "content": "done"}]
    table = pa.table({"messages": pa.array([records], pa.list_(kind)), "status": ["success"]})
    path = tmp_path / "raw/m/a.parquet"
    path.parent.mkdir(parents=True)
    pa.parquet.write_table(table, path)
    _, result, _ = read(tmp_path)
    assert [row["num_steps"] for row in result.trajectories] == [1]
    content = entry_content(tmp_path / "raw", "m/a.parquet", "row1.messages", 0, None)
    assert json.loads(content)[0]["extra"] == {"a": "b"}


def test_doctor_says_what_a_table_is(tmp_path: Path) -> None:
    rows = [trace_row(1, 1.0), trace_row(2, 0.0), trace_row(3, None), trace_row(4, 1.0, traces=None)]
    jsonl(tmp_path / "raw/claws/train.jsonl", rows)
    jsonl(tmp_path / "raw/chat/run.jsonl", [{"messages": messages(1), "status": "odd"}])
    parquet(tmp_path / "raw/docs/a.parquet", [{"trajectory": json.dumps(document(1)), "license": "cc-by-nc-4.0"}])
    _, sentences = examine_folder(tmp_path / "raw")
    assert sentences == [
        "chat/run.jsonl: a table with a list of chat messages a row, in the column messages: 1 session, 1 outcome "
        "(1 unscorable with status odd); source model chat.",
        "claws/train.jsonl: a table with the steps of an ATIF document a row, in the column traces: 3 sessions, "
        "3 outcomes (1 fail, 1 not_scored, 1 pass), 1 quarantined; source model vendor_model-b.",
        "docs/a.parquet: a table with an ATIF document a row, in the column trajectory: 0 sessions, no outcome, "
        "1 quarantined; source model docs; licence cc-by-nc-4.0.",
    ]
    _, accepted = examine_folder(tmp_path / "raw", accept_noncommercial=True)
    assert "1 session, no outcome; source model docs; licence cc-by-nc-4.0." in accepted[2]


def test_doctor_prints_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl(tmp_path / "my raw/m\x1b[31m/train.jsonl", [trace_row(1, 1.0)])
    print_recognized(tmp_path / "my raw", examine_folder(tmp_path / "my raw")[1], output())
    printed = capsys.readouterr().out
    assert f"openclawbench run --raw '{tmp_path}/my raw'" in printed
    assert "\x1b" not in printed


def test_the_model_of_a_judge_is_not_the_source_model(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw/m/r.jsonl", [{"traces": steps(1), "passed": True, "judge": {"model": "vendor/judge"}}])
    _, result, _ = read(tmp_path)
    assert [(row["source_model"], row["models"]) for row in result.trajectories] == [("m", [])]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_list_of_rows_is_a_table(tmp_path: Path, indent: int | None) -> None:
    rows = [
        {"messages": messages(1), "status": "success", "id": "a"},
        {"status": "failed"},
        {"messages": messages(2), "status": "failed", "id": "b"},
        {"messages": json.dumps(messages(3)), "status": "failed", "id": "c"},
    ]
    path = tmp_path / "raw/m/results.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows, indent=indent))
    intake, result, outcomes = read(tmp_path)
    assert {name: record["success"] for name, record in outcomes.items()} == {"a": True, "b": False, "c": False}
    assert fates(result) == {
        "row1": ("trajectory", None),
        "row2": ("quarantined", "not_a_session"),
        "row3": ("trajectory", None),
        "row4.messages": ("trajectory", None),
    }
    assert check_pointers(tmp_path, intake, result) == 9


def test_a_list_that_is_cut_off_is_no_table(tmp_path: Path) -> None:
    content = json.dumps([{"messages": messages(1), "status": "success"}]).encode()[:-1]
    assert find_json_table(content, None, RULES) is None


def test_subagents_in_text_are_named(tmp_path: Path) -> None:
    row = {"trajectory": json.dumps(document(4, subagent_trajectories=[document(5)])), "reward": 1}
    jsonl(tmp_path / "raw/m/rows.jsonl", [row])
    _, result, _ = read(tmp_path)
    assert [warning["name"] for row in result.files for warning in row["warnings"]] == ["subagents_not_read"]
