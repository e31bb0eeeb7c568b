"""Scores: the paper's T43, scikit-learn's numbers, both conventions for unreadable answers, and nothing made up."""

import random
from typing import Any

import numpy as np
import pytest
from made import T43, item, label_set, of_matrix, predictions_file
from sklearn import metrics

from openclawbench.detect.predictions import prediction, probabilities_of
from openclawbench.detect.score.card import NO_ANOMALY, card_identities, compare_detectors, length_group, score_card
from openclawbench.detect.score.corrected import corrected_scores
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.release.statistics.consistency import contradictions

RULES = DetectRules.load()
FAST = RULES.model_copy(update={"score": RULES.score.model_copy(update={"draws": 200, "posterior_draws": 1000})})


def card(items: list[Any], rows: list[Any], **more: Any) -> dict[str, Any]:
    return score_card(label_set(items), predictions_file(rows), {}, FAST, **more)


def values(card: dict[str, Any], convention: str = "wrong") -> dict[str, float | None]:
    return {name: measure["value"] for name, measure in card["conventions"][convention]["measures"].items()}


def made_up(number: int, seed: int, unreadable: float = 0.0) -> tuple[list[Any], list[Any]]:
    chance = random.Random(seed)
    items = [item(place, chance.choice(LABELS)) for place in range(number)]
    rows = []
    for labelled in items:
        weights = [chance.random() + (name == labelled.label) for name in LABELS]
        shares = probabilities_of([weight / sum(weights) for weight in weights])
        if chance.random() < unreadable:
            rows.append(prediction(labelled.key, parse="failed", failure="?"))
        else:
            label = LABELS[max(range(6), key=lambda place: weights[place])]
            rows.append(prediction(labelled.key, label=label, probabilities=shares))
    return items, rows


def test_t43_gives_the_metrics_of_t43_and_not_those_of_t2() -> None:
    labels, file = of_matrix(T43)
    actual_score_card = score_card(labels, file, {}, FAST)
    measured = values(actual_score_card)
    assert actual_score_card["trajectories"] == 2646 and actual_score_card["anomalous"] == 391
    headline = actual_score_card["conventions"]["wrong"]
    assert [headline[name] for name in ("tp", "fp", "fn", "tn")] == [318, 164, 73, 2091]
    assert round(measured["precision"] or 0, 3) == 0.660
    assert round(measured["recall"] or 0, 3) == 0.813  # T2 prints 0.820
    assert round(measured["f1"] or 0, 3) == 0.729
    assert round(measured["macro_f1"] or 0, 3) == 0.403  # T2 prints 0.408
    assert round(measured["predicted_share"] or 0, 3) == 0.182  # T2 prints 17.7 %
    assert [row[:6] for row in actual_score_card["confusion"]] == T43
    assert actual_score_card["support"] == dict(zip(LABELS, [2255, 202, 134, 33, 12, 10], strict=True))
    assert actual_score_card["contradictions"] == []


@pytest.mark.parametrize("seed", range(3))
def test_measures_are_those_of_scikit_learn(seed: int) -> None:
    items, rows = made_up(300, seed)
    actual_card = card(items, rows)
    truth, labels = [labelled.label for labelled in items], [row.label for row in rows]
    flags = [label != NORMAL for label in truth], [label != NORMAL for label in labels]
    measured = values(actual_card)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(*flags, average="binary")
    assert np.allclose([measured[name] for name in ("precision", "recall", "f1")], [precision, recall, f1], atol=1e-6)
    macro = metrics.f1_score(truth, labels, average="macro", labels=list(LABELS))
    assert measured["macro_f1"] == pytest.approx(macro, abs=1e-6)
    by_label = metrics.f1_score(truth, labels, average=None, labels=list(LABELS))
    assert [measured[f"f1_{name}"] for name in LABELS] == pytest.approx(list(by_label), abs=1e-6)
    assert measured["accuracy"] == pytest.approx(metrics.accuracy_score(*flags), abs=1e-6)
    matrix = metrics.confusion_matrix(truth, labels, labels=list(LABELS))
    assert np.array_equal(np.array(actual_card["confusion"])[:, :6], matrix)
    rated = actual_card["probabilities"]
    scores = [1 - row.probabilities.normal for row in rows]
    assert rated["brier"]["value"] == pytest.approx(metrics.brier_score_loss(flags[0], scores), abs=1e-6)
    assert rated["roc_auc"] == pytest.approx(metrics.roc_auc_score(flags[0], scores), abs=1e-6)
    at = rated["at_threshold"]
    assert at["f1"] == pytest.approx(metrics.f1_score(flags[0], [score >= 0.5 for score in scores]), abs=1e-6)
    assert sum(row["trajectories"] for row in rated["calibration_bins"]) == 300


