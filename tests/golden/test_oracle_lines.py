"""Lines of result and score files, manifests and oracle files that are odd: read as what they say, or told with why."""

import json
from pathlib import Path
from typing import Any

import pytest
from bfcl_corpus import CALLS_MODEL, Corpus, lines, rewrite

CALLS = "scripted-calls"


def test_the_mode_is_a_group_and_never_a_models_folder(tmp_path: Path) -> None:
    """Trees of BFCL v3 have no folder of a group."""
    corpus = Corpus(tmp_path, {"multiple", "live_simple"}).sessions()
    for role in ("result", "score"):
        path = corpus.file("multiple", role)
        path.rename(corpus.tree / role / CALLS_MODEL / path.name)
    modes = {row["subset"]: row["evaluator"]["mode"] for row in corpus.read().rows}
    assert modes == {"multiple": None, "live_simple": "live"}


@pytest.mark.parametrize(("failures", "verdict"), [(1, "unscorable"), (2, "scored")])
def test_of_an_id_that_fails_twice_both_failures_are_listed(failures: int, verdict: str, tmp_path: Path) -> None:
    """5 correct and 1 failure are not 7 results: of one line of the id nobody knows what came of it."""
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    results, scores = corpus.file("multiple", "result"), corpus.file("multiple", "score")
    rewrite(results, [*lines(results), lines(results)[4]])
    rewrite(scores, [*lines(scores), *lines(scores)[1:failures]])
    corpus.header("multiple", accuracy=5 / 7, correct_count=5, total_count=7)
    category = corpus.read().category("multiple")
    assert (category["verdict"], category["reason"]) == (verdict, None if verdict == "scored" else "duplicate_ids")


@pytest.mark.parametrize(
    ("counts", "verdict"), [((5.0, 6.0), "scored"), ((5.5, 6), "unscorable"), ((True, 6), "unscorable")]
)
def test_whole_numbers_count_however_a_header_writes_them(counts: Any, verdict: str, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.header("multiple", accuracy=5 / 6, correct_count=counts[0], total_count=counts[1])
    assert corpus.read().category("multiple")["verdict"] == verdict


def test_a_row_of_a_run_that_the_manifest_does_not_name_says_so(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", run_id="run-2")
    (corpus.tree.with_name("run-2") / "score").mkdir(parents=True)
    (corpus.tree.with_name("run-2") / "score" / "m").mkdir()
    score = {"accuracy": 1.0, "correct_count": 1, "total_count": 1}
    (corpus.tree.with_name("run-2") / "score" / "m" / "BFCL_v4_rest_score.json").write_text(json.dumps(score))
    reading = corpus.read()
    why = {row["task_id"]: row["unjoined"] for row in reading.rows}
    assert why == {f"multiple_{n}": "other_run" if n == 0 else "no_manifest_row" for n in range(6)}
    category = reading.category("multiple")
    assert (category["other_run"], category["no_manifest_row"]) == (1, 5)


def test_a_broken_manifest_line_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", note="extra")
    corpus.attempt(CALLS, "multiple_1")
    reading = corpus.read()
    assert reading.faults == ["run_manifest_malformed"]
    assert (
        "line 1: not a run manifest line: note: Extra inputs are not permitted. Cor"
        in reading.intake.faults[0]["message"]
    )


def test_an_attempt_beyond_every_column_is_a_fault_of_its_line(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", attempt=10**30)
    corpus.attempt(CALLS, "multiple_1")
    reading = corpus.read()
    assert reading.faults == ["run_manifest_malformed"]
    assert "line 1: not a run manifest line: attempt: Input should be less than" in reading.intake.faults[0]["message"]


@pytest.mark.parametrize(
    ("subset", "notes"),
    [("parallel", 1), ("multiple", 0), ("BFCL_v3_multiple", 0), ("of our own", 0), (None, 0)],
)
def test_a_subset_that_is_another_category_than_the_tasks_is_told(
    subset: str | None, notes: int, tmp_path: Path
) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", subset=subset)
    corpus.session(CALLS, "by-hand")
    row = {"source_model": CALLS, "native_session_basename": "by-hand", "success": True, "task_id": "multiple_9"}
    (corpus.tree.parent / "own.jsonl").write_text(json.dumps(row | {"subset": subset}) + "\n")
    reading = corpus.read()
    assert (reading.notes, reading.faults) == (["run_manifest_other_subset", "oracle_other_subset"][: 2 * notes], [])
    for note in reading.intake.warnings:
        assert "line 1: says subset parallel, and the task multiple_" in note["message"]


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("score", "NaN", "score: nan is not a number"),
        ("score", "-Infinity", "score: -inf is not a number"),
        ("evaluated_at", '"yesterday"', "evaluated_at: 'yesterday' is not a time"),
        ("evaluated_at", '"2026-11-21T12:00:00Z"', None),
        ("evaluated_at", '"2026-11-21"', None),
        ("score", "0.5", None),
        ("attempt", str(2**63), f"attempt: Input should be less than {2**63}"),
        ("attempt", str(-(2**63)), None),
        ("error_message", '"half a \\ud83d character"', None),
    ],
)
def test_a_value_that_no_record_can_hold_is_a_fault(field: str, value: str, what: str | None, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.session(CALLS, "by-hand")
    row = f'{{"source_model": "{CALLS}", "native_session_basename": "by-hand", "success": true, "{field}": {value}}}\n'
    (corpus.tree.parent / "own.jsonl").write_text(row)
    corpus.attempt(CALLS, "multiple_0")
    reading = corpus.read()
    assert reading.faults == ([] if what is None else ["oracle_malformed"])
    assert ("by-hand" in reading.joined()) == (what is None)
    assert what is None or what in reading.intake.faults[0]["message"]
