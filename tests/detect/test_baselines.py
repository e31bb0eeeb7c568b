"""Baselines: each on a made release, where it is known what it must say; what they are fitted to; nothing else."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_release import made_release, session, verdict
from rules_judge_builders import call, evidence, failed, reply

from openclawbench.detect.baselines import BASELINES, features, run_baseline
from openclawbench.detect.labels import LabelSelection, LabelSet
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.errors import UsageError
from openclawbench.fulltax.annotation.quote_grounding import is_grounded
from openclawbench.records.detection.prediction import Prediction
from openclawbench.records.fulltax import EvidenceQuote

RULES = DetectRules.load()
GAP, WEAK = LABELS[1], LABELS[3]
TEST = LabelSelection()


def predict(
    name: str, root: Path, choice: LabelSelection = TEST, fit: str | None = None
) -> tuple[LabelSet, list[Prediction], Any]:
    return run_baseline(name, root, choice, RULES, fit)


def by_id(rows: list[Prediction]) -> dict[str, Prediction]:
    return {row.trajectory_id: row for row in rows}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """40 train, of which 10 are weak evidence and 4 a capability gap; 20 test. Words tell the labels apart."""
    sessions = []
    for number in range(60):
        side = "train" if number < 40 else "test"
        label = WEAK if number % 4 == 0 else GAP if number % 10 == 1 else NORMAL
        words = {WEAK: "guess perhaps", GAP: "no tool here", NORMAL: "look at it"}[label]
        sessions.append(session(number, label, side=side, words=f"{words} number{number}", task=f"own{number}"))
    return made_release(tmp_path / "release", sessions)


def test_majority_says_the_most_frequent_label_with_the_shares(release: Path) -> None:
    labels, rows, provenance = predict("majority", release)
    assert len(rows) == len(labels.items) == 20
    assert {row.label for row in rows} == {NORMAL}
    train = Counter(WEAK if n % 4 == 0 else GAP if n % 10 == 1 else NORMAL for n in range(40))
    for row in rows:
        assert row.probabilities is not None
        shares = row.probabilities.model_dump()
        assert shares == {label: pytest.approx(train[label] / 40) for label in LABELS}
    side = {"pool": "accepted", "cut": "default", "side": "train"}
    assert provenance["trained_on"] == side | {"rows": 40, "anomalous": train[WEAK] + train[GAP]}


def test_prior_draws_by_the_shares_and_the_same_each_time(tmp_path: Path) -> None:
    sessions = [session(n, WEAK if n % 4 == 0 else NORMAL, side="train") for n in range(40)]
    sessions += [session(n, side="test") for n in range(1000, 2000)]
    root = made_release(tmp_path / "release", sessions)
    _, rows, provenance = predict("prior", root)
    drawn = Counter(row.label for row in rows)
    assert set(drawn) == {NORMAL, WEAK} and 200 < drawn[WEAK] < 300
    assert predict("prior", root)[1] == rows
    assert provenance["parameters"] == {"seed": RULES.baseline.seed}


def test_the_memoriser_knows_tasks_and_nothing_else(tmp_path: Path) -> None:
    train = [session(n, WEAK, side="train", task="known", model=f"m{n}") for n in range(3)]
    train += [session(n, NORMAL, side="train", task=f"other{n}") for n in range(10, 20)]
    train += [session(30, GAP, side="train", task="other30")]
    test = [session(40, NORMAL, task="known", words="anything"), session(41, WEAK, task="unknown")]
    no_task = session(42, WEAK)
    no_task["task_id"] = None
    _, rows, _ = predict("memoriser", made_release(tmp_path / "release", [*train, *test, no_task]))
    predictions = by_id(rows)
    assert predictions["t00040"].label == WEAK  # the label of the task, not of the trajectory
    assert predictions["t00041"].label == predictions["t00042"].label == NORMAL
    assert predictions["t00041"].probabilities == predictions["t00042"].probabilities


def test_a_bag_of_words_learns_words(release: Path) -> None:
    labels, rows, provenance = predict("bow", release)
    assert {row.label for row in rows} == {NORMAL, WEAK, GAP}
    truth = {item.key: item.label for item in labels.items}
    assert all(row.label == truth[row.source_model, row.trajectory_id] for row in rows)
    for row in rows:
        assert row.probabilities is not None
        assert sum(row.probabilities.model_dump().values()) == pytest.approx(1, abs=1e-5)
    assert predict("bow", release)[1] == rows
    assert provenance["parameters"]["words_at_least"] == RULES.baseline.words_at_least


def test_descriptors_learn_flags_and_read_no_text(tmp_path: Path) -> None:
    sessions = []
    for number in range(160):
        label = WEAK if number % 2 else NORMAL
        new_session = session(
            number, label, side="train" if number < 120 else "test", words=f"word{number}", task=f"o{number}"
        )
        new_session["steps"][0]["auto_flags"] = ["hedge"] if label == WEAK else []
        sessions.append(new_session)
    labels, rows, _ = predict("descriptors", made_release(tmp_path / "release", sessions))
    truth = {item.key: item.label for item in labels.items}
    assert all(row.label == truth[row.source_model, row.trajectory_id] for row in rows)
    counted = features(sessions[1])
    assert counted["flag=hedge"] == 1 and counted["steps"] == 2 and counted["event_type=read"] == 2
    assert not any("word" in name for name in counted)


def test_the_rules_judge_labels_from_evidence_and_needs_no_train_side(tmp_path: Path) -> None:
    """A quiet session, and a deployment that failed and is told as done."""
    deployed = evidence(
        call("read", "cat deploy.sh"),
        failed("code_execution", "./deploy.sh", "Error: no route to host"),
        reply("The site has been deployed."),
    )
    told_so = session(2, NORMAL) | deployed.model_dump(exclude={"source_model", "trajectory_id"})
    _, rows, provenance = predict("screen", made_release(tmp_path / "release", [session(1, WEAK), told_so]))
    predictions = by_id(rows)
    assert (predictions["t00001"].label, predictions["t00001"].parse) == (NORMAL, "ok")
    ignored = predictions["t00002"]
    assert (ignored.label, ignored.onset) == ("error_ignored_escalation", 2)
    assert ignored.span is not None and ignored.span.model_dump() == {"start_step": 2, "end_step": 3}
    assert provenance["trained_on"] is None and provenance["model"].startswith("rules-")
    flags = json.loads(ignored.answer or "")
    assert (flags[0]["subtype"], flags[0]["step"]) == ("error_ignored_escalation", 2)
    proof = [
        EvidenceQuote(step_id=cited["step"], field=cited["field"], quote=cited["text"])
        for flag in flags
        for cited in flag["proof"]
    ]
    assert len(proof) >= 2
    assert all(is_grounded(deployed, quote) for quote in proof)
    assert json.loads(predictions["t00001"].answer or "") == []


def test_the_former_name_of_the_screen_says_the_new_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="baseline rules: is called screen now"):
        predict("rules", made_release(tmp_path / "release", [session(1, WEAK)]))


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_a_held_out_model_is_never_fitted_to(name: str, tmp_path: Path) -> None:
    """m1 alone has gaps: with m1 held out nothing that is fitted can say gap, and with it among the others it can."""
    sessions = []
    for number in range(90):
        model = f"m{number % 3 + 1}"
        label = GAP if model == "m1" and number % 2 else WEAK if number % 5 == 0 else NORMAL
        words = {GAP: "no tool", WEAK: "guess", NORMAL: "look"}[label]
        side = "train" if number % 4 else "test"
        sessions.append(session(number, label, side=side, model=model, words=words, task=f"o{number}"))
    root = made_release(tmp_path / "release", sessions)
    labels, rows, provenance = predict(name, root, LabelSelection(cut="hold-one-out"))
    assert len(rows) == 90 == len(labels.items)
    for row in rows:
        if row.source_model == "m1":
            assert row.label != GAP
    if name == "bow":
        assert provenance["trained_on"]["rows"] == 180  # each trajectory in two of three folds
        entry = predict(name, root, LabelSelection(cut="m2"))[1]
        assert entry == [row for row in rows if row.source_model == "m2"]


def test_the_calibration_pool_is_never_fitted_to(tmp_path: Path) -> None:
    sessions = [session(n, WEAK, side="train", in_calibration_pool=True) for n in range(20)]
    sessions += [session(n, NORMAL, side="train") for n in range(30, 40)] + [session(50)]
    _, rows, provenance = predict("majority", made_release(tmp_path / "release", sessions))
    assert rows[0].label == NORMAL and provenance["trained_on"]["rows"] == 10


def test_trajectories_without_steps_are_left_out_and_counted(tmp_path: Path) -> None:
    sessions = [session(1, side="train"), session(50), session(51, scoreable=False)]
    labels, rows, _ = predict("majority", made_release(tmp_path / "release", sessions))
    assert len(rows) == 1 and labels.left_out == {"not_scoreable": 1}


def test_the_human_pool_is_predicted_by_what_is_fitted_elsewhere_and_not_to_its_tasks(tmp_path: Path) -> None:
    reviewed = [session(n, NORMAL, task=f"t{n}") for n in range(4)]
    train = [session(n, WEAK, side="train", task=f"t{n % 4}") for n in range(100, 112)]
    train += [session(n, GAP, side="train", task=f"free{n}") for n in range(200, 208)]
    verdicts = [verdict(reviewed[0], WEAK), verdict(reviewed[1], NORMAL), verdict(reviewed[2], None)]
    root = made_release(tmp_path / "release", [*reviewed, *train], human=verdicts)
    with pytest.raises(UsageError, match="--fit POOL"):
        predict("majority", root, LabelSelection("human"))
    labels, rows, provenance = predict("majority", root, LabelSelection("human"), "accepted")
    assert [item.label for item in labels.items] == [WEAK, NORMAL] and labels.left_out == {"no_settled_verdict": 1}
    assert labels.judges == ["human"] and labels.choice.side == "all"
    assert {row.label for row in rows} == {GAP}
    assert provenance["trained_on"]["rows"] == 14  # of tasks t2 and t3, without a settled verdict, and free
    assert predict("screen", root, LabelSelection("human"))[1]


def test_both_high_is_a_pool_with_sides(tmp_path: Path) -> None:
    sessions = [session(n, WEAK if n % 2 else NORMAL, side="train" if n < 10 else "test") for n in range(20)]
    both = ["t00001", "t00003", "t00004", "t00011", "t00012"]
    root = made_release(tmp_path / "release", sessions, both=both)
    labels, _, provenance = predict("majority", root, LabelSelection("both-high"))
    assert [item.key[1] for item in labels.items] == ["t00012", "t00011"]
    assert provenance["trained_on"]["rows"] == 3 and provenance["pool"] == "both-high"


def test_a_side_with_a_single_label_gives_that_label(tmp_path: Path) -> None:
    sessions = [session(n, side="train") for n in range(5)] + [session(9, WEAK)]
    root = made_release(tmp_path / "release", sessions)
    for name in ("bow", "descriptors"):
        (row,) = predict(name, root)[1]
        assert row.label == NORMAL


def test_a_train_side_too_small_for_words_says_what_to_do(tmp_path: Path) -> None:
    sessions = [session(1, side="train", words="a"), session(2, WEAK, side="train", words="b"), session(9)]
    for recording in sessions:
        recording["steps"], recording["user_turns"] = (
            [{**step, "reflection_text": None, "action_text": "x"} for step in recording["steps"]],
            [],
        )
    root = made_release(tmp_path / "release", sessions)
    rules = RULES.model_copy(update={"baseline": RULES.baseline.model_copy(update={"words_at_least": 5})})
    with pytest.raises(UsageError, match="Take another pool or baseline"):
        run_baseline("bow", root, TEST, rules)


def test_an_empty_side_and_an_unknown_baseline_say_what_there_is(tmp_path: Path) -> None:
    baseline = session(1, quality_tier="baseline_accepted", label_status="baseline")
    root = made_release(tmp_path / "release", [baseline], judge="rules")
    with pytest.raises(UsageError, match="--pool baseline takes them"):
        predict("majority", root)
    with pytest.raises(UsageError, match="train side of the default cut holds no trajectory"):
        predict("majority", root, LabelSelection("baseline"))
    with pytest.raises(UsageError, match="Use one of: majority"):
        predict("best", root)
    assert predict("screen", root, LabelSelection("baseline"))[0].is_baseline
