"""A real small language model as judge, end to end. Asserted is form, never a label."""

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest
from prepare import home, prepare

from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.fulltax import EvidenceQuote, StageA, StageB1, StageB2, StageC
from openclawbench.records.packet import Evidence
from openclawbench.records.vocabulary import ReviewCause
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.storage.data_folder import DataFolder

ROOT = Path(__file__).parents[2]
SESSIONS = [
    "scripted-a/2026.6.11-premature-write.jsonl",
    "scripted-a/2026.6.11-right-answer-wrong-route.jsonl",
    "scripted-b/2026.6.11-spoofed-tool-text.jsonl",
]
STAGES = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
FAILURES = {"not_json", "not_an_object", "missing_fields", "extra_fields", "wrong_enum", "schema", "wrong_trajectory"}
FAILURES |= {"truncated", "refusal", "empty", "too_long", "content_filter"}
OTHER_RULES = {"asking.toml": {"answer_s": 3600.0, "patience_s": 7200.0}, "request.toml": {"max_output_tokens": 400}}
LONGEST_RUN_S = 3 * 3600


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The base URL of the local model."""
    prepared = prepare(home())
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threads = os.environ.get("OPENCLAWBENCH_LLM_THREADS") or str(os.cpu_count() or 1)
    command = [prepared.python, Path(__file__).with_name("server.py"), prepared.model, str(port), threads]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_loaded(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def wait_until_loaded(url: str, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers. AssertionError where it has ended instead."""
    while True:
        assert process.poll() is None, "the server has ended"
        try:
            urllib.request.urlopen(url, timeout=10)
        except (urllib.error.URLError, OSError):  # not there yet, or still loading
            time.sleep(1.0)
        else:
            return


def environment(folder: Path, **request: float) -> dict[str, str]:
    """No setting of whoever runs the tests, patience, and short answers; `request`: what is asked for otherwise."""
    folder.mkdir(exist_ok=True)
    others = OTHER_RULES | {"request.toml": OTHER_RULES["request.toml"] | request}
    for name, values in others.items():
        text = shipped_path(name).read_text(encoding="utf-8")
        for key, value in values.items():
            text, count = re.subn(rf"(?m)^{key} = [0-9._]+", f"{key} = {value}", text)
            assert count == 1, key
        (folder / name).write_text(text, encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAWBENCH_", "OPENAI_"))}
    return plain | {"PYTHONPATH": str(ROOT), "OPENCLAWBENCH_RULES": str(folder)}


def run(folder: Path, base_url: str) -> None:
    """Every stage, to the release."""
    call("run", folder, base_url, environment(folder / "rules"))


def call(verb: str, folder: Path, base_url: str, env: dict[str, str], *more: str) -> None:
    """A command that asks the local model. AssertionError with what it said where it fails."""
    judge = ["--judge", "openai", "--model", "local-judge", "--base-url", base_url, "--concurrency", "1"]
    where = ["--data", folder / "data", "--raw", folder / "raw"]
    command = [sys.executable, "-m", "openclawbench.cli.app", verb, *where, *judge, *more]
    ended = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_RUN_S)
    assert ended.returncode == 0, ended.stderr


