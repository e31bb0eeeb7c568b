"""The same script run by three releases: calls that behaved the same have the same status, however it was reported.

Scripts and what each shows: tests/samples. The releases report a failure in different ways: isError false, JSON text,
exit code in details, exit tail.
"""

from collections import defaultdict
from typing import Any

import pytest
from describe_steps import described
from normalizing import SAMPLES, normalized_rows, raw_row

RELEASES = ["2026.2.1", "2026.4.15", "2026.6.11"]
# (script, tool call of the script from 1) -> why the releases really behaved differently there
DIFFERENT = {
    ("tool-errors", 8): "6.11 asks the gateway before it looks at the target",
    ("tool-errors", 9): "memory is off in 2.1 and 6.11; 4.15 searched, without a provider, and found nothing",
    ("tool-errors", 10): "memory is off in 2.1; the others read an empty file",
    ("sequential-tools", 3): "the scripted edit uses arguments that 2.1 refuses",
    ("unknown-tool", 2): "`bash` is no tool of 2.1",
    ("apply-patch", 1): "4.15 has no apply_patch",
    ("subagent-spawn", 1): "4.15 found no gateway to spawn with",
}


def ran_by() -> dict[str, list[str]]:
    """Scripts that several of the releases ran."""
    result = defaultdict(list)
    for release in RELEASES:
        for path in sorted((SAMPLES / release).glob("*.jsonl")):
            if not path.name.endswith(".trajectory.jsonl"):
                result[path.stem].append(release)
    return {script: releases for script, releases in result.items() if len(releases) > 1}


OTHER_CALLS = {
    "bad-args": "2.1 ends the run at arguments that are no JSON; the others repair them and go on",
    "finish-length-toolcall": "4.15 executes the call that was cut, 6.11 drops it",
    "stream-cut-toolcall": "4.15 executes the call that was cut, 6.11 drops it",
}
SAME_LENGTH = {script: releases for script, releases in ran_by().items() if script not in OTHER_CALLS}


def key(row: dict[str, Any]) -> tuple[str, str, int]:
    """Which step a row is of."""
    return row["source_model"], row["trajectory_id"], row["step_id"]


@pytest.fixture(scope="module")
def calls() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """(script, release) -> tool calls of the sample: each step with its descriptor. Each release is a model here."""
    ran = [(script, release) for script, releases in ran_by().items() for release in releases]
    samples = [SAMPLES / release / f"{script}.jsonl" for script, release in ran]
    rows = [raw_row([sample.read_bytes()], f"m/{sample.name}", source_model=sample.parent.name) for sample in samples]
    actual_rows: dict[tuple[str, str], list[dict[str, Any]]] = {entry: [] for entry in ran}
    steps = normalized_rows(rows).steps
    descriptors = {key(row): row for row in described(*steps)}
    assert len(descriptors) == len(steps)
    for step in steps:
        if step["action_kind"] == "tool_call":
            script = step["trajectory_id"].rsplit(".", 1)[0]
            actual_rows[script, step["source_model"]].append(step | descriptors[key(step)])
    return actual_rows


def test_same_behaviour_same_status(calls: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    compared, reported = 0, set()
    for script, releases in SAME_LENGTH.items():
        runs = [calls[script, release] for release in releases]
        assert len({len(run) for run in runs}) == 1, script
        for place, same in enumerate(zip(*runs, strict=True), start=1):
            statuses = [entry["tool_status"] for entry in same]
            if (script, place) in DIFFERENT:
                assert len(set(statuses)) > 1, (script, place, "is no exception any more")
                continue
            assert len(set(statuses)) == 1, (script, place, statuses)
            for column in ("event_type", "side_effect", "auto_flags"):
                assert all(entry[column] == same[0][column] for entry in same), (script, place, column)
            compared += 1
            reported.add((statuses[0], frozenset(entry["result_is_error"] for entry in same)))
    assert compared >= 40
    # The comparison would prove little where isError agreed anyway: these failures are reported as none somewhere.
    for status in ("not_found", "error", "timeout", "denied", "unavailable", "aborted"):
        assert any(kind == status and False in is_error for kind, is_error in reported), status


def test_bad_arguments_by_release(calls: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    by_release = {release: [entry["tool_status"] for entry in calls["bad-args", release]] for release in RELEASES}
    assert by_release["2026.2.1"] == by_release["2026.4.15"][: len(by_release["2026.2.1"])]
    assert by_release["2026.4.15"] == by_release["2026.6.11"]
    assert set(by_release["2026.6.11"]) == {"ok", "error", "not_found"}


def test_the_exit_code_that_a_release_leaves_out_is_in_the_text(
    calls: dict[tuple[str, str], list[dict[str, Any]]],
) -> None:
    rules = {release: calls["repeat-loop", release][0]["status_rule"] for release in RELEASES}
    assert len(set(rules.values())) == 1
    old, new = calls["repeat-loop", "2026.2.1"][0], calls["repeat-loop", "2026.6.11"][0]
    assert "exitCode" not in old["result_details"]
    assert "exitCode" in new["result_details"]
