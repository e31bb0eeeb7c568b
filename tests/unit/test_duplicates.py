"""Near duplicates and leakage: what counts as nearly the same, and what a certificate says of a cut."""

import sys
import zlib
from typing import Any

import polars as pl
import pytest
from datasketch import MinHash

from openclawbench.release.card.card import leakage
from openclawbench.release.labels.duplicates import near_sides, shared_buckets
from openclawbench.release.labels.fingerprint import min_hashes, shingles
from openclawbench.release.labels.leakage import LabelledSides, certificate, memoriser
from openclawbench.release.labels.sketches import sketch_bands, sketch_tables
from openclawbench.rules.release.release import ReleaseRules

RULES = ReleaseRules.load()
TEXT = "\n".join(
    f"line {word} of the log says that the {word} was found in the {word} store" for word in "abcdefghijklmnop"
)


def near(texts: dict[str, str], *cuts: tuple[str, str], shards: int = 1) -> list[str]:
    """The records on the train side of each cut that are nearly one on its test side. A cut: the names of the records,
    one letter each, on the test side and on the train side; of the others nothing is known."""
    sketches = [sketch.tolist() for sketch in min_hashes(pl.Series(texts.values(), dtype=pl.String), RULES.duplicates)]
    prints = pl.DataFrame({"source_model": "m", "trajectory_id": [*texts], "minhash": sketches})
    tables = [sketch_tables(prints.gather_every(shards, start), RULES.duplicates) for start in range(shards)]
    of_record = pl.concat(table.of_record for table in tables)
    groups = shared_buckets(pl.concat(sketch_bands(table.distinct, RULES.duplicates) for table in tables).lazy())
    known = pl.concat(table.distinct for table in tables).unique("sketch").sort("sketch")
    known = known.join(groups, on="sketch", how="semi")
    tests = [[*test] for test, _ in cuts]
    sides = pl.concat(
        of_record.filter(pl.col("trajectory_id").is_in(test)).select("sketch", side=pl.lit(str(number)))
        for number, test in enumerate(tests)
    ).unique()
    some = near_sides(groups, known, sides.join(known, on="sketch", how="semi"), RULES.duplicates)
    reached = of_record.join(pl.concat([some, sides]).unique(), on="sketch").select("trajectory_id", "side").rows()
    return [
        "".join(name for name in sorted(train) if (name, str(number)) in reached)
        for number, (_, train) in enumerate(cuts)
    ]


def test_a_copy_and_a_copy_with_one_line_changed_are_near_and_another_text_is_not() -> None:
    changed = TEXT.replace("line h of the log", "line x of the diary")
    other = TEXT.replace("log", "ledger").replace("found", "lost").replace("store", "cellar")
    texts = {"a": TEXT, "b": TEXT, "c": changed, "d": other}
    assert [near(texts, ("a", "bcd"), shards=shards) for shards in (1, 2, 3)] == [["bc"]] * 3


def test_a_record_without_text_is_near_to_nothing() -> None:
    assert near({"a": TEXT}, ("a", "b"), ("b", "a"), ("", "a")) == ["", "", ""]


def runs(text: str, words: int) -> list[str]:
    return shingles(pl.Series([text]), words)[0].to_list()


def test_shingles_are_runs_of_words_of_a_line() -> None:
    assert runs("a b c d e\n\n  f \n", 2) == ["a b", "c d", "e", "f"]


def test_words_stand_between_whatever_python_takes_for_a_blank() -> None:
    every = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    for line in ("".join(every).replace("\n", ""), "".join(f"a{entry} b" for entry in every if entry.isspace())):
        for part in line.split("\n"):
            words = part.split()
            assert runs(part, 3) == [" ".join(words[at : at + 3]) for at in range(0, len(words), 3)]


def test_a_min_hash_is_the_one_that_datasketch_gives() -> None:
    texts = ["", " \n\t", "one", TEXT, f"{TEXT}\n{TEXT}", "\u00e9t\u00e9 \u4e2d\u6587  x\u2028y"]
    for text, hash_ in zip(texts, min_hashes(pl.Series(texts), RULES.duplicates), strict=True):
        sketch = MinHash(RULES.duplicates.permutations, seed=1, hashfunc=zlib.crc32, scheme="affine32")
        sketch.update_batch({entry.encode() for entry in runs(text, RULES.duplicates.words)})
        assert hash_.tolist() == sketch.hashvalues.tolist()


