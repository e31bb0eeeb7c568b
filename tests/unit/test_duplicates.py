"""Near duplicates and leakage: what counts as nearly the same, and what a certificate says of a cut."""

from typing import Any

import pytest

from pipeline.release.card.card import leakage
from pipeline.release.duplicates import Sides, near, near_in_each
from pipeline.release.fingerprint import min_hash, shingles
from pipeline.release.leakage import certificate, memoriser
from pipeline.rules.release import ReleaseRules

RULES = ReleaseRules.load()
TEXT = "\n".join(
    f"line {word} of the log says that the {word} was found in the {word} store" for word in "abcdefghijklmnop"
)


def prints(**texts: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        ("m", name): {"text_sha256": text, "minhash": min_hash(text, RULES.duplicates)} for name, text in texts.items()
    }


def test_a_copy_and_a_copy_with_one_line_changed_are_near_and_another_text_is_not() -> None:
    changed = TEXT.replace("line h of the log", "line x of the diary")
    other = TEXT.replace("log", "ledger").replace("found", "lost").replace("store", "cellar")
    known = prints(test=TEXT, copy=TEXT, changed=changed, other=other)
    train = [("m", name) for name in ("copy", "changed", "other")]
    assert near([("m", "test")], train, known, RULES) == {("m", "copy"), ("m", "changed")}


def test_a_record_without_text_is_near_to_nothing() -> None:
    assert near([("m", "test")], [("m", "empty")], prints(test=TEXT), RULES) == set()
    assert near([], [("m", "test")], prints(test=TEXT), RULES) == set()


def test_shingles_are_runs_of_words_of_a_line() -> None:
    assert list(shingles("a b c d e\n\n  f \n", 2)) == [b"a b", b"c d", b"e", b"f"]


def row(name: str, task: str, anomalous: bool) -> dict[str, Any]:
    subtype = "weak_evidence_commitment" if anomalous else None
    key = {"source_model": "m", "trajectory_id": name}
    return {**key, "task_digest": task, "is_anomalous": anomalous, "anomaly_type_l2": subtype}


def test_the_memoriser_knows_the_tasks_that_it_saw_and_nothing_else() -> None:
    train = [
        row("1", "t1", True),
        row("2", "t1", True),
        row("3", "t2", False),
        row("4", "t3", False),
        row("5", "t3", True),
    ]
    seen = [row("6", "t1", True), row("7", "t2", False)]
    assert memoriser(train, seen) == {"f1": 1.0, "share_known": 1.0}
    assert memoriser(train, [row("8", "t9", False)])["share_known"] == 0.0
    assert memoriser(train, []) == {"f1": None, "share_known": None}


def test_an_f1_that_is_not_defined_is_null_and_not_zero() -> None:
    train = [row("1", "t1", True), row("2", "t2", False), row("3", "t2", False)]
    assert memoriser(train, [row("4", "t2", False)]) == {"f1": None, "share_known": 1.0}
    assert memoriser(train, [row("5", "t1", False)])["f1"] == 0.0  # something was predicted
    assert memoriser(train, [row("6", "t2", True)])["f1"] == 0.0  # something was to be recalled


@pytest.mark.parametrize("anomalous", [True, False])
def test_the_card_says_of_a_test_side_without_an_anomaly_that_it_scores_nothing(anomalous: bool) -> None:
    said = leakage({"paper_cut": certificate([row("1", "t2", False)], [row("2", "t2", anomalous)], 0)})
    assert ("The test side of `paper_cut` holds no anomalous record: it cannot score" in said) is not anomalous
    assert said.splitlines()[2].endswith("| 0.000 |" if anomalous else "| - |")


def test_a_certificate_counts_what_stands_on_both_sides() -> None:
    train, test = [row("1", "t1", True), row("2", "t2", False)], [row("3", "t1", True)]
    found = certificate(train, test, 1)
    assert (found["shared_tasks"], found["test_records_of_shared_tasks"], found["near_duplicates"]) == (1, 1, 1)
    assert found["subtype_share"]["train"] == {"normal": 0.5, "weak_evidence_commitment": 0.5}


def test_cuts_are_looked_at_together_and_each_for_itself() -> None:
    known = prints(a=TEXT, b=TEXT, c=TEXT.replace("line h of the log", "line x of the diary"), d="something else")
    a, b, c, d = (("m", name) for name in "abcd")
    cuts = [Sides([a], [b, c, d]), Sides([d], [a, b, c]), Sides([c, d], [a]), Sides([a, b], [])]
    assert near_in_each(cuts, known, RULES) == [{b, c}, set(), {a}, set()]
