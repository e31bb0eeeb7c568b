"""session_nodes, the store's table of run contexts: what is broken in it is told, and the rest of it is used."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from normalizing import SAMPLES, Row, check_accounting, normalized_folder

from openclawbench.records.session import FileOutcome
from openclawbench.sources.openclaw.sqlite_store import copy_of
from openclawbench.tables.schema import from_records
from openclawbench.workspace.run_summary import file_warnings, unusable_context

ONE = "where session_key='agent:main:lab-simple-reply'"
KEY = "the row of session_key 'agent:main:lab-simple-reply': "
COUNT = 36  # sessions of the store


def after(tmp_path: Path, *statements: str) -> tuple[list[Row], dict[str, Row], pl.DataFrame]:
    """Broken contexts, contexts by session, all files: of the store after these statements."""
    copy_of.cache_clear()
    folder = tmp_path / "raw" / "m"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "2026.9.6" / "openclaw-agent.sqlite", folder)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite", isolation_level=None)) as store:
        for statement in ("PRAGMA ignore_check_constraints=1", *statements):
            store.execute(statement)
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    assert len(result.trajectories) == COUNT
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    files = from_records(result.files, FileOutcome)
    return unusable_context(files), {row["session_id"]: row["context"] for row in result.trajectories}, files


def test_a_sound_table_is_not_told(tmp_path: Path) -> None:
    reported, contexts, files = after(tmp_path)
    assert reported == [] and files.height == COUNT
    assert contexts["simple-reply"]["session_key"] == "agent:main:lab-simple-reply"


def test_columns_say_what_the_entry_does_not(tmp_path: Path) -> None:
    columns = {"status": "failed", "spawned_by": "agent:main:boss", "label": "weekly"}
    _, contexts, _ = after(
        tmp_path, *(f"update session_nodes set {name}='{column}' {ONE}" for name, column in columns.items())
    )
    assert {name: contexts["simple-reply"][name] for name in columns} == columns


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (f"update session_nodes set entry_json='{{\"sessionId\":' {ONE}", KEY + "`entry_json` is not JSON: Expecting"),
        (f"update session_nodes set entry_json='[1]' {ONE}", KEY + "`entry_json` is not an object"),
        (f"update session_nodes set entry_json=json_set(entry_json, '$.sessionId', 7) {ONE}", KEY + "`sessionId` is n"),
        (
            f"update session_nodes set entry_json=json_set(entry_json, '$.spawnDepth', 'deep') {ONE}",
            KEY + "`spawnDepth` is not a whole number",
        ),
    ],
)  # fmt: skip
def test_a_broken_row_is_told_and_its_columns_are_used(tmp_path: Path, statement: str, what: str) -> None:
    (row,), contexts, files = after(tmp_path, f"update session_nodes set status='failed' {ONE}", statement)
    assert (row["path"], row["member"], row["reason"]) == (
        "m/openclaw-agent.sqlite",
        "session_nodes",
        "broken_context",
    )
    assert row["message"].startswith(f"m/openclaw-agent.sqlite: session_nodes: {what}")
    assert row["message"].endswith("Take the store from a backup, or mend the row.")
    assert file_warnings(files) == [f"broken_context: {row['message']}"]
    entry = contexts["simple-reply"]
    assert (entry["session_key"], entry["status"]) == ("agent:main:lab-simple-reply", "failed")
    assert contexts["subagent-spawn"]["session_key"]


def test_a_row_that_names_no_session_is_told(tmp_path: Path) -> None:
    entry = json.dumps({"status": "done"})
    reported, contexts, _ = after(
        tmp_path, f"update session_nodes set entry_json='{entry}', current_session_id='' {ONE}"
    )
    assert "it names no session" in reported[0]["message"]
    assert contexts["simple-reply"]["session_key"] is None


def test_many_faults_are_one_sentence_with_their_number(tmp_path: Path) -> None:
    (row,), _, _ = after(tmp_path, "update session_nodes set entry_json='{'")
    assert f"(and {COUNT - 1} more of that kind)" in row["message"]


OLD = "alter table session_nodes rename to old"
KEYS_ONLY = "create table session_nodes as select session_key, entry_json from old"


def test_a_store_without_the_table_has_nothing_to_say(tmp_path: Path) -> None:
    reported, contexts, _ = after(tmp_path, OLD)
    assert reported == [] and contexts["simple-reply"]["session_key"] is None


def test_a_store_without_some_of_the_columns_says_the_rest(tmp_path: Path) -> None:
    reported, contexts, _ = after(tmp_path, OLD, KEYS_ONLY)
    assert reported == [] and contexts["simple-reply"]["session_key"]


def test_an_entry_that_is_no_text_is_told(tmp_path: Path) -> None:
    reported, _, _ = after(tmp_path, OLD, KEYS_ONLY, f"update session_nodes set entry_json=x'00ff' {ONE}")
    assert KEY + "`entry_json` is not text" in reported[0]["message"]


def test_text_that_is_no_utf8_costs_no_other_row(tmp_path: Path) -> None:
    reported, contexts, _ = after(tmp_path, f"update session_nodes set entry_json=cast(x'7b22ff' as text) {ONE}")
    assert "`entry_json` is not JSON" in reported[0]["message"]
    assert contexts["subagent-spawn"]["session_key"]
