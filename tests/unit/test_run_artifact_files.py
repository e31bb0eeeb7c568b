"""Files beside a RunArtifact: what its URIs may name, evaluations, native sessions; and the sample artifacts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from run_artifact_builders import (
    ADAPTER,
    FOLDER,
    OLD_RESULT,
    RESULT,
    RUN,
    failed,
    final,
    message,
    parse,
    refusal,
    runner,
    stored,
    turn,
)

from openclawbench.construct.normalize.session_file import SessionFile
from openclawbench.construct.normalize.session_rows import oracle_record
from openclawbench.intake.sidecars import value_of
from openclawbench.records.oracle import Contradiction, Fused, OracleRecord, SourceOutcome
from openclawbench.records.session import FileOutcome
from openclawbench.sources.base import MalformedSession
from openclawbench.sources.run_artifact.uri_checks import relative, resolve, uri_faults
from openclawbench.sources.sidecars import run_artifact_context
from openclawbench.sources.sidecars.run_artifact_context import context_for_session
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import from_records
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update

DONE = message("assistant", "Done.", "All good.")


URIS = [
    ("file://run_1.artifacts/report.md", "m/case/run_1.artifacts/report.md"),
    ("run_1.artifacts/a%20b.md", "m/case/run_1.artifacts/a b.md"),
    ("file:///home/someone/out/run_1.artifacts/x/y.log", "m/case/run_1.artifacts/x/y.log"),
    ("file:///etc/passwd", None),
    ("/etc/passwd", None),
    ("file://run_1.artifacts/../../secret", None),
    ("file://run_1.artifacts/%2e%2e/%2e%2e/secret", None),
    ("file:///a/run_1.artifacts/../secret", None),
    ("file://..", None),
    ("file://%2Fetc/passwd", None),
    ("https://example.test/run_1.artifacts/x", None),
    ("C:\\run_1.artifacts\\x", None),
    ("run_1.artifacts/a\x00b", None),
    ("run_1.artifacts//x", None),
    ("", None),
]


@pytest.mark.parametrize(("uri", "path"), URIS)
def test_uris_stay_next_to_the_file(uri: str, path: str | None) -> None:
    assert resolve(uri, "m/case/run_1.json") == path
    assert relative(uri) == (path.removeprefix("m/case/") if path else None)


def test_bad_uris_are_counted_warnings() -> None:
    places = {
        "key_output_artifacts": [{"uri": "/x"}, {"uri": "/x"}],
        "openclaw_logs": {"uri": "file:///run_1.artifacts/l"},
    }
    document = {"output_artifacts": [{"uri": "file://run_1.artifacts/ok"}], "runner_metadata": {"openclaw": places}}
    assert [fault.reason for fault in uri_faults(document)] == ["artifact_uri_refused", "artifact_uri_absolute"]
    assert [warning.reason for warning in parse(stored(DONE, **document)).warnings] == [
        "artifact_uri_refused",
        "artifact_uri_absolute",
    ]


def evaluation(passed: int = 2, broken: int = 0, error: int = 0, **more: Any) -> dict[str, Any]:
    checks = {
        "deterministic_passed_checks": passed,
        "deterministic_failed_checks": broken,
        "deterministic_error_checks": error,
    }
    return {"schema_version": 1, "run_id": "run_7", "case_id": "case_1", "final_score": 9.5, "summary": checks} | more


def outcome(document: dict[str, Any], *evaluations: Any, at: str = RESULT) -> Any:
    """Outcome of a run with these evaluations beside it, as the intake would find them."""
    paths = {at.replace("_j_0f", f"_{n}"): entry for n, entry in enumerate(evaluations)}
    others = [
        at.replace("result_2", "result_1"),
        at.replace("case_1", "case_2"),
        at.replace("abc123", "fff"),
    ]
    sidecars = ADAPTER.find_sidecars(RUN, frozenset([RUN, *paths, *others]))
    assert set(sidecars.values()) == set(paths)
    context = ADAPTER.read_context(document, RUN, {name: paths[path] for name, path in sidecars.items()})
    session = parse(document, **json.loads(json.dumps(context)))
    if session.outcome is not None:
        assert set(session.outcome) <= set(OracleRecord.model_fields)
    return session.outcome, [warning.reason for warning in session.warnings]


def test_outcomes_come_from_evaluations_only() -> None:
    document = stored(DONE)
    assert outcome(document) == (None, [])
    assert parse(document, repetition=2).task == {"subset": "s", "task_id": "case_1", "attempt": 2}
    passed, _ = outcome(document, evaluation())
    assert (passed["status"], passed["success"], passed["score"], passed["attempt"]) == ("scored", True, 9.5, 2)
    assert (passed["task_id"], passed["subset"], passed["run_id"], passed["flags"]) == ("case_1", "s", "run_7", [])
    assert passed["evaluator"]["source_path"].endswith("final_result_2.json")
    cases = [
        (evaluation(1, 1), "scored", False),
        (evaluation(2, 0, 1), "unscorable", None),
        (evaluation(0), "not_scored", None),
    ]
    for case, status, success in cases:
        result, _ = outcome(document, case)
        assert (result["status"], result["success"], result["score"]) == (status, success, 9.5)


@pytest.mark.parametrize("at", [RESULT, OLD_RESULT])
def test_evaluations_are_found_in_both_layouts_of_the_runner(at: str) -> None:
    result, warnings = outcome(stored(DONE), evaluation(1, 1), at=at)
    assert (result["status"], result["success"], warnings) == ("scored", False, [])
    assert result["evaluator"]["source_path"] == at.replace("_j_0f", "_0")


def test_a_failed_run_is_never_scored() -> None:
    result, _ = outcome(stored(DONE, **failed("failed")), evaluation())
    assert (result["status"], result["success"], result["score"]) == ("infra_error", None, 9.5)


@pytest.mark.parametrize("status", ["gone", "x" * 9000, None, 3, {"a": "b"}, ["success"], True])
def test_whatever_is_not_success_is_an_infra_error(status: Any) -> None:
    result, _ = outcome(stored(DONE, **failed("failed")) | {"status": status}, evaluation())
    assert (result["status"], result["success"], result["flags"]) == ("infra_error", None, ["run_of_unknown_status"])


def test_several_evaluations_have_to_agree() -> None:
    agreed, _ = outcome(stored(DONE), evaluation(final_score=1.0), evaluation(1))
    assert (agreed["status"], agreed["success"], agreed["score"], agreed["flags"]) == (
        "scored",
        True,
        None,
        ["several_evaluations"],
    )
    _, warnings = outcome(stored(DONE), evaluation(), evaluation(1, 1))
    assert warnings == ["differing_outcomes"]


def test_evaluations_that_disagree_contradict_each_other_and_are_both_named(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    stated = {"a": evaluation(), "b": evaluation(1, 1), "c": evaluation(2), "d": evaluation(0)}
    paths = {name: RESULT.replace("_j_0f", f"_{name}") for name in stated}
    for path, value in [(RUN, stored(DONE)), *((paths[name], stated[name]) for name in stated)]:
        (raw / path).parent.mkdir(parents=True)
        (raw / path).write_text(json.dumps(value))
    data = DataFolder(tmp_path / "data")
    done = update(data, settings(data, raw=str(raw), judge="rules"), "fuse", Progress())
    assert done.tables is not None
    (fused,) = done.tables[Fused].collect().to_dicts()
    assert (fused["oracle_match"], fused["oracle_outcome"]) == ("contradiction", None)
    assert (fused["oracle"]["status"], len(fused["oracle_rows_set_aside"])) == ("unscorable", 1)
    kept = {(row["source_path"], row["success"]) for row in done.tables[Contradiction].collect().to_dicts()}
    assert kept == {(paths["a"], True), (paths["b"], False)}
    (file,) = (row for row in done.tables[FileOutcome].collect().to_dicts() if row["disposition"] == "trajectory")
    assert [warning["name"] for warning in file["warnings"]] == ["differing_outcomes"]


def test_an_evaluation_of_another_run_gives_nothing() -> None:
    result = {f"evaluation:{RESULT}": evaluation(), f"evaluation:{OLD_RESULT}": evaluation(run_id="run_8")}
    assert ADAPTER.describe_use(stored(DONE), RUN, result, {}) == {f"evaluation:{RESULT}": "outcome"}


def test_an_evaluation_of_another_run_says_nothing() -> None:
    assert outcome(stored(DONE), evaluation(run_id="run_8")) == (None, ["evaluation_of_another_run"])
    broken: list[Any] = ["no JSON", {"x": 1}, None, [], evaluation() | {"summary": {"deterministic_passed_checks": 2}}]
    assert outcome(stored(DONE), *broken) == (None, ["unreadable_evaluation"] * 5)
    counted, warnings = outcome(stored(DONE), evaluation(), "no JSON")
    assert (counted["success"], counted["flags"], warnings) == (True, [], ["unreadable_evaluation"])
    flagged, _ = outcome(stored(DONE), evaluation(security={"verdict": "critical_fail"}))
    assert flagged["flags"] == ["security_critical_fail"]


REPORT = {
    "payloads": [{"text": "Done.", "mediaUrl": None}],
    "meta": {
        "agentMeta": {"sessionId": "native-1"},
        "aborted": False,
        "systemPromptReport": {"sessionKey": "agent:main:main"},
    },
}
HEADER = '{"type":"session","id":"native-1","timestamp":"2026-01-01T00:00:00Z"}\n{"type":"message"}\n'
OWN = RUN.replace("run_2.json", "run_2.artifacts/x.jsonl")


def openclaw(content: Any = None, **more: Any) -> dict[str, Any]:
    """An artifact of an OpenClaw run: no step-level trace."""
    text = json.dumps(REPORT, indent=1) if content is None else content
    document = stored(message("user", "hi"), runner("agent_invoked"), final(text), **more)
    document["identity"]["runner_type"] = "openclaw"
    return document


def reason_beside(document: dict[str, Any], **files: Any) -> str:
    """Why the artifact is refused with these files in the raw folder."""
    paths = {path.replace("|", "/"): text for path, text in files.items()}
    sidecars = ADAPTER.find_sidecars(RUN, frozenset([RUN, *paths]))
    context = ADAPTER.read_context(document, RUN, {name: paths[path] for name, path in sidecars.items()})
    return refusal(document, **context)


def test_an_openclaw_run_has_no_steps_of_its_own() -> None:
    assert reason_beside(openclaw()) == "no_native_session"
    assert reason_beside(openclaw(), **{OWN: HEADER}) == "context_of_native_session"
    assert reason_beside(openclaw(), **{f"{FOLDER}/native-1.jsonl": HEADER}) == "context_of_native_session"
    stranger = HEADER.replace("native-1", "other")
    assert reason_beside(openclaw(), **{OWN: stranger}) == "no_native_session"
    assert reason_beside(openclaw("stderr only"), **{OWN: stranger}) == "context_of_native_session"
    assert reason_beside(openclaw("stderr only"), **{f"{FOLDER}/x.jsonl": HEADER}) == "no_native_session"
    trace = OWN.replace("x.jsonl", "t--raw_session_trace.json")
    printed = "[agent] a log line\n" + json.dumps(REPORT)
    assert reason_beside(openclaw("none"), **{trace: printed, OWN: stranger}) == "no_native_session"
    turns = {"turns": [{"payload": json.dumps(REPORT)}]}
    assert reason_beside(openclaw("none"), **{trace: turns, OWN: HEADER}) == "context_of_native_session"


def test_an_openclaw_run_with_calls_in_its_trace_is_read() -> None:
    document = stored(*turn(1), DONE)
    document["identity"]["runner_type"] = "openclaw"
    assert len(parse(document).steps) == 2


def test_context_for_the_native_session() -> None:
    paths = frozenset([RUN, RUN.replace("run_2", "run_1"), OWN, RESULT])
    wanted = run_artifact_context.find_run_artifacts(OWN, paths)
    assert set(wanted.values()) == {RUN, RESULT}
    files = {RUN: openclaw(), RESULT: evaluation()}
    input_context_for_session = context_for_session(
        "native-1", OWN, {name: files[path] for name, path in wanted.items()}
    )
    assert (
        input_context_for_session["index"] | {"status": "success", "session_key": "agent:main:main", "label": "case_1"}
        == input_context_for_session["index"]
    )
    assert (
        input_context_for_session["index"]["aborted_last_run"],
        input_context_for_session["index"]["estimated_cost_usd"],
    ) == (False, 0.25)
    assert (
        input_context_for_session["outcomes"][0]["success"],
        input_context_for_session["outcomes"][0]["attempt"],
    ) == (True, 2)
    by_name = {name: files[path] for name, path in wanted.items()}
    assert context_for_session("another", OWN, by_name) == {}
    assert context_for_session("native-1", OWN, {}) == {}


@pytest.mark.parametrize("count", [None, True, -1, 1.5, "1", [1], {}, float("nan")])
@pytest.mark.parametrize("name", ["passed", "failed", "error"])
def test_a_count_that_is_none_is_not_taken_for_zero(name: str, count: Any) -> None:
    actual_evaluation = evaluation()
    actual_evaluation["summary"][f"deterministic_{name}_checks"] = count
    assert outcome(stored(DONE), actual_evaluation) == (None, ["unreadable_evaluation"])


@pytest.mark.parametrize("value", [None, True, 3, 1.5, "\ud83d", [], [1], {"a": 1}, 10**400])
def test_no_strange_value_of_a_document_or_an_evaluation_stops_its_neighbours(value: Any) -> None:
    """Every field of both, in turn: what comes of it is a row that a table takes."""
    places: list[tuple[str, ...]] = [("identity", name) for name in stored()["identity"]]
    places += [(name,) for name in ("status", "error", "timing", "usage", "request", "provider")]
    for place in places:
        document = stored(DONE)
        inside = document[place[0]] if len(place) > 1 else document
        inside[place[-1]] = value
        if ADAPTER.detect(document):
            taken(document, evaluation())
    for name in evaluation():
        taken(stored(DONE), evaluation() | {name: value})
    taken(stored(DONE), evaluation(security={"verdict": value}))


def taken(document: dict[str, Any], result: dict[str, Any]) -> None:
    """The outcome of a document goes into its table."""
    written = json.dumps(document).encode()
    read = value_of(json.dumps(result).encode())
    context = ADAPTER.read_context(
        document, RUN, dict.fromkeys(ADAPTER.find_sidecars(RUN, frozenset([RUN, RESULT])), read)
    )
    session = parse(written, **json.loads(json.dumps(context)))
    file = SessionFile("m", RUN, None, 1, 0, "00", session=session)
    rows = [
        {"source_model": "m", "trajectory_id": "t", "oracle": oracle_record(file, entry)} for entry in session.outcomes
    ]
    assert from_records(rows, SourceOutcome).height == len(rows)


def test_evaluations_of_another_repetition_are_not_this_ones() -> None:
    """Runs of one campaign may have one id; the number in the names tells them apart."""
    beside, other = f"{FOLDER}/native-1.jsonl", RUN.replace("run_2", "run_1")
    results = {RESULT: evaluation(1, 1), RESULT.replace("result_2", "result_1"): evaluation()}
    wanted = run_artifact_context.find_run_artifacts(beside, frozenset([RUN, other, beside, *results]))
    assert set(wanted.values()) == {RUN, other, *results}
    files = {RUN: openclaw(), other: openclaw("none")} | results
    input_context_for_session = context_for_session(
        "native-1", beside, {name: files[path] for name, path in wanted.items()}
    )
    assert (
        input_context_for_session["outcomes"][0]["status"],
        input_context_for_session["outcomes"][0]["success"],
    ) == ("scored", False)
    assert (input_context_for_session["outcomes"][0]["flags"], input_context_for_session["faults"]) == ([], [])
    files[RESULT] = "no JSON"
    input_context_for_session = context_for_session(
        "native-1", beside, {name: files[path] for name, path in wanted.items()}
    )
    assert input_context_for_session["outcomes"] == []
    assert [(reason, RESULT in message) for reason, message in input_context_for_session["faults"]] == [
        ("unreadable_evaluation", True)
    ]


def test_context_where_several_runs_lie_beside_a_session() -> None:
    beside = f"{FOLDER}/native-1.jsonl"
    other = RUN.replace("run_2", "run_1")
    wanted = run_artifact_context.find_run_artifacts(beside, frozenset([RUN, other, beside]))
    assert set(wanted.values()) == {RUN, other}
    files = {RUN: openclaw(), other: openclaw("none")}
    input_context_for_session = context_for_session(
        "native-1", beside, {name: files[path] for name, path in wanted.items()}
    )
    assert input_context_for_session["outcomes"] == []
    assert input_context_for_session["task"] == {"subset": "s", "task_id": "case_1", "attempt": 2}
    assert input_context_for_session["index"]["status"] == "success"
    twice = dict.fromkeys(wanted, openclaw())
    assert context_for_session("native-1", beside, twice) == {}


def native(session_id: str) -> str:
    """A native session of one reply."""
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    time = "2026-01-01T00:00:00.000Z"
    header = {"type": "session", "version": 3, "id": session_id, "timestamp": time, "cwd": "/w"}
    line = {"type": "message", "id": "a", "parentId": None, "timestamp": time, "message": reply}
    return f"{json.dumps(header)}\n{json.dumps(line)}\n"


def test_what_becomes_of_evaluations_in_a_folder(tmp_path: Path) -> None:
    """Three repetitions, each with its native session: one evaluation is missing, one broken, one lies outside."""
    raw = tmp_path / "raw"
    for number in (1, 2, 3):
        run = raw / RUN.replace("run_2", f"run_{number}")
        (run.with_suffix(".artifacts")).mkdir(parents=True)
        run.write_text(json.dumps(openclaw("none")))
        (run.with_suffix(".artifacts") / f"native-{number}.jsonl").write_text(native(f"native-{number}"))
    folder = (raw / RESULT).parent
    folder.mkdir(parents=True)
    (folder / "final_result_2.json").write_text(json.dumps(evaluation(1, 1)))
    (folder / "final_result_3.json").write_text('{"summary": {')
    outside = raw / "other" / RESULT.replace("result_2", "result_1")
    outside.parent.mkdir(parents=True)
    outside.write_text(json.dumps(evaluation()))
    data = DataFolder(tmp_path / "data")
    done = update(data, settings(data, raw=str(raw), judge="rules"), "fuse", Progress())
    assert done.tables is not None
    fused = {row["trajectory_id"].partition(".")[0]: row for row in done.tables[Fused].collect().to_dicts()}
    assert {name: (row["oracle_match"], row["oracle_outcome"]) for name, row in fused.items()} == {
        "native-1": ("unmatched", None),
        "native-2": ("matched", "fail"),
        "native-3": ("unmatched", None),
    }
    files = done.tables[FileOutcome].collect().to_dicts()
    reported = [
        (row["path"].rpartition("/")[2], warning["name"], warning["count"])
        for row in files
        for warning in row["warnings"]
    ]
    assert reported == [("native-3.jsonl", "unreadable_evaluation", 1)]


SHARED = Path(os.environ.get("OPENCLAWBENCH_SHARED") or Path(__file__).parents[3] / "shared")
SAMPLES = SHARED / "seed_samples" / "personal_agent_eval"
# Case -> kinds of its steps, read off the files by eye; every other artifact is of an OpenClaw run without a session.
READ = {"llm_probe_tool_example": ["tool_call"] * 3 + ["reply"], "llm_probe_browser_example": ["tool_call"] * 6}


def test_real_artifacts_are_accounted_for_exactly() -> None:
    if not SAMPLES.is_dir():
        pytest.skip(f"{SAMPLES}: the sample artifacts are not there")
    files = {path.relative_to(SAMPLES).as_posix(): path for path in SAMPLES.rglob("*") if path.is_file()}
    runs = [name for name in files if name.endswith("/run_1.json")]
    refused = 0
    for name in runs:
        content = files[name].read_bytes()
        first = json.loads(content)
        assert ADAPTER.detect(first)
        wanted = ADAPTER.find_sidecars(name, frozenset(files))
        context = ADAPTER.read_context(first, name, {key: files[path].read_text() for key, path in wanted.items()})
        try:
            session = parse(content, **context)
        except MalformedSession as error:
            assert error.fault.reason == "no_native_session"
            assert first["identity"]["runner_type"] == "openclaw"
            refused += 1
            continue
        kinds = READ[first["identity"]["case_id"]]
        assert [step["action_kind"] for step in session.steps] == kinds
        calls = kinds.count("tool_call")
        assert (session.record_counts["repeated_result"], session.records_in) == (calls, 1 + len(first["trace"]))
        assert all(step["thinking"] for step in session.steps)
        assert all(step["reflection_text"] for step in session.steps if step["action_kind"] == "tool_call")
    assert (len(runs), refused) == (10, 8)
    assert (
        sum(not ADAPTER.detect(json.loads(path.read_bytes())) for name, path in files.items() if "manifest" in name) > 0
    )