@pytest.mark.parametrize("predicted", [LABELS[1], LABELS[4]])
def test_macro_f1_is_over_all_six_labels_also_those_that_nobody_has(predicted: str) -> None:
    """The test side has two of them; a detector that names a third does no better for it."""
    items = [item(number, LABELS[number % 2]) for number in range(10)]
    rows = [prediction(labelled.key, label=predicted if labelled.label != NORMAL else NORMAL) for labelled in items]
    truth, labels = [labelled.label for labelled in items], [row.label for row in rows]
    macro = metrics.f1_score(truth, labels, average="macro", labels=list(LABELS), zero_division=0)
    measured = values(card(items, rows))
    assert measured["macro_f1"] == pytest.approx(macro, abs=1e-6)
    assert measured["macro_f1"] == pytest.approx((2 if predicted == LABELS[1] else 1) / 6, abs=1e-6)
    assert measured[f"f1_{LABELS[4]}"] is None


def test_an_answer_that_cannot_be_read_is_scored_both_ways() -> None:
    items = [item(0, NORMAL), item(1, NORMAL), item(2, LABELS[1]), item(3, LABELS[1])]
    rows = [
        prediction(items[0].key, label=NORMAL),
        prediction(items[1].key, parse="failed", failure="?"),
        prediction(items[2].key, label=LABELS[1]),
        prediction(items[3].key, parse="failed", failure="?"),
    ]
    actual_card = card(items, rows)
    wrong, left_out = actual_card["conventions"]["wrong"], actual_card["conventions"]["left_out"]
    assert [wrong[name] for name in ("tp", "fp", "fn", "tn")] == [1, 1, 1, 1]
    assert [left_out[name] for name in ("tp", "fp", "fn", "tn")] == [1, 0, 0, 1]
    assert values(actual_card)["f1"] == 0.5 and values(actual_card, "left_out")["f1"] == 1.0
    assert values(actual_card)["f1_normal"] == pytest.approx(2 / 3, abs=1e-6)
    assert actual_card["unreadable"] == 2 and actual_card["compared"]["parse"]["failed"] == 2


def test_a_side_without_an_anomaly_has_no_f1() -> None:
    items = [item(number) for number in range(6)]
    actual_card = card(items, [prediction(labelled.key, label=NORMAL) for labelled in items])
    measured = values(actual_card)
    assert [measured[name] for name in ("precision", "recall", "f1", "macro_f1")] == [None] * 4
    assert measured["false_alarm_rate"] == 0.0 and measured["true_negative_rate"] == 1.0
    assert actual_card["remarks"] == [NO_ANOMALY]
    flagged = values(card(items, [prediction(labelled.key, label=LABELS[1]) for labelled in items]))
    assert flagged["precision"] == 0.0 and flagged["f1"] is None and flagged["false_alarm_rate"] == 1.0


def test_nothing_comparable_gives_nothing() -> None:
    actual_card = card([item(1)], [prediction(("other", "t"), label=NORMAL)])
    assert actual_card["trajectories"] == 0 and actual_card["remarks"] == ["nothing is comparable"]
    assert set(values(actual_card).values()) == {None}
    assert actual_card["compared"]["not_compared"] == {"other_key": 1, "missing": 1}


