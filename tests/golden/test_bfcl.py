"""A real BFCL tree (bfcl/README.md) joins with exact counts; each way in which a tree can be wrong has its result."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bfcl_corpus import Corpus, Outcome, Reading, lines, rewrite
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.intake.intake import take_in
from openclawbench.intake.oracles.bfcl import compare_counts
from openclawbench.intake.oracles.bfcl_lines import BfclFailure, BfclResult, ResultFile, ScoreFile

CALLS, TEXT = "scripted-calls", "scripted-text"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Every task of the tree ran once."""
    return Corpus(tmp_path_factory.mktemp("bfcl")).sessions().update()


def test_every_session_gets_the_outcome_that_the_evaluator_counted(loaded: Outcome) -> None:
    assert loaded.faults == []
    assert loaded.outcomes(CALLS) == {
        ("simple_python", "pass"): 20,
        ("simple_python", "fail"): 3,
        ("simple_python", None): 1,  # inference error
        ("multiple", "pass"): 5,
        ("multiple", "fail"): 1,
        ("live_simple", "pass"): 18,
        ("live_simple", "fail"): 2,
        ("live_parallel", "fail"): 16,
        ("live_relevance", "pass"): 16,
        ("irrelevance", "pass"): 9,  # 11 in the header: two made no call because inference failed
        ("irrelevance", "fail"): 1,
        ("irrelevance", None): 2,
        ("multi_turn_base", "pass"): 5,
        ("multi_turn_base", "fail"): 2,
        ("multi_turn_base", None): 1,
        ("memory", "pass"): 3,
        ("memory", "fail"): 3,
        ("web_search", "pass"): 2,
        ("web_search", "fail"): 2,
        ("web_search", None): 1,
    }
    assert loaded.outcomes(TEXT) == {
        ("simple_python", "pass"): 9,
        ("simple_python", "fail"): 1,
        ("irrelevance", "pass"): 7,
        ("irrelevance", "fail"): 1,
        ("format_sensitivity", "pass"): 4,
        ("format_sensitivity", "fail"): 2,
    }


def test_the_coverage_adds_up(loaded: Outcome) -> None:
    assert len(loaded.rows_of_coverage()) == 12
    for row in loaded.rows_of_coverage():
        assert row["sessions"] == row["matched"] + row["unmatched_sessions"] == row["oracle_rows"]
        assert row["matched"] == row["scored"] + row["infra_errors"] + row["not_scored"] + row["unscorable"]
        assert row["unmatched_rows"] == row["duplicate_rows"] == row["contradictions"] == 0
    assert sum(row["infra_errors"] for row in loaded.rows_of_coverage()) == 5
    assert {category["verdict"] for category in loaded.intake.categories} == {"scored"}
    assert loaded.intake.counts["bfcl_result"] == loaded.intake.counts["bfcl_score"] == 12


def test_an_inference_error_is_no_pass_where_no_call_is_right(loaded: Outcome) -> None:
    oracle = loaded.fused()["irrelevance_4"]["oracle"]
    assert (oracle["success"], oracle["status"], oracle["error_type"]) == (None, "infra_error", "inference_error")
    assert oracle["error_message"].startswith("Error during inference")
    category = next(
        entry
        for entry in loaded.intake.categories
        if entry["result_file"].endswith("FC/non_live/BFCL_v4_irrelevance_result.json")
    )
    assert (category["passed"], category["correct_count"], category["inference_errors"]) == (11, 11, 2)


def test_error_types_are_read_at_top_level_and_inside_the_error(loaded: Outcome) -> None:
    rows = loaded.fused()
    assert rows["multiple_4"]["oracle"]["error_type"] == "simple_function_checker:wrong_func_name"
    assert rows["multi_turn_base_4"]["oracle"]["error_type"] == "multi_turn:execution_response_mismatch"
    assert rows["memory_kv_1-customer-1"]["oracle"]["error_type"] == "agentic:answer_not_found"
    assert "not found" in rows["multiple_4"]["oracle"]["error_message"]


