"""The calibration pool and the cuts on a corpus of the paper's size: made-up rows, counted."""

from collections import Counter
from typing import Any

import polars as pl

from openclawbench.records.release import Fingerprint, LabelBasis
from openclawbench.release.labels.places import uniform_hash, zone_at
from openclawbench.release.labels.split import split_corpus
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.tables.schema import empty, from_records

RULES = ReleaseRules.load()
SLICES = ["pass_low_risk", "pass_medium_risk", "pass_high_risk", "fail_low_risk"]


def rows(tasks: int, models: int = 6) -> list[dict[str, Any]]:
    """A row a task and model; one in fifty waits for a person."""
    return [
        {
            "source_model": f"model-{model}",
            "trajectory_id": f"{task}",
            "subset": f"subset-{task % 7}",
            "task_id": f"task-{task}",
            "task_digest": f"task:task-{task}",
            "is_anomalous": task % 11 == 0,
            "anomaly_type_l2": None,
            "quality_tier": "review_or_unresolved" if task % 50 == 49 else "high_confidence_accepted",
            "slice_label": SLICES[(task // 5) % 4],
            "num_steps": 3,
            "incomplete": False,
            "partial_trial": False,
        }
        for task in range(tasks)
        for model in range(models)
    ]


def zone(task_digest: str, rules: ReleaseRules) -> str:
    """Where the hash of a task puts its records."""
    return zone_at(uniform_hash("default_cut", task_digest), rules)


def cut(corpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The label rows of the corpus, without texts, in its order."""
    (assigned,), _ = split_corpus([(from_records(corpus, LabelBasis).lazy(), empty(Fingerprint).lazy())], RULES)
    key = ["source_model", "trajectory_id"]
    order = pl.DataFrame({name: [row[name] for row in corpus] for name in key})
    return order.join(assigned.collect(), on=key, how="left", maintain_order="left").to_dicts()


def test_the_pool_is_a_hundred_of_each_passing_slice_balanced_over_models() -> None:
    corpus = rows(5_000)
    drawn = [row for row, new_row in zip(corpus, cut(corpus), strict=True) if new_row["in_calibration_pool"]]
    assert Counter(row["slice_label"] for row in drawn) == dict.fromkeys(SLICES[:3], 100)
    for name in SLICES[:3]:
        counts = Counter(row["source_model"] for row in drawn if row["slice_label"] == name)
        assert len(counts) == 6
        assert max(counts.values()) - min(counts.values()) <= 1
    assert {row["quality_tier"] for row in drawn} == {"high_confidence_accepted"}
    assert {zone(row["task_digest"], RULES) for row in drawn} == {"calibration_task"}


def test_a_smaller_corpus_gets_what_its_reserved_tasks_give() -> None:
    corpus = rows(100)
    pool = {(row["source_model"], row["trajectory_id"]) for row in cut(corpus) if row["in_calibration_pool"]}
    reserved = {
        (row["source_model"], row["trajectory_id"])
        for row in corpus
        if zone(row["task_digest"], RULES) == "calibration_task"
        and row["slice_label"].startswith("pass")
        and row["quality_tier"] != "review_or_unresolved"
    }
    assert pool == reserved
    assert 0 < len(pool) < 0.2 * len(corpus)


def test_no_task_of_the_pool_is_ever_trained_on_however_the_corpus_grows() -> None:
    """From 200 tasks to 5,000, and with more models: what was in the pool once is on no side of the default cut."""
    complete_rows = rows(5_000, models=8)
    once: set[str] = set()
    for corpus in (rows(200, 2), rows(1_000, 3), rows(2_500), complete_rows):
        new_rows = cut(corpus)
        once |= {row["task_id"] for row in new_rows if row["in_calibration_pool"]}
        for row in new_rows:
            if row["task_id"] in once:
                assert row["default_cut"] is None
                assert row["default_reason"] in ("calibration_pool", "calibration_task", "no_decision")
    assert len(once) > 50


def test_a_larger_share_takes_tasks_of_train_alone() -> None:
    tasks = [f"task:{number}" for number in range(3_000)]
    more_test = RULES.model_copy(update={"test_share": 0.3})
    more_reserved = RULES.model_copy(update={"calibration": RULES.calibration.model_copy(update={"task_share": 0.3})})
    for other, zone_of_others in ((more_test, "test"), (more_reserved, "calibration_task")):
        moved = {(zone(task, RULES), zone(task, other)) for task in tasks if zone(task, RULES) != zone(task, other)}
        assert moved == {("train", zone_of_others)}


def test_labels_of_the_rules_judge_are_a_status_of_their_own_in_every_cut() -> None:
    corpus = rows(500)
    for row in corpus:
        if row["source_model"] == "model-1" and row["quality_tier"] != "review_or_unresolved":
            row["quality_tier"] = "baseline_accepted"
    new_rows = cut(corpus)
    sides = Counter((row["label_status"], row["paper_cut"]) for row in new_rows)
    for status, size in Counter(row["label_status"] for row in new_rows).items():
        assert sides[status, "test"] == -(-size // 10)
    assert {row["label_status"] for row in new_rows if row["source_model"] == "model-1"} == {"baseline", "needs_review"}


def test_the_paper_cut_has_the_papers_counts_and_the_default_cut_nearly_its_share() -> None:
    """31,264 trajectories, 30,398 of them accepted and 712 waiting with a decision: 3,040 and 72 go to test."""
    corpus = rows(5_210)[:31_110]
    for number, row in enumerate(corpus):
        row["quality_tier"] = "high_confidence_accepted" if number < 30_398 else "review_or_unresolved"
    new_rows = cut(corpus)
    sides = Counter((row["label_status"], row["paper_cut"]) for row in new_rows)
    left_out = sum(row["paper_reason"] == "calibration_pool" for row in new_rows)
    assert (sides["accepted", "train"] + left_out, sides["accepted", "test"]) == (27_358, 3_040)
    assert 250 < left_out < sum(row["in_calibration_pool"] for row in new_rows) == 300
    assert (sides["needs_review", "train"], sides["needs_review", "test"]) == (640, 72)
    share = sum(row["default_cut"] == "test" for row in new_rows) / len(new_rows)
    assert 0.08 < share < 0.12
    tasks: dict[str, set[str]] = {}
    for row in new_rows:
        tasks.setdefault(row["task_id"], set()).add(row["default_cut"])
    assert all(len(task) == 1 for task in tasks.values())
