"""The label cuts: no record changes side of the default cut as the corpus grows, and quotas add up."""

import math
from collections.abc import Callable
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.records.release import Fingerprint, LabelAssignment, LabelBasis
from openclawbench.release.labels.fingerprint import min_hashes
from openclawbench.release.labels.places import hold_out, hold_out_reason, quotas
from openclawbench.release.labels.split import split_corpus
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.storage.temporary_folder import temporary_folder
from openclawbench.tables.schema import from_records

RULES = ReleaseRules.load()
BLANK = dict.fromkeys(LabelBasis.model_fields)
COUNTS = LabelBasis.model_fields["event_type_counts"].annotation
TIERS = ["high_confidence_accepted", "accepted_repaired", "baseline_accepted", "review_or_unresolved"]
SIDES = ("train", "test")
SLICES = [None, "pass_low_risk", "pass_medium_risk", "fail_high_risk"]

row = st.fixed_dictionaries(
    {
        "source_model": st.sampled_from(["model-a", "model-b"]),
        "trajectory_id": st.integers(0, 10**6).map(str),
        "subset": st.sampled_from([None, "simple", "rest"]),
        "task_id": st.integers(0, 30).map(lambda n: f"simple_{n}"),
        "slice_label": st.sampled_from(SLICES),
        "is_anomalous": st.sampled_from([None, True, False]),
        "quality_tier": st.sampled_from(TIERS),
        "incomplete": st.booleans(),
        "num_steps": st.integers(0, 3),
    }
)
corpora = st.lists(row, max_size=40, unique_by=lambda key_row: (key_row["source_model"], key_row["trajectory_id"]))


def min_hash(text: str) -> list[int]:
    """The MinHash of one text."""
    return [int(entry) for entry in min_hashes(pl.Series([text]), RULES.duplicates)[0]]


def unlike(row: dict[str, Any]) -> list[int]:
    """The MinHash of a text that no other row has."""
    return min_hash(" ".join([row["source_model"], row["trajectory_id"]] * 40))


def alike(row: dict[str, Any]) -> list[int]:
    """The MinHash of one of three texts, each of which many rows have."""
    number = int(row["trajectory_id"]) % 3
    return min_hash("\n".join([f"line {number} {n} of a log that many runs write" for n in range(30)]))