def test_only_what_is_comparable_is_scored_and_the_rest_is_named() -> None:
    items = [item(number, task=f"x{number}") for number in range(10)]
    rows = [prediction(labelled.key, label=NORMAL, trajectory_sha256="a") for labelled in items[:6]]
    rows += [prediction(("zz", "t"), label=NORMAL)]
    digests = {labelled.key: "b" if number < 2 else "a" for number, labelled in enumerate(items)}
    actual_score_card = score_card(label_set(items), predictions_file(rows), digests, FAST)
    assert actual_score_card["compared"]["not_compared"] == {"other_trajectory": 2, "other_key": 1, "missing": 4}
    assert actual_score_card["compared"]["named"]["other_key"] == ["zz/t"]
    assert actual_score_card["trajectories"] == 4 and actual_score_card["compared"]["coverage"] == 0.4


def test_an_interval_over_tasks_is_wider_than_one_over_trajectories() -> None:
    chance = random.Random(3)
    truth = [chance.random() < 0.5 for _ in range(60)]
    right = [chance.random() < 0.7 for _ in range(60)]
    six = [(task, copy) for task in range(60) for copy in range(6)]

    def width(task_of: Any) -> float:
        items = [
            item(6 * task + copy, LABELS[1] if truth[task] else NORMAL, task=task_of(task, copy)) for task, copy in six
        ]
        rows = [
            prediction(labelled.key, label=LABELS[1] if truth[task] == right[task] else NORMAL)
            for labelled, (task, _) in zip(items, six, strict=True)
        ]
        interval = card(items, rows)["conventions"]["wrong"]["measures"]["f1"]
        assert interval["low"] <= interval["value"] <= interval["high"]
        return float(interval["high"] - interval["low"])

    assert width(lambda task, copy: f"{task}") > 1.8 * width(lambda task, copy: f"{task}-{copy}")


def test_one_task_has_no_interval() -> None:
    items = [item(number, LABELS[number % 2], task="one") for number in range(4)]
    actual_card = card(items, [prediction(labelled.key, label=labelled.label) for labelled in items])
    assert actual_card["conventions"]["wrong"]["measures"]["f1"] == {"value": 1.0, "low": None, "high": None}


def test_onset_and_span_are_scored_over_all_anomalies_and_over_those_found() -> None:
    items = [
        item(0, LABELS[1], onset=3, span=frozenset({3, 4, 5})),
        item(1, LABELS[1], onset=3, span=frozenset({3, 4})),
        item(2, LABELS[1], onset=9, span=frozenset({9})),
        item(3, LABELS[1], onset=2, span=frozenset({2})),
        item(4, NORMAL),
    ]
    rows = [
        prediction(items[0].key, label=LABELS[2], onset=3, span={"start_step": 4, "end_step": 6}),
        prediction(items[1].key, label=LABELS[1], onset=4, span={"start_step": 3, "end_step": 4}),
        prediction(items[2].key, label=LABELS[1]),
        prediction(items[3].key, label=NORMAL, onset=2, span={"start_step": 2, "end_step": 2}),
        prediction(items[4].key, label=LABELS[1], onset=1, span={"start_step": 1, "end_step": 10**15}),
    ]
    location = card(items, rows)["location"]
    every, caught = location["onset"]["of_all"], location["onset"]["of_found"]
    assert (every["exact"]["value"], every["within_one"]["value"]) == (0.25, 0.5)
    assert caught["trajectories"] == 3 and caught["with_onset"] == 2
    assert caught["exact"]["value"] == pytest.approx(1 / 3, abs=1e-6)
    assert caught["mean_distance"]["value"] == 0.5
    assert location["span"]["of_all"]["mean_iou"]["value"] == pytest.approx((2 / 4 + 1) / 4, abs=1e-6)
    assert location["span"]["of_found"]["mean_iou"]["value"] == pytest.approx(1.5 / 3, abs=1e-6)


def test_a_detector_without_locations_has_no_location_scores() -> None:
    items, rows = made_up(20, 1)
    assert card(items, rows)["location"] is None


@pytest.mark.parametrize(
    ("steps", "group"), [(0, "up to 5 steps"), (5, "up to 5 steps"), (6, "6 to 20 steps"), (21, "more than 20 steps")]
)
def test_lengths_are_grouped(steps: int, group: str) -> None:
    assert length_group(steps, [5, 20]) == group