def rows(*those: tuple[str, bool]) -> pl.DataFrame:
    """A label row of each (task, is_anomalous)."""
    new_rows: list[dict[str, Any]] = [
        {
            "task": task,
            "is_anomalous": entry,
            "anomaly_type_l2": "weak_evidence_commitment" if entry else None,
            "count": 1,
        }
        for task, entry in those
    ]
    kinds = {"task": pl.String, "is_anomalous": pl.Boolean, "anomaly_type_l2": pl.String, "count": pl.Int64}
    return pl.DataFrame(new_rows, schema=kinds)


def test_the_memoriser_knows_the_tasks_that_it_saw_and_nothing_else() -> None:
    train = rows(("t1", True), ("t1", True), ("t2", False), ("t3", False), ("t3", True), ("t4", True))
    assert memoriser(train, rows(("t1", True), ("t2", False))) == {"f1": 1.0, "share_known": 1.0}
    # A tie and a task without a record are anomalous as most of train is: two of three that it says are none.
    assert memoriser(train, rows(("t1", True), ("t3", False), ("t9", False))) == {"f1": 0.5, "share_known": 0.666667}
    assert memoriser(train, rows()) == {"f1": None, "share_known": None}
    assert memoriser(rows(), rows(("t1", True))) == {"f1": 0.0, "share_known": 0.0}


def test_an_f1_that_is_not_defined_is_null_and_not_zero() -> None:
    train = rows(("t1", True), ("t2", False), ("t2", False))
    assert memoriser(train, rows(("t2", False))) == {"f1": None, "share_known": 1.0}
    assert memoriser(train, rows(("t1", False)))["f1"] == 0.0  # something was predicted
    assert memoriser(train, rows(("t2", True)))["f1"] == 0.0  # something was to be recalled


@pytest.mark.parametrize("anomalous", [True, False])
def test_the_card_says_of_a_test_side_without_an_anomaly_that_it_scores_nothing(anomalous: bool) -> None:
    text = leakage(
        {"paper_cut": certificate(LabelledSides(rows(("t2", False)), rows(("t2", anomalous)), rows()), 0, 0)}
    )
    assert ("The test side of `paper_cut` holds no anomalous record: it cannot score" in text) is not anomalous
    assert text.splitlines()[2].endswith("| 0.000 |" if anomalous else "| - |")


def test_rows_that_are_counted_together_certify_what_each_of_them_would() -> None:
    train = rows(("t1", True), ("t1", True), ("t1", False), ("t2", False), ("t2", False))
    test, pool = rows(("t1", True), ("t1", True), ("t2", True), ("t9", False)), rows(("t2", False), ("t2", False))

    def together(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by("task", "is_anomalous", "anomaly_type_l2").agg(pl.col("count").sum())

    labelled_sides, counted = LabelledSides(train, test, pool), LabelledSides(*map(together, (train, test, pool)))
    assert counted.train.height == 3 < labelled_sides.train.height
    assert certificate(labelled_sides, 2, 1) == certificate(counted, 2, 1)


def test_a_certificate_counts_what_stands_on_both_sides() -> None:
    train, test = rows(("t1", True), ("t2", False)), rows(("t1", True))
    actual_certificate = certificate(LabelledSides(train, test, rows(("t2", False))), 1, 2)
    assert (actual_certificate["pool_tasks_in_train"], actual_certificate["near_duplicates_of_pool"]) == (1, 2)
    assert (
        actual_certificate["shared_tasks"],
        actual_certificate["test_records_of_shared_tasks"],
        actual_certificate["near_duplicates"],
    ) == (1, 1, 1)
    assert actual_certificate["subtype_share"]["train"] == {"normal": 0.5, "weak_evidence_commitment": 0.5}


def test_cuts_are_looked_at_together_and_each_for_itself() -> None:
    known = {"a": TEXT, "b": TEXT, "c": TEXT.replace("line h of the log", "line x of the diary"), "d": "something else"}
    assert near(known, ("a", "bcd"), ("d", "abc"), ("cd", "a"), ("ab", "")) == ["bc", "", "a", ""]
