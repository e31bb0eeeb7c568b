"""The promises of data/example: what is in it, that it parses, and that its README tells the truth."""

import json
from collections import Counter
from pathlib import Path

import pytest

from openclawbench.records.oracle import OracleRecord
from openclawbench.records.session import RunManifestRow

EXAMPLE = Path(__file__).parents[2] / "data" / "example"
RAW = EXAMPLE / "raw"
SIDECAR = ".trajectory.jsonl"
SESSIONS = sorted(path for path in RAW.glob("*/*.jsonl") if not path.name.endswith(SIDECAR))
NAMES = {(path.parent.name, path.stem) for path in SESSIONS}
MODELS = {"scripted-a", "scripted-b"}
RELEASES = {"2026.2.1", "2026.4.15", "2026.6.11"}
WITHOUT_ROW = ("scripted-b", "2026.6.11-killed-midstream")
WITHOUT_SESSION = ("scripted-b", "2026.6.11-web-fetch")
SCRIPTS = {
    "abort-during-tool",
    "abort-midstream",
    "agent-timeout",
    "apply-patch",
    "bad-args",
    "branch-after-kill",
    "compaction-overflow",
    "compaction-threshold",
    "content-filter",
    "empty-reply",
    "exec-background",
    "exec-timeout",
    "finish-length",
    "finish-length-toolcall",
    "killed-midstream",
    "killed-midtool",
    "killed-midtool-resumed",
    "large-output",
    "memory-write",
    "multi-turn",
    "no-reply-token",
    "one-tool-exec",
    "parallel-tools",
    "provider-400-midrun",
    "provider-429",
    "provider-500-always",
    "provider-500-then-ok",
    "repeat-loop",
    "sequential-tools",
    "simple-reply",
    "slash-compact",
    "spoofed-tool-text",
    "stream-cut",
    "stream-cut-toolcall",
    "subagent-spawn",
    "subagent-spawn-child",
    "thinking",
    "tool-errors",
    "unicode",
    "unknown-tool",
}
PAIRS = json.loads((EXAMPLE / "misbehaving.json").read_text(encoding="utf-8"))
SCRIPTS |= {row["native_session_basename"].removeprefix("2026.6.11-") for row in PAIRS}


def lines(path: Path) -> list[bytes]:
    """The lines of a JSONL file; every one ends in a newline."""
    *complete, rest = path.read_bytes().split(b"\n")
    assert rest == b"", f"{path.name} does not end in a newline"
    return complete


@pytest.fixture(scope="module")
def manifest() -> list[RunManifestRow]:
    return [RunManifestRow.model_validate_json(line, strict=True) for line in lines(RAW / "run_manifest.jsonl")]


@pytest.fixture(scope="module")
def outcomes() -> list[OracleRecord]:
    path = EXAMPLE / "oracle" / "outcomes.jsonl"
    return [OracleRecord.model_validate_json(line, strict=True) for line in lines(path)]


def test_there_are_enough_sessions_and_their_basenames_are_unique() -> None:
    assert len(SESSIONS) >= 40
    assert max(Counter(path.name for path in SESSIONS).values()) == 1


def test_each_model_has_sessions_of_each_release() -> None:
    result = {(path.parent.name, path.name.split("-", 1)[0]) for path in SESSIONS}
    assert result == {(model, release) for model in MODELS for release in RELEASES}


def test_every_script_is_covered() -> None:
    assert {path.stem.split("-", 1)[1] for path in SESSIONS} == SCRIPTS


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_is_whole(path: Path) -> None:
    records = [json.loads(line) for line in lines(path)]
    assert records[0]["type"] == "session"
    assert [record["type"] for record in records].count("session") == 1
    assert any(record["type"] == "message" for record in records)


def test_no_two_sessions_of_a_model_are_copies() -> None:
    headers = Counter((path.parent.name, lines(path)[0]) for path in SESSIONS)
    assert max(headers.values()) == 1


def test_one_sidecar_and_one_lock_show_that_they_are_no_sessions() -> None:
    (sidecar,) = RAW.glob(f"*/*{SIDECAR}")
    assert json.loads(lines(sidecar)[0])["traceSchema"] == "openclaw-trajectory"
    assert sidecar.with_name(sidecar.name.removesuffix(SIDECAR) + ".jsonl") in SESSIONS
    (lock,) = RAW.glob("*/*.lock")
    assert lock.with_suffix("") in SESSIONS


def test_the_example_is_small() -> None:
    assert sum(path.stat().st_size for path in EXAMPLE.rglob("*") if path.is_file()) < 1_500_000