def test_where_an_outcome_comes_from(loaded: Outcome) -> None:
    row = loaded.fused()["memory_kv_0-customer-0"]
    assert (row["task_id"], row["oracle"]["task_id_canonical"]) == ("memory_kv_0-customer-0",) * 2
    evaluator = row["oracle"]["evaluator"]
    assert (evaluator["name"], evaluator["data_version"], evaluator["mode"]) == ("bfcl-eval", "BFCL_v4", "kv")
    assert evaluator["source_path"].startswith("run-1/score/lab_scripted-calls-FC/agentic/memory/kv/")
    assert len(evaluator["source_sha256"]) == 64
    assert row["oracle_rows"] == [
        "run-1/result/lab_scripted-calls-FC/agentic/memory/kv/BFCL_v4_memory_kv_result.json:1"
    ]


def test_a_category_at_zero_is_loaded_and_said_loudly(loaded: Outcome) -> None:
    assert loaded.notes == ["bfcl_category_at_zero"]
    assert "0 of 16 live_parallel passed" in loaded.done.notes[0]["message"]
    assert loaded.coverage()[CALLS, "live_parallel"]["scored"] == 16


def repeat_a_pass(corpus: Corpus) -> None:
    """The first task, which passed, was scored twice."""
    path = corpus.file("multiple", "result")
    rewrite(path, [*lines(path), lines(path)[0]])
    corpus.header("multiple", accuracy=6 / 7, correct_count=6, total_count=7)


def drop_results(corpus: Corpus) -> None:
    path = corpus.file("multiple", "result")
    rewrite(path, lines(path)[:3])


def add_results(corpus: Corpus) -> None:
    path = corpus.file("multiple", "result")
    rewrite(path, [*lines(path), '{"id": "multiple_77", "result": []}'])


def other_scores(corpus: Corpus) -> None:
    path = corpus.file("multiple", "score")
    rewrite(path, [line.replace("multiple_4", "multiple_44") for line in lines(path)])


def break_a_line(corpus: Corpus) -> None:
    path = corpus.file("multiple", "score")
    rewrite(path, [*lines(path), '{"id": "multiple_'])


BROKEN: dict[str, Callable[[Corpus], None]] = {
    "header_mismatch": lambda corpus: corpus.header("multiple", accuracy=0.5, correct_count=3, total_count=6),
    "duplicate_ids": repeat_a_pass,
    "partial_results": drop_results,
    "results_not_scored": add_results,
    "score_of_another_run": other_scores,
    "broken_line": break_a_line,
    "no_header": lambda c: rewrite(c.file("multiple", "score"), lines(c.file("multiple", "score"))[1:]),
    "other_category": lambda c: rewrite(
        c.file("multiple", "result"), [x.replace("multiple_", "parallel_") for x in lines(c.file("multiple", "result"))]
    ),
}


