"""Files beside a RunArtifact: what its URIs may name, evaluations, native sessions; and the sample artifacts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from run_artifact_builders import (
    ADAPTER,
    FOLDER,
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

from pipeline.records.oracle import OracleRecord
from pipeline.sources import run_artifact_context
from pipeline.sources.run_artifact_uris import relative, resolve, uri_faults
from pipeline.sources.session import MalformedSession

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
    assert [one.reason for one in uri_faults(document)] == ["artifact_uri_refused", "artifact_uri_absolute"]
    assert [one.reason for one in parse(stored(DONE, **document)).warnings] == [
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


def outcome(document: dict[str, Any], *evaluations: Any) -> Any:
    """Outcome of a run with these evaluations beside it, as the intake would find them."""
    paths = {RESULT.replace("_j_0f", f"_{n}"): one for n, one in enumerate(evaluations)}
    others = [
        RESULT.replace("result_2", "result_1"),
        RESULT.replace("case_1", "case_2"),
        RESULT.replace("abc123", "fff"),
    ]
    found = ADAPTER.companions(RUN, frozenset([RUN, *paths, *others]))
    assert set(found.values()) == set(paths)
    context = ADAPTER.context(document, RUN, {name: paths[path] for name, path in found.items()})
    session = parse(document, **json.loads(json.dumps(context)))
    if session.outcome is not None:
        assert set(session.outcome) <= set(OracleRecord.model_fields)
    return session.outcome, [one.reason for one in session.warnings]


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
    for given, status, success in cases:
        found, _ = outcome(document, given)
        assert (found["status"], found["success"], found["score"]) == (status, success, 9.5)


def test_a_failed_run_is_never_scored() -> None:
    found, _ = outcome(stored(DONE, **failed("failed")), evaluation())
    assert (found["status"], found["success"], found["score"]) == ("infra_error", None, 9.5)


def test_several_evaluations_have_to_agree() -> None:
    agreed, _ = outcome(stored(DONE), evaluation(final_score=1.0), evaluation(1))
    assert (agreed["status"], agreed["success"], agreed["score"], agreed["flags"]) == (
        "scored",
        True,
        None,
        ["several_evaluations"],
    )
    split, _ = outcome(stored(DONE), evaluation(), evaluation(1, 1))
    assert (split["status"], split["success"]) == ("unscorable", None)


def test_an_evaluation_of_another_run_says_nothing() -> None:
    assert outcome(stored(DONE), evaluation(run_id="run_8")) == (None, ["evaluation_of_another_run"])
    assert outcome(stored(DONE), "no JSON", {"x": 1}, None) == (None, [])
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
    found = ADAPTER.companions(RUN, frozenset([RUN, *paths]))
    context = ADAPTER.context(document, RUN, {name: paths[path] for name, path in found.items()})
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
    wanted = run_artifact_context.companions_of(OWN, paths)
    assert set(wanted.values()) == {RUN, RESULT}
    files = {RUN: openclaw(), RESULT: evaluation()}
    given = run_artifact_context.for_session("native-1", OWN, {name: files[path] for name, path in wanted.items()})
    assert given["index"] | {"status": "success", "session_key": "agent:main:main", "label": "case_1"} == given["index"]
    assert (given["index"]["aborted_last_run"], given["index"]["estimated_cost_usd"]) == (False, 0.25)
    assert (given["outcome"]["success"], given["outcome"]["attempt"]) == (True, 2)
    found = {name: files[path] for name, path in wanted.items()}
    assert run_artifact_context.for_session("another", OWN, found) == {}
    assert run_artifact_context.for_session("native-1", OWN, {}) == {}


def test_context_where_several_runs_lie_beside_a_session() -> None:
    beside = f"{FOLDER}/native-1.jsonl"
    other = RUN.replace("run_2", "run_1")
    wanted = run_artifact_context.companions_of(beside, frozenset([RUN, other, beside]))
    assert set(wanted.values()) == {RUN, other}
    files = {RUN: openclaw(), other: openclaw("none")}
    given = run_artifact_context.for_session("native-1", beside, {name: files[path] for name, path in wanted.items()})
    assert given["outcome"] is None
    assert given["task"] == {"subset": "s", "task_id": "case_1", "attempt": 2}
    assert given["index"]["status"] == "success"
    twice = dict.fromkeys(wanted, openclaw())
    assert run_artifact_context.for_session("native-1", beside, twice) == {}


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
        wanted = ADAPTER.companions(name, frozenset(files))
        context = ADAPTER.context(first, name, {key: files[path].read_text() for key, path in wanted.items()})
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