def tables(
    rows: list[dict[str, Any]], sketch: Callable[[dict[str, Any]], list[int]]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """LabelBasis and Fingerprint of these rows."""
    assert COUNTS is not None
    zero = dict.fromkeys(COUNTS.model_fields, 0)
    complete = [
        {**BLANK, **record, "task_digest": f"task:{record['task_id']}", "event_type_counts": zero} for record in rows
    ]
    prints = [{**record, "text_sha256": record["trajectory_id"], "minhash": sketch(record)} for record in rows]
    return from_records(complete, LabelBasis).lazy(), from_records(prints, Fingerprint).lazy()


def cut(
    rows: list[dict[str, Any]], sketch: Callable[[dict[str, Any]], list[int]] = unlike
) -> dict[tuple[str, str], dict[str, Any]]:
    """The split of these rows, by key."""
    (built,), _ = split_corpus([tables(rows, sketch)], RULES)
    return {(record["source_model"], record["trajectory_id"]): record for record in built.collect().to_dicts()}


@given(corpora, st.sampled_from([2, 7]))
def test_shards_and_partitions_make_no_difference(rows: list[dict[str, Any]], factor: int) -> None:
    shards = [[row for row in rows if int(row["trajectory_id"]) * factor % 3 == shard] for shard in range(3)]
    entry, many = (split_corpus([tables(some, alike) for some in cut], RULES) for cut in ([rows], shards))
    complete, parts = (pl.concat(assigned).collect() for assigned, _ in (entry, many))
    assert parts.sort("source_model", "trajectory_id").equals(complete)
    assert many[1].equals(entry[1])


@given(corpora)
def test_files_of_slices_make_no_difference(rows: list[dict[str, Any]]) -> None:
    with temporary_folder("slices") as folder:
        slices = [tables(rows[::2], alike), tables(rows[1::2], alike)]
        held, written = split_corpus(slices, RULES), split_corpus(slices, RULES, folder)
        assert pl.concat(held[0]).collect().equals(pl.concat(written[0]).collect())
        assert held[1].equals(written[1])


@given(corpora, st.integers(0, 40))
def test_no_record_changes_side_as_the_corpus_grows(rows: list[dict[str, Any]], size: int) -> None:
    small, large = cut(rows[:size]), cut(rows)
    for key, before in small.items():
        after = large[key]
        if before["default_cut"] and after["default_cut"]:
            assert before["default_cut"] == after["default_cut"]
        else:
            reasons = {before["default_reason"], after["default_reason"]}
            assert reasons <= {"calibration_pool", "calibration_task"} or len(reasons) == 1


@given(corpora, st.integers(0, 40))
def test_none_does_among_near_duplicates_and_none_of_them_straddles(rows: list[dict[str, Any]], size: int) -> None:
    small, large = cut(rows[:size], alike), cut(rows, alike)
    for key, before in small.items():
        sides = {before["default_cut"], large[key]["default_cut"]} - {None}
        assert len(sides) <= 1
    for result in (small, large):
        texts = {
            side: {int(key[1]) % 3 for key, entry in result.items() if entry["default_cut"] == side} for side in SIDES
        }
        assert not texts["train"] & texts["test"]


@given(corpora)
def test_a_task_is_on_one_side_whatever_model_ran_it(rows: list[dict[str, Any]]) -> None:
    sides: dict[str, set[str]] = {}
    for record in cut(rows).values():
        if record["default_cut"]:
            sides.setdefault(record["task_id"], set()).add(record["default_cut"])
    assert all(len(side) == 1 for side in sides.values())


@given(corpora)
def test_every_record_has_a_side_or_a_reason(rows: list[dict[str, Any]]) -> None:
    new_rows = cut(rows)
    assert len(new_rows) == len(rows)
    decided = [item for item in new_rows.values() if item["paper_reason"] in (None, "calibration_pool")]
    for entry in new_rows.values():
        for name in ("default", "paper"):
            assert (entry[f"{name}_cut"] is None) != (entry[f"{name}_reason"] is None)
        undecided = entry["quality_tier"] == "review_or_unresolved" and entry["is_anomalous"] is None
        assert (entry["paper_reason"] == "no_decision") == undecided
        assert (entry["label_status"] == "accepted") == (entry["quality_tier"] in TIERS[:2])
        assert (entry["label_status"] == "baseline") == (entry["quality_tier"] == TIERS[2])
        assert entry["in_calibration_pool"] == (entry["default_reason"] == "calibration_pool")
        assert not (entry["in_calibration_pool"] and entry["paper_cut"] == "train")
        left_out = entry["in_calibration_pool"] and entry["paper_cut"] is None
        assert left_out == (entry["paper_reason"] == "calibration_pool")
    for status in ("accepted", "needs_review", "baseline"):
        group = [item["paper_cut"] or "train" for item in decided if item["label_status"] == status]
        assert group.count("test") == math.ceil(round(RULES.test_share * len(group), 9))


@given(corpora)
def test_a_model_held_out_is_tested_whole_and_nothing_of_the_pool_is_trained_on(rows: list[dict[str, Any]]) -> None:
    new_rows = list(cut(rows).values())
    frame = from_records(new_rows, LabelAssignment)
    for model in ("model-a", "model-b"):
        sides = frame.select(side=hold_out(model), reason=hold_out_reason())
        for row, (side, reason) in zip(new_rows, sides.iter_rows(), strict=True):
            if row["paper_reason"] not in (None, "calibration_pool"):
                assert (side, reason) == (None, row["paper_reason"])
            elif row["source_model"] == model:
                assert side == "test"
            elif row["in_calibration_pool"]:
                assert (side, reason) == (None, "calibration_pool")
            else:
                assert side == "train"


@given(
    st.dictionaries(st.tuples(st.text("ab", max_size=2), st.text("cd", max_size=2)), st.integers(1, 400), max_size=8),
    st.sampled_from([0.05, 0.1, 0.25, 0.3, 0.5, 0.9]),
)
def test_quotas_add_up_and_are_fair(sizes: dict[tuple[str, str], int], share: float) -> None:
    actual_quotas = quotas(sizes, share)
    assert sum(actual_quotas.values()) == math.ceil(round(share * sum(sizes.values()), 9))
    for stratum, size in sizes.items():
        assert 0 <= actual_quotas[stratum] <= size
        assert abs(actual_quotas[stratum] - share * size) < 1
    assert quotas(dict(reversed(list(sizes.items()))), share) == actual_quotas