@pytest.mark.parametrize("reason", BROKEN)
def test_what_does_not_add_up_makes_the_whole_category_unscorable(reason: str, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    BROKEN[reason](corpus)
    reading = corpus.read()
    category = reading.category("multiple")
    assert (category["verdict"], category["reason"]) == ("unscorable", reason)
    assert reading.notes == [f"bfcl_{reason}"]
    assert category["message"] in reading.intake.warnings[0]["message"]
    assert reading.intake.warnings[0]["file"] in (category["result_file"], category["score_file"])
    assert reading.faults == []
    assert set(reading.verdicts()) <= {("unscorable", None)}
    assert reading.rows


def test_an_id_that_fails_twice_is_no_riddle(tmp_path: Path) -> None:
    """One real id occurs twice. Where both fail, the count of the header holds."""
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    results, scores = corpus.file("multiple", "result"), corpus.file("multiple", "score")
    rewrite(results, [*lines(results), lines(results)[4]])
    rewrite(scores, [*lines(scores), lines(scores)[1]])
    corpus.header("multiple", accuracy=5 / 7, correct_count=5, total_count=7)
    assert corpus.read().verdicts() == {("scored", True): 5, ("scored", False): 1}


def test_without_a_manifest_nothing_is_joined_and_a_person_is_told(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.manifest.clear()
    outcome = corpus.update()
    assert outcome.faults == ["bfcl_no_manifest"]
    assert "nothing of it is joined" in outcome.done.faults[0]["message"]
    assert outcome.outcomes() == {(None, None): 6}
    rows = outcome.coverage()[CALLS, "multiple"]
    assert (rows["oracle_rows"], rows["unmatched_rows"], rows["no_manifest_row"]) == (6, 6, 6)


def test_the_manifest_may_lie_beside_the_tree(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.write_manifest()
    (corpus.raw / "run_manifest.jsonl").rename(corpus.tree / "run_manifest.jsonl")
    corpus.manifest.clear()
    reading = corpus.read()
    assert (reading.faults, reading.intake.counts["run_manifest"]) == ([], 1)
    assert reading.verdicts() == {("scored", True): 5, ("scored", False): 1}


def test_scores_without_results_give_failures_only(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.file("multiple", "result").unlink()
    reading = corpus.read()
    assert reading.category("multiple")["verdict"] == "failures_only"
    assert reading.notes == ["bfcl_failures_only"]
    assert [(row["basename"], row["success"], row["flags"]) for row in reading.rows] == [
        ("multiple_4", False, ["bfcl_failures_only"])
    ]


def test_where_only_failures_are_known_there_is_no_share_of_passes(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple", "live_simple"}).sessions()
    corpus.file("multiple", "result").unlink()
    outcome = corpus.update()
    rows = {row["subset"]: row for row in outcome.rows_of_coverage()}
    assert [(rows[text]["scored"], rows[text]["failures_only"]) for text in ("multiple", "live_simple")] == [
        (1, 1),
        (20, 0),
    ]
    sections = outcome.coverage_report().data()["sections"]
    shares = {row["subset"]: row["pass_share"] for row in sections["coverage"]["rows"]}
    assert shares == {"multiple": None, "live_simple": 0.9}
    assert sections["coverage"]["facts"]["pass_share"] == 0.9
    assert sections["extremes"]["rows"] == []


@pytest.mark.parametrize("name", ["a", "z"])  # of the file of rows: it may be read before the tree or after it
def test_a_failure_that_another_row_confirms_is_no_failure_alone(name: str, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.file("multiple", "result").unlink()
    row = {"source_model": "scripted-calls", "native_session_basename": "multiple_4", "task_id": "multiple_4"}
    (corpus.tree.parent / f"{name}.jsonl").write_text(json.dumps(row | {"success": False}) + "\n")
    outcome = corpus.update()
    row = outcome.fused()["multiple_4"]
    assert (row["oracle_match"], row["oracle_outcome"], row["oracle"]["flags"]) == ("duplicate_rows", "fail", [])
    assert [record["failures_only"] for record in outcome.rows_of_coverage() if record["subset"] == "multiple"] == [0]


def test_a_stray_id_does_not_harm_the_category_that_it_is_of(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple", "live_simple"}).sessions()
    path = corpus.file("live_simple", "result")
    rewrite(path, [*lines(path), '{"id": "multiple_0", "result": []}'])
    outcome = corpus.update()
    assert outcome.notes == ["bfcl_other_category"]
    (warning,) = outcome.intake.warnings
    assert (warning["file"], warning["line"]) == (path.relative_to(corpus.tree.parent).as_posix(), 21)
    assert "line 21: multiple_0 is not a task of live_simple" in warning["message"]
    row = outcome.fused()["multiple_0"]
    assert (row["oracle_match"], row["oracle_outcome"], row["subset"]) == ("matched", "pass", "multiple")
    assert [entry.rpartition(":")[2] for entry in row["oracle_rows_set_aside"]] == ["21"]
    assert outcome.outcomes() == {("multiple", "pass"): 5, ("multiple", "fail"): 1, ("live_simple", None): 20}


@pytest.mark.parametrize(("accuracy", "notes"), [(0.2, ["bfcl_other_accuracy"]), (0.83, []), (5 / 6, [])])
def test_a_header_whose_accuracy_is_not_what_it_counts_is_told(
    accuracy: float, notes: list[str], tmp_path: Path
) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.header("multiple", accuracy=accuracy, correct_count=5, total_count=6)
    reading = corpus.read()
    assert (reading.category("multiple")["verdict"], reading.notes) == ("scored", notes)
    for warning in reading.intake.warnings:
        assert (warning["file"], warning["line"]) == (reading.category("multiple")["score_file"], 1)
        assert "accuracy 0.2 beside 5 correct of 6; the counts are used" in warning["message"]


def test_results_without_scores_give_nothing(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.file("multiple", "score").unlink()
    reading = corpus.read()
    assert reading.category("multiple")["verdict"] == "no_score"
    assert reading.notes == ["bfcl_no_score"]
    assert reading.rows == []


def test_a_model_folder_is_mapped_by_the_settings_and_by_nothing_else(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    (corpus.data.root / "openclawbench.toml").unlink()
    reading = corpus.read()
    assert reading.notes == ["bfcl_unknown_model"]
    assert "[bfcl.models]" in reading.intake.warnings[0]["message"]
    assert reading.joined() == {}


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ({"run_id": "run-0"}, {"run_id": "run-1", "attempt": 2}, "again"),  # the tree's folder is run-1
        ({"run_id": None}, {"run_id": None, "attempt": 2, "scored": True}, "again"),
        ({"run_id": None, "scored": False}, {"run_id": None, "attempt": 2}, "again"),
        ({"run_id": None}, {"run_id": None, "attempt": 2}, None),  # nothing says which: never guessed
    ],
)
def test_of_two_attempts_only_the_scored_one_gets_the_score(
    first: dict[str, object], second: dict[str, object], joined: str | None, tmp_path: Path
) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", "once", **first)
    corpus.attempt(CALLS, "multiple_0", "again", **second)
    reading = corpus.read()
    assert reading.joined() == ({joined: "multiple_0"} if joined else {})
    assert reading.category("multiple")["ambiguous_attempts"] == (0 if joined else 1)
    row = next(row for row in reading.rows if row["task_id"] == "multiple_0")
    assert row["unjoined"] == (None if joined else "ambiguous_attempts")
    assert reading.intake.counts["run_manifest"] == 1


def test_a_result_line_may_tell_its_attempt_or_its_session(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"})
    for number in (1, 2):
        corpus.attempt(CALLS, "multiple_0", f"try-{number}", run_id=None, attempt=number)
    corpus.session(CALLS, "told")
    path = corpus.file("multiple", "result")
    first, second, *rest = map(json.loads, lines(path))
    reported = [first | {"attempt": 2}, second | {"native_session_basename": "told.jsonl"}, *rest]
    rewrite(path, [json.dumps(entry) for entry in reported])
    assert corpus.read().joined() == {"try-2": "multiple_0", "told": "multiple_1"}


def test_older_spellings_join_and_keep_the_id_as_it_was(tmp_path: Path) -> None:
    """A tree of version 3, without groups: `simple` is `simple_python` today."""
    corpus = Corpus(tmp_path, {"simple_python"})
    for role in ("result", "score"):
        path = corpus.file("simple_python", role)
        old = [line.replace("simple_python_", "simple_") for line in lines(path)]
        rewrite(corpus.tree / role / "lab_scripted-calls-FC" / f"BFCL_v3_simple_{role}.json", old)
        path.unlink()
    corpus.attempt(CALLS, "simple_python_0")
    row = next(row for row in corpus.read().rows if row["basename"] == "simple_python_0")
    assert (row["task_id"], row["task_id_canonical"]) == ("simple_0", "simple_python_0")
    assert (row["subset"], row["success"]) == ("simple_python", True)
    assert row["evaluator"]["data_version"] == "BFCL_v3"


def test_a_folder_may_hold_several_trees_and_jsonl_files(tmp_path: Path) -> None:
    """Two runs of one task: each tree's score goes to the session of its own run."""
    corpus = Corpus(tmp_path, {"multiple"})
    shutil.copytree(corpus.tree, corpus.tree.with_name("run-2"))
    corpus.attempt(CALLS, "multiple_0", "first")
    corpus.attempt(CALLS, "multiple_0", "second", run_id="run-2")
    corpus.session(CALLS, "by-hand")
    row = {"source_model": CALLS, "native_session_basename": "by-hand", "success": False, "task_id": "by hand"}
    (corpus.tree.parent / "own.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (corpus.tree.parent / "data_overall.csv").write_text("Rank,Model\n", encoding="utf-8")
    reading = corpus.read()
    assert reading.joined() == {"first": "multiple_0", "second": "multiple_0", "by-hand": "by hand"}
    assert {category["tree"] for category in reading.intake.categories} == {"run-1", "run-2"}
    of_tree = {row["basename"]: row["row_id"].partition("/")[0] for row in reading.rows if row["unjoined"] is None}
    assert of_tree == {"first": "run-1", "second": "run-2", "by-hand": "own.jsonl:1"}
    assert reading.intake.counts["no_oracle"] == 1
    assert reading.intake.counts["oracle_jsonl"] == 1


@pytest.mark.parametrize("part", ["score/lab_scripted-calls-FC/non_live/BFCL_v4_multiple_score.json", "score", "."])
def test_a_part_of_a_tree_is_known_by_its_content(part: str, tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    corpus.write_manifest()
    models = {"lab_scripted-calls-FC": CALLS}
    reading = Reading(take_in(corpus.data, corpus.raw, corpus.tree / part, save=False, models=models))
    assert reading.category("multiple")["verdict"] == ("scored" if part == "." else "failures_only")
    assert reading.joined()["multiple_4"] == "multiple_4"


def test_names_of_files_decide_nothing(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    for role in ("result", "score"):
        path = corpus.file("multiple", role)
        path.rename(path.with_name(f"{role}s of tuesday.json"))
    assert corpus.read().verdicts() == {("scored", True): 5, ("scored", False): 1}


@given(st.lists(st.booleans(), max_size=30), st.integers(-2, 2))
def test_a_pass_is_only_ever_what_the_header_confirms(passed: list[bool], off: int) -> None:
    """All outcomes are told where the header's count is met, and none where it is not."""
    verdicts = {f"simple_python_{number}": entry for number, entry in enumerate(passed)}
    correct = sum(verdicts.values())
    results = ResultFile([BfclResult(line, verdict, None, {}) for line, verdict in enumerate(verdicts, 1)])
    failures = [
        BfclFailure(line, entry, None, None) for line, entry in enumerate(v for v in verdicts if not verdicts[v])
    ]
    scores = ScoreFile(None, correct + off, len(verdicts), failures)
    assert (compare_counts(results, scores, "score")[0] == "scored") == (off == 0)


@pytest.mark.parametrize(("answer", "verdict"), [(None, "scored"), ([{"other": "{}"}], "unscorable")])
def test_a_result_that_stands_twice_must_say_the_same(answer: Any, verdict: str, tmp_path: Path) -> None:
    """The header counts an id once; which of two different results it scored nobody knows."""
    corpus = Corpus(tmp_path, {"multiple"}).sessions()
    path = corpus.file("multiple", "result")
    again = json.loads(lines(path)[0])
    rewrite(path, [*lines(path), json.dumps(again if answer is None else again | {"result": answer})])
    category = corpus.read().category("multiple")
    assert (category["verdict"], category["reason"]) == (verdict, None if answer is None else "duplicate_ids")


def test_a_row_counts_under_the_subset_of_its_session(tmp_path: Path) -> None:
    """The manifest names another subset than the tree does: matched and rows stand in one line."""
    corpus = Corpus(tmp_path, {"multiple"})
    corpus.attempt(CALLS, "multiple_0", "once", subset="mine")
    outcome = corpus.update()
    row = outcome.coverage()[CALLS, "mine"]
    assert (row["sessions"], row["matched"], row["oracle_rows"], row["unmatched_rows"]) == (1, 1, 1, 0)