def test_groups_sum_to_the_whole_and_no_number_contradicts_another() -> None:
    items, rows = made_up(200, 5, unreadable=0.1)
    actual_card = card(items, rows)
    for rows_of_group in actual_card["by"].values():
        assert sum(row["trajectories"] for row in rows_of_group) == 200
    assert actual_card["contradictions"] == []
    actual_card["by"]["slice"][0]["tp"] += 1
    assert len(contradictions(card_identities(actual_card))) == 1


def test_detectors_are_compared_on_the_trajectories_of_both() -> None:
    items, _ = made_up(100, 2)
    right = [prediction(labelled.key, label=labelled.label) for labelled in items[:80]]
    wrong = [prediction(labelled.key, label=NORMAL if labelled.is_anomalous else LABELS[1]) for labelled in items[:9]]
    other = wrong + [prediction(labelled.key, label=labelled.label) for labelled in items[9:]]
    (test,) = compare_detectors(label_set(items), [predictions_file(right, "right"), predictions_file(other)], {})
    assert (test["pairs"], test["only_first"], test["only_second"]) == (80, 9, 0)
    assert test["p_value"] == pytest.approx(2 * 0.5**9) and test["first"] == "right"


def test_scores_are_corrected_by_what_people_say() -> None:
    """Silver calls 100 normal ones anomalous that people call normal; the detector does not fall for them."""
    items, rows, human, silver = [], [], {}, {}
    for number in range(1200):
        really, silver_says = number < 200, number < 300
        labelled = item(number, LABELS[1] if silver_says else NORMAL)
        items.append(labelled)
        rows.append(prediction(labelled.key, label=LABELS[1] if really else NORMAL))
    for number in range(5000, 5600):  # under review, in the same shares, predicted too
        really, silver_says = number % 6 == 0, number % 4 == 0 or number % 6 == 0
        labelled = item(number, LABELS[1] if silver_says else NORMAL)
        silver[labelled.key] = labelled
        human[labelled.key] = item(number, LABELS[1] if really else NORMAL)
        rows.append(prediction(labelled.key, label=LABELS[1] if really else NORMAL))
    actual_card = card(items, rows, human=human, silver=silver)
    assert values(actual_card)["recall"] == pytest.approx(2 / 3, abs=1e-6)
    corrected = actual_card["corrected"]["measures"]
    assert corrected["recall"]["value"] == 1.0 and corrected["precision"]["value"] == 1.0
    assert corrected["recall"]["low"] > 0.85
    assert actual_card["corrected"]["base_rate"]["value"] == pytest.approx(1 / 6, abs=1e-6)
    assert actual_card["corrected"]["verdicts"] == 600 and actual_card["corrected"]["borrowed"] == []
    assert values(actual_card["human"])["f1"] == 1.0 and actual_card["human"]["verdicts"] == 600


@pytest.mark.parametrize(("failing", "prior"), [(0, 0.0), (44, 0.44), (50, 0.5), (51, 0.51), (100, 1.0)])
def test_a_corrected_score_says_how_much_of_it_is_prior(failing: int, prior: float) -> None:
    """The pool holds passing trajectories alone: of the strata of the others nobody has a verdict."""
    slices = ["fail_high_risk" if number < failing else "pass_low_risk" for number in range(100)]
    items = [item(number, NORMAL, slice_label=name) for number, name in enumerate(slices)]
    reviewed = {entry.key: entry for entry in (item(number, slice_label="pass_low_risk") for number in range(500, 520))}
    rows = [prediction(key, label=NORMAL) for key in [*(entry.key for entry in items), *reviewed]]
    corrected = card(items, rows, human=reviewed, silver=reviewed)["corrected"]
    assert corrected["prior"]["share"] == prior and corrected["prior"]["trajectories"] == failing
    assert corrected["prior"]["strata"] == (["fail_high_risk, silver normal, predicted normal"] if failing else [])
    if prior > 0.5:
        assert corrected["measures"] == {} and corrected["base_rate"] is None
    else:
        assert corrected["measures"]["accuracy"]["value"] == pytest.approx(1 - prior / 2, abs=0.03)


