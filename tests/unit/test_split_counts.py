"""What a run says of its splits: sides, anomalies on them, and which share would put some on the test side."""

import polars as pl

from openclawbench.release.labels.places import uniform_hash
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.workspace.split_counts import count_splits, split_cautions

RULES = ReleaseRules.load()


def corpus(records: int, anomalous: set[int], share: float) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Label assignments and places of a corpus with a task a record."""
    digests = [f"task {number}" for number in range(records)]
    cut = ["test" if uniform_hash("default_cut", digest) >= 1 - share else "train" for digest in digests]
    key = {"source_model": ["m"] * records, "trajectory_id": [f"t{number}" for number in range(records)]}
    assigned = pl.DataFrame(
        key
        | {
            "is_anomalous": [number in anomalous for number in range(records)],
            "label_status": ["accepted"] * records,
            "default_cut": cut,
            "paper_cut": cut,
            "default_reason": pl.Series([None] * records, dtype=pl.String),
        }
    )
    places = [uniform_hash("default_cut", digest) for digest in digests]
    return assigned.lazy(), pl.LazyFrame(key | {"default_place": places})


def with_share(share: float) -> ReleaseRules:
    return RULES.model_copy(update={"test_share": share})


def test_every_side_is_counted() -> None:
    assigned, _ = corpus(50, {1, 2, 3}, 0.2)
    rows = {(row["cut"], row["side"]): row for row in count_splits(assigned)}
    assert sum(rows["default_cut", side]["records"] for side in ("train", "test")) == 50
    assert sum(rows["default_cut", side]["anomalous"] for side in ("train", "test")) == 3


def test_what_needs_review_is_not_counted_as_an_anomaly() -> None:
    assigned, _ = corpus(10, {1}, 0.2)
    unsure = assigned.with_columns(label_status=pl.lit("needs_review"))
    assert {row["anomalous"] for row in count_splits(unsure)} == {0}


def test_a_baseline_label_is_decided_and_never_called_accepted() -> None:
    assigned, places = corpus(60, {1, 2}, 0.1)
    baseline = assigned.with_columns(label_status=pl.lit("baseline"))
    assert count_splits(baseline) == count_splits(assigned)
    assert "accepted" not in str([count_splits(baseline), split_cautions(baseline, places, with_share(0.1))])


def test_a_test_side_without_an_anomaly_is_told_with_the_share_that_puts_one_there() -> None:
    """And a corpus cut with that share has one there, while no record of the former test side has left it."""
    digests = sorted(range(60), key=lambda number: uniform_hash("default_cut", f"task {number}"))
    anomalous = {*digests[:10], digests[-20]}  # low hashes are train for good; one is in the upper third
    assigned, places = corpus(60, anomalous, 0.1)
    cautions = split_cautions(assigned, places, with_share(0.1))
    assert cautions[0].startswith("no decided anomaly is on the test side of default_cut")
    advice = next(caution for caution in cautions if caution.startswith("test_share is 0.1; "))
    share = float(advice.split("; ")[1].split(" puts 1 of 11")[0])
    after, _ = corpus(60, anomalous, share)
    (test,) = [row for row in count_splits(after) if (row["cut"], row["side"]) == ("default_cut", "test")]
    assert test["anomalous"] == 1
    former, later = (set(entry.filter(default_cut="test").collect()["trajectory_id"]) for entry in (assigned, after))
    assert former < later


def test_enough_anomalies_on_every_side_are_no_news() -> None:
    assigned, places = corpus(400, set(range(0, 400, 2)), 0.2)
    assert split_cautions(assigned, places, with_share(0.2)) == []


def test_no_share_is_advised_that_leaves_no_anomaly_to_train_with() -> None:
    places = {number: uniform_hash("default_cut", f"task {number}") for number in range(60)}
    nearest = max((number for number in places if places[number] < 0.9), key=places.__getitem__)
    cautions = split_cautions(*corpus(60, {nearest}, 0.1), with_share(0.1))
    assert cautions[-1] == (
        "the default cut has 1 decided anomaly in all: no test_share up to 0.5 helps, more sessions can"
    )


def test_where_no_share_helps_that_is_said() -> None:
    lowest = min(range(40), key=lambda number: uniform_hash("default_cut", f"task {number}"))
    assigned, places = corpus(40, {lowest}, 0.1)
    assert any("no test_share up to 0.5 helps" in text for text in split_cautions(assigned, places, with_share(0.1)))


def test_where_all_anomalies_are_on_the_test_side_a_smaller_share_puts_one_on_the_train_side() -> None:
    digests = sorted(range(60), key=lambda number: uniform_hash("default_cut", f"task {number}"))
    anomalous = set(digests[-3:])
    assigned, places = corpus(60, anomalous, 0.3)
    cautions = split_cautions(assigned, places, with_share(0.3))
    assert cautions[0].startswith("no decided anomaly is on the train side of default_cut, all 3 are on its test side")
    assert not any("no test_share up to 0.5 helps" in caution for caution in cautions)
    (advice,) = (caution for caution in cautions if caution.startswith("test_share is 0.3; "))
    share = float(advice.split("; ")[1].split(" leaves 2 of 3 on the test side")[0])
    after, _ = corpus(60, anomalous, share)
    sides = {row["side"]: row["anomalous"] for row in count_splits(after) if row["cut"] == "default_cut"}
    assert (sides["train"], sides["test"]) == (1, 2)


def test_a_single_anomaly_on_the_test_side_asks_for_more_sessions() -> None:
    highest = max(range(40), key=lambda number: uniform_hash("default_cut", f"task {number}"))
    assigned, places = corpus(40, {highest}, 0.2)
    cautions = split_cautions(assigned, places, with_share(0.2))
    assert cautions[-1] == "test_share is 0.2: no smaller hundredth has anomalies on both sides; more sessions can"
    assert cautions[0].startswith("no decided anomaly is on the train side of default_cut, the only one is on its test")


def test_a_corpus_without_an_anomaly_is_not_told_that_all_are_on_one_side() -> None:
    assigned, places = corpus(40, set(), 0.2)
    cautions = split_cautions(assigned, places, with_share(0.2))
    assert cautions and not any("on its test side" in caution for caution in cautions)