def test_the_manifest_names_every_session_once(manifest: list[RunManifestRow]) -> None:
    named = Counter((row.source_model, row.native_session_basename) for row in manifest)
    assert set(named) == NAMES
    assert max(named.values()) == 1


def test_one_session_has_no_outcome_and_one_outcome_no_session(outcomes: list[OracleRecord]) -> None:
    named = Counter((row.source_model, row.native_session_basename) for row in outcomes)
    assert max(named.values()) == 1
    assert NAMES - set(named) == {WITHOUT_ROW}
    assert set(named) - NAMES == {WITHOUT_SESSION}


def test_outcomes_and_manifest_agree(manifest: list[RunManifestRow], outcomes: list[OracleRecord]) -> None:
    runs = {(row.source_model, row.native_session_basename): row for row in manifest}
    for outcome in outcomes:
        run = runs.get((outcome.source_model, str(outcome.native_session_basename)))
        if run is not None:
            assert (outcome.task_id, outcome.subset) == (run.task_id, run.subset)
            assert (outcome.run_id, outcome.attempt) == (run.run_id, run.attempt)


def test_outcomes_name_the_session_by_its_header_id(outcomes: list[OracleRecord]) -> None:
    ids = {(path.parent.name, path.stem): json.loads(lines(path)[0])["id"] for path in SESSIONS}
    for outcome in outcomes:
        assert outcome.session_id == ids.get((outcome.source_model, str(outcome.native_session_basename)))


def test_outcomes_say_that_they_are_made_up(outcomes: list[OracleRecord]) -> None:
    assert {(row.evaluator.name, row.evaluator.mode) for row in outcomes} == {("example", "made_up")}
    assert {row.evaluated_at for row in outcomes} == {"2026-11-22T00:00:00Z"}


def test_a_verdict_stands_exactly_where_the_status_is_scored(outcomes: list[OracleRecord]) -> None:
    for row in outcomes:
        assert (row.status == "scored") == (row.success is not None)
        assert row.score == (None if row.success is None else float(row.success))
    assert {row.status for row in outcomes} == {"scored", "infra_error", "not_scored"}


def test_each_model_has_passes_and_failures_and_mostly_passes(outcomes: list[OracleRecord]) -> None:
    for model in MODELS:
        verdicts = Counter(row.success for row in outcomes if row.source_model == model)
        assert verdicts[True] > verdicts[False] > 0


def test_the_subset_is_the_task_id_up_to_its_last_number_group(manifest: list[RunManifestRow]) -> None:
    for row in manifest:
        assert row.task_id is not None
        subset, _, number = row.task_id.rpartition("_")
        assert subset == row.subset
        assert number[0].isdigit()
    assert len({row.subset for row in manifest}) >= 12


def test_many_tasks_were_run_by_both_models(manifest: list[RunManifestRow]) -> None:
    tasks = {model: {row.task_id for row in manifest if row.source_model == model} for model in MODELS}
    assert len(set.intersection(*tasks.values())) >= 20
    assert max(row.attempt or 0 for row in manifest) == 2


def test_the_sub_agent_session_is_a_part_of_its_parents_run(
    manifest: list[RunManifestRow], outcomes: list[OracleRecord]
) -> None:
    runs = {row.native_session_basename: row.run_id for row in manifest}
    assert runs["2026.6.11-subagent-spawn-child"] == runs["2026.6.11-subagent-spawn"]
    (child,) = [row for row in outcomes if row.native_session_basename == "2026.6.11-subagent-spawn-child"]
    assert child.status == "not_scored"
    assert child.flags == ["subagent_session"]


def test_the_readme_lists_every_session_with_its_task_and_outcome(
    manifest: list[RunManifestRow], outcomes: list[OracleRecord]
) -> None:
    verdict = {True: "pass", False: "fail"}
    result = {
        row.native_session_basename: row.status if row.success is None else verdict[row.success] for row in outcomes
    }
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    listed = {
        tuple(cell.strip(" `") for cell in line.split("|")[1:4]) for line in readme.splitlines() if "| `20" in line
    }
    assert listed == {
        (row.native_session_basename, row.task_id, result.get(row.native_session_basename, "no row"))
        for row in manifest
    }


def test_the_sessions_of_a_pair_say_what_their_script_says() -> None:
    for row in PAIRS:
        path = RAW / row["source_model"] / f"{row['native_session_basename']}.jsonl"
        messages = [record["message"] for line in lines(path) if (record := json.loads(line))["type"] == "message"]
        texts = [part["text"] for message in messages if message["role"] == "user" for part in message["content"]]
        assert texts == [run["message"] for run in row["runs"]], path.name
        assert len([message for message in messages if message["role"] == "assistant"]) == len(row["steps"]), path.name