def test_the_corrected_interval_covers_the_truth() -> None:
    """In simulation: silver errs at random in two slices, the detector errs otherwise; 95 % intervals of F1."""
    covered = 0
    for seed in range(40):
        chance = random.Random(seed)
        items, rows, human, silver, truth = [], [], {}, {}, []
        for number in range(900):
            slice_label = chance.choice(["pass_low_risk", "pass_high_risk"])
            really = chance.random() < (0.5 if slice_label == "pass_high_risk" else 0.1)
            silver_says = really if chance.random() < 0.9 else not really
            detected = really if chance.random() < 0.8 else not really
            labelled = item(number, LABELS[1] if silver_says else NORMAL, f"x{number}", slice_label=slice_label)
            rows.append(prediction(labelled.key, label=LABELS[1] if detected else NORMAL))
            if number < 300:
                silver[labelled.key] = labelled
                human[labelled.key] = item(number, LABELS[1] if really else NORMAL, slice_label=slice_label)
            else:
                items.append(labelled)
                truth.append((really, detected))
        pairs = [type("P", (), {"item": entry, "row": row})() for entry, row in zip(items, rows[300:], strict=True)]
        corrected = corrected_scores(pairs, silver, human, predictions_file(rows), FAST.score)
        assert corrected is not None
        f1 = metrics.f1_score([really for really, _ in truth], [detected for _, detected in truth])
        interval = corrected["measures"]["f1"]
        covered += interval["low"] <= f1 <= interval["high"]
    assert covered >= 36


def test_without_a_verdict_on_a_predicted_trajectory_nothing_is_corrected() -> None:
    items, rows = made_up(50, 4)
    assert card(items, rows, human={}, silver={})["corrected"] is None
    other = item(999)
    actual_card = card(items, rows, human={other.key: other}, silver={other.key: other})
    assert actual_card["corrected"] is None and actual_card["human"] is None


def test_the_same_files_give_the_same_card() -> None:
    items, rows = made_up(60, 9, unreadable=0.1)
    assert card(items, rows) == card(list(reversed(items)), list(reversed(rows)))


def test_an_answer_that_cannot_be_read_is_wrong_whatever_people_say() -> None:
    """Silver calls everything anomalous and people nothing: every unreadable answer is a false alarm, none a hit."""
    items = [item(number, LABELS[1], f"x{number}") for number in range(40)]
    rows = [prediction(labelled.key, parse="failed", failure="?") for labelled in items[:20]]
    rows += [prediction(labelled.key, label=NORMAL) for labelled in items[20:]]
    human = {labelled.key: item(number, NORMAL, f"x{number}") for number, labelled in enumerate(items)}
    actual_card = card(items, rows, human=human, silver={labelled.key: labelled for labelled in items})
    measured = actual_card["corrected"]["measures"]
    assert measured["false_alarm_rate"]["value"] == 0.5 and measured["true_negative_rate"]["value"] == 0.5
    assert [row["stratum"].rpartition(" ")[2] for row in actual_card["corrected"]["strata"]] == ["normal", "nothing"]


def test_a_verdict_on_another_trajectory_than_was_read_corrects_nothing() -> None:
    items = [item(number, LABELS[1], f"x{number}") for number in range(10)]
    rows = [prediction(labelled.key, label=NORMAL, trajectory_sha256="a") for labelled in items]
    reviewed = {items[0].key: items[0], items[1].key: items[1]}
    digests = {labelled.key: "b" if labelled is items[0] else "a" for labelled in items}
    actual_score_card = score_card(
        label_set(items), predictions_file(rows), digests, FAST, human=reviewed, silver=reviewed
    )
    assert actual_score_card["corrected"]["verdicts"] == 1 and actual_score_card["human"]["compared"] == 1


def test_a_step_named_on_a_normal_trajectory_is_no_location() -> None:
    items = [item(0, LABELS[1], onset=1, span=frozenset({1})), item(1, NORMAL)]
    rows = [prediction(items[0].key, label=LABELS[1]), prediction(items[1].key, label=NORMAL, onset=1)]
    assert card(items, rows)["location"] is None