@pytest.fixture(scope="module")
def judged(server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("local")
    (folder / "raw" / "local").mkdir(parents=True)
    for name in SESSIONS:
        shutil.copy2(ROOT / "data" / "example" / "raw" / name, folder / "raw" / "local")
    (folder / "data" / "work").mkdir(parents=True)
    (folder / "data" / "work" / "layout.json").write_text('{"shards": 1}')
    run(folder, server)
    return folder


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return pl.read_parquet(folder / "data" / "work" / table / "*.parquet").to_dicts()


def answers(folder: Path) -> list[tuple[Any, ...]]:
    """What the ledger holds."""
    with closing(sqlite3.connect(folder / "data" / "ledger" / "ledger.sqlite")) as connection:
        query = "select stage, finish, prompt_tokens, completion_tokens, latency_s from answers order by answered_at"
        return connection.execute(query).fetchall()


def valid_or_counted(row: dict[str, Any], stage: str) -> None:
    """AssertionError where a decision has neither an answer of its stage's form nor a cause."""
    assert row["usage"]["prompt_tokens"] > 0 and row["judge_model"] == "local-judge"
    if row["outcome"] == "parsed":
        assert row["failure"] is None
        assert STAGES[stage].model_validate(row["answer"]).trajectory_id == row["trajectory_id"]
    else:
        assert row["outcome"] == "parse_failure" and row["failure"] in FAILURES
        assert row["answer"] is None and row["former"] is not None


def test_every_answer_is_valid_or_counted_with_its_cause(judged: Path) -> None:
    assert len(rows(judged, "decision_a")) == len(SESSIONS)
    for stage in STAGES:
        for row in rows(judged, f"decision_{stage}"):
            valid_or_counted(row, stage)


def test_every_label_is_grounded_or_in_review_with_its_cause(judged: Path) -> None:
    (part,) = (judged / "data" / "work" / "evidence").glob("*.parquet")
    read = DataFolder(judged / "data").scan(Evidence, {0: part.stem.partition("-")[2]}).collect().to_dicts()
    evidence = {row["trajectory_id"]: Evidence.model_validate(row) for row in read}
    annotations = rows(judged, "annotation")
    assert len(annotations) == len(SESSIONS)
    for row in annotations:
        if row["quality_tier"] == "review_or_unresolved":
            assert row["review_cause"] in get_args(ReviewCause)
            continue
        assert row["review_cause"] is None and isinstance(row["is_anomalous"], bool)
        assert row["evidence_steps"] or not row["is_anomalous"]
        quotes = [EvidenceQuote.model_validate(evidence_step) for evidence_step in row["evidence_steps"]]
        assert all(is_grounded(evidence[row["trajectory_id"]], quote) for quote in quotes)


def test_the_ledger_holds_every_answer_and_says_how_it_was_asked(judged: Path) -> None:
    actual_answers = answers(judged)
    for line in actual_answers:
        print(*line, sep="\t")  # pytest -s shows them
    decisions = [row for stage in STAGES for row in rows(judged, f"decision_{stage}")]
    assert len(actual_answers) == len(decisions) + sum(row["former"] is not None for row in decisions)
    manifest = json.loads((judged / "data" / "work" / "manifests" / "answer_a.json").read_text())
    (way,) = manifest["judge"]["asked_at"].values()
    assert json.loads(way)["structured_output"] in ("json_schema", "json_object", "text")


def test_a_second_run_asks_nothing_and_the_release_is_valid(judged: Path) -> None:
    before = answers(judged)
    shutil.rmtree(judged / "data" / "release")
    run(judged, "http://127.0.0.1:9/v1")  # where nobody answers
    assert answers(judged) == before
    command = [sys.executable, "-m", "openclawbench.cli.app", "validate", judged / "data" / "release"]
    ended = subprocess.run(command, env=environment(judged / "rules"), cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_second_pass_at_another_temperature_asks_anew_and_leaves_the_first_as_it_is(
    judged: Path, server: str
) -> None:
    """Stage A only: the others would take as long again."""
    first, before = rows(judged, "decision_a"), answers(judged)
    warmer = environment(judged / "rules-pass2", temperature=0.8)
    call("annotate", judged, server, warmer, "--pass", "2", "--stage", "a")
    second = rows(judged, "decision_a_pass2")
    assert sorted(row["trajectory_id"] for row in second) == sorted(row["trajectory_id"] for row in first)
    for row in second:
        valid_or_counted(row, "a")
    assert len(answers(judged)) == len(before) + len(second) + sum(row["former"] is not None for row in second)
    assert rows(judged, "decision_a") == first
