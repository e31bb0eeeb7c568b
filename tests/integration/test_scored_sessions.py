"""Scored sessions of other benchmarks, from rows and job trees to a release: each record against the row that it came
from, its outcome, its licence, and the way back."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from child import call, few_shards
from session_tables import document, jsonl, messages, parquet, trace_row

pytestmark = pytest.mark.slow
SESSION = Path(__file__).parents[1] / "samples" / "2026.4.15" / "sequential-tools.jsonl"
LICENSE = "cc-by-nc-sa-4.0"


def trial(folder: Path, name: str, **result: Any) -> None:
    """A trial of a Harbor job with the session of a real agent."""
    sessions = folder / name / "agent" / "openclaw-state" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    header, *rest = SESSION.read_text().splitlines(keepends=True)
    own = json.loads(header) | {"id": "harbor", "timestamp": f"2026-03-20T00:00:{len(name):02}.000Z"}
    (sessions / "harbor.jsonl").write_text("".join([json.dumps(own) + "\n", *rest]))
    known = {"id": name, "task_name": name.partition("__")[0], "trial_name": name, "source": "claw"}
    blank = {"verifier_result": None, "exception_info": None}
    (folder / name / "result.json").write_text(json.dumps(known | blank | result))


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three layouts; the table of steps has a licence that allows no commercial use."""
    folder = tmp_path_factory.mktemp("scored") / "raw"
    docs = [(1, 1.0), (2, 0.0), (3, 0.5)]
    rows = [{"trajectory": json.dumps(document(n)), "reward": r, "task_id": f"d{n}", "attempt": 1} for n, r in docs]
    jsonl(folder / "docs/rows.jsonl", rows)
    parquet(folder / "claws/train.parquet", [trace_row(4, 1.0), trace_row(5, -1.0)])
    (folder / "claws/README.md").write_text(f"---\npretty_name: ClawsBench\nlicense: {LICENSE}\n---\n")
    chat = [(6, "success"), (7, "failed"), (8, "error"), (9, "odd")]
    jsonl(folder / "chat/run.jsonl", [{"messages": messages(n), "status": word, "id": f"m{n}"} for n, word in chat])
    job = folder / "agent" / "2026-03-20__00-44-59"
    trial(job, "mail__aaa", verifier_result={"rewards": {"reward": 1.0}})
    trial(job, "blog_job__bbb", exception_info={"exception_type": "EnvironmentStartTimeoutError"})
    return folder


@pytest.fixture(scope="module")
def data(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a run in which non-commercial data is accepted."""
    folder = few_shards(tmp_path_factory.mktemp("data") / "data")
    ended = call("run", "--data", folder, "--raw", raw, "--noncommercial", "accept")
    assert ended.status == 0, ended.err
    return folder


def records(data: Path) -> dict[str, dict[str, Any]]:
    """Record of each session by its id."""
    paths = sorted((data / "release").glob("fulltax_prod_v1/*/master_table_all.jsonl"))
    rows = [json.loads(line) for path in paths for line in path.read_bytes().split(b"\n") if line]
    return {row["task_id"] if row["session_id"] == "harbor" else row["session_id"]: row for row in rows}


def test_every_session_has_its_outcome_and_a_label(data: Path) -> None:
    actual_records = records(data)
    assert all(row["quality_tier"] for row in actual_records.values())
    by_name = {
        name: (row["source_model"], row["oracle_outcome"], row["oracle"]["status"], row["oracle"]["evaluator"]["name"])
        for name, row in actual_records.items()
    }
    assert by_name == {
        "s-1": ("docs", "pass", "scored", "rows"),
        "s-2": ("docs", "fail", "scored", "rows"),
        "s-3": ("docs", "fail", "scored", "rows"),
        "u-4": ("vendor_model-b", "pass", "scored", "ClawsBench"),
        "u-5": ("vendor_model-b", "fail", "scored", "ClawsBench"),
        "m6": ("chat", "pass", "scored", "run"),
        "m7": ("chat", "fail", "scored", "run"),
        "m8": ("chat", None, "infra_error", "run"),
        "m9": ("chat", None, "unscorable", "run"),
        "mail": ("agent", "pass", "scored", "harbor"),
        "blog_job": ("agent", None, "infra_error", "harbor"),
    }


def test_steps_say_what_the_rows_say(data: Path, raw: Path) -> None:
    actual_records = records(data)
    rows = pq.read_table(raw / "claws" / "train.parquet").to_pylist()
    for row in rows:
        traces = row["traces"]
        call_step, reply = actual_records[row["session_id"]]["steps"]
        assert call_step["narration"] == traces[1]["message"]
        assert json.loads(call_step["action_text"].removeprefix("exec ")) == traces[1]["tool_calls"][0]["arguments"]
        assert call_step["reflection_text"] == traces[1]["observation"]["results"][0]["content"]
        assert reply["action_text"] == traces[2]["message"]
        assert [turn["text"] for turn in actual_records[row["session_id"]]["user_turns"]] == [traces[0]["message"]]


def test_a_step_leads_back_to_its_row(data: Path, raw: Path) -> None:
    traced = call("trace", "--data", data, "u-5", "1")
    assert b"ls 5" in traced.out
    assert "claws/train.parquet#row2.traces" in traced.text + traced.err
    in_file = call("trace", "--data", data, "m7", "2")
    assert in_file.out.strip() in (raw / "chat" / "run.jsonl").read_bytes()
    shown = call("show", "--data", data, "s-2")
    assert "docs/rows.jsonl#line2.trajectory (atif)" in shown.text


def test_the_release_is_valid_and_states_the_licence(data: Path) -> None:
    assert call("validate", data / "release").status == 0
    package = json.loads((data / "release" / "datapackage.json").read_text())
    rows = pl.read_parquet(data / "release" / "input_files.parquet")
    stated = dict(rows.select("path", "license").iter_rows())
    assert stated["claws/train.parquet"] == LICENSE
    assert stated["docs/rows.jsonl"] is None
    assert {"name": LICENSE, "title": "2 sessions, as their source states it"} in package["licenses"]
    assert "openclawbench release --judge rules --noncommercial accept" in package["provenance"]["commands"]
    assert f"licences of their own, which bind what is made of them: {LICENSE} (2 sessions)." in (
        data / "release" / "README.md"
    ).read_text(encoding="utf-8")


def test_non_commercial_data_is_in_no_release_unless_accepted(raw: Path, tmp_path: Path) -> None:
    folder = few_shards(tmp_path / "data")
    ended = call("run", "--data", folder, "--raw", raw)
    assert ended.status == 1
    assert ended.err.count("noncommercial_license: claws/train.parquet: row") == 2
    assert {row["source_model"] for row in records(folder).values()} == {"docs", "chat", "agent"}
    assert call("validate", folder / "release").status == 0
    looked = call("doctor", raw)
    assert looked.status == 1
    assert "claws/train.parquet: a table with the steps of an ATIF document a row" in looked.text
    assert f"openclawbench run --raw {raw}" in looked.text
    accepted = call("doctor", raw, "--data", tmp_path / "none", env={"OPENCLAWBENCH_NONCOMMERCIAL": "accept"})
    assert accepted.status == 0
    refused = call("run", "--data", folder, "--noncommercial", "perhaps")
    assert (refused.status, "refuse, accept" in refused.err) == (2, True)
