"""Baselines: what a detector must beat. Each is fitted to a train side and predicts a test side.

majority: the most frequent label of the train side. prior: a label drawn by the shares of the train side. memoriser:
the most frequent label of the task, where the train side knows it; what it gains over majority is what a cut leaks.
bow: bag of words of the detector's packet, logistic regression. descriptors: counts of event categories, flags and
statuses, gradient boosting. screen: rules over the steps; for each
flag the step and the text that it rests on.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_json
from openclawbench.detect.labels import (
    LabelledTrajectory,
    LabelSelection,
    LabelSet,
    provenance_base,
    read_labels,
    read_packets,
    released_records,
    require_items,
    reviewed_beside,
)
from openclawbench.detect.packet import trajectory_digest
from openclawbench.detect.pools import EACH_HELD_OUT, HUMAN_POOL
from openclawbench.detect.predictions import best_label, prediction, probabilities_of
from openclawbench.detect.settings import LABELS, NORMAL, BaselineRules, DetectRules
from openclawbench.errors import UsageError
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import find_triggers
from openclawbench.records.detection.prediction import Prediction
from openclawbench.records.fulltax import StageB2
from openclawbench.records.packet import Evidence
from openclawbench.release.record_key import Key, key_of

PLACES = 6  # of probabilities: the same on every machine
SCREEN = "screen"
NOTHING_FOUND = "no_anomaly_evidence"
REVIEW = "the screen cannot tell"
RENAMED = {"rules": "screen"}  # former name -> name
ANOMALOUS_SPAN = "anomalous"
Answers = dict[Key, dict[str, Any]]  # fields of Prediction
Predict = Callable[[Path, Sequence[LabelledTrajectory], Sequence[LabelledTrajectory], BaselineRules], Answers]


def run_baseline(
    name: str, root: Path, choice: LabelSelection, rules: DetectRules, fit: str | None = None
) -> tuple[LabelSet, list[Prediction], dict[str, Any]]:
    """The labels, the predictions of a baseline for them, and their provenance. The baseline is fitted to the train
    side of the same cut, of the pool `fit` or else of the same pool; of hold-one-out to each model's own train side in
    turn.

    Raises UsageError for a baseline that does not exist, and for sides without a trajectory.
    """
    if name in RENAMED:
        raise UsageError(f"baseline {name}: is called {RENAMED[name]} now.")
    if name not in BASELINES:
        raise UsageError(f"baseline {name}: there is no such baseline. Use one of: {', '.join(BASELINES)}.")
    labels = read_labels(root, choice)
    require_items(labels)
    answers: Answers = {}
    trained: list[LabelSet] = []
    for train, test in folds(root, labels, fit) if name in FITTED else [(None, labels.items + reviewed_beside(labels))]:
        trained += [train] if train is not None else []
        answers |= BASELINES[name](root, train.items if train is not None else [], test, rules.baseline)
    digests = {key_of(row): trajectory_digest(row) for row in released_records(root, set(answers))}
    predicted = [prediction(key, **fields, trajectory_sha256=digests[key]) for key, fields in answers.items()]
    provenance = provenance_base(labels, rules) | {
        "detector": name,
        "kind": "baseline",
        "model": RulesJudge().model if name == SCREEN else None,
        "parameters": parameters(name, rules.baseline),
        "trained_on": trained_on(trained, choice),
    }
    return labels, predicted, provenance


def folds(root: Path, labels: LabelSet, fit: str | None = None) -> Iterator[tuple[LabelSet, list[LabelledTrajectory]]]:
    """Train side and test items: one pair, or one for each model that is held out in turn. Trajectories that people
    have reviewed are tested too, but for those fitted to. The human pool has no train side: `fit` names another pool,
    whose trajectories of tasks that are tested are left out."""
    choice = labels.choice
    pool = fit or choice.pool
    if choice.cut == EACH_HELD_OUT:
        for model in labels.source_models:
            train = read_labels(root, LabelSelection(pool, model, "train"))
            predicted = labels.items + reviewed_beside(labels, train)
            yield check_trainable(train), [item for item in predicted if item.key[0] == model]
        return
    if pool == HUMAN_POOL:
        raise UsageError("--pool human: has no train side. Fit to another pool with --fit POOL.")
    train = read_labels(root, LabelSelection(pool, choice.cut, "train"))
    if choice.pool == HUMAN_POOL:
        tested = {item.task for item in labels.items}
        kept = [item for item in train.items if item.task not in tested]
        train = replace(train, items=kept, left_out=train.left_out | {"task_tested": len(train.items) - len(kept)})
    yield check_trainable(train), labels.items + reviewed_beside(labels, train)


def check_trainable(train: LabelSet) -> LabelSet:
    """The same. Raises UsageError if there is nothing to fit to."""
    require_items(train)
    return train


def trained_on(trained: Sequence[LabelSet], choice: LabelSelection) -> dict[str, Any] | None:
    """The training data of a provenance file; of several folds their sums."""
    if not trained:
        return None
    data = [labels.training_data() for labels in trained]
    return {
        "pool": data[0].pool,
        "cut": choice.cut,
        "side": "train",
        "rows": sum(fold.rows for fold in data),
        "anomalous": sum(fold.anomalous for fold in data),
    }


def shares_of(items: Sequence[LabelledTrajectory]) -> list[float]:
    """Share of each label."""
    counts = Counter(item.label for item in items)
    return [counts[label] / len(items) for label in LABELS]


def probable(shares: Sequence[float]) -> dict[str, Any]:
    """The fields of a prediction with these probabilities, rounded, and the label that they give."""
    rounded = [round(float(share), PLACES) for share in shares]
    return {"label": best_label(rounded), "probabilities": probabilities_of(rounded).model_dump()}


def majority(
    _root: Path, train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], _rules: BaselineRules
) -> Answers:
    """The most frequent label for everything; probabilities are the shares."""
    fields = probable(shares_of(train))
    return {item.key: fields for item in test}


def prior(
    _root: Path, train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], rules: BaselineRules
) -> Answers:
    """A label drawn by the shares, with a fixed seed, in the order of the keys; probabilities are the shares."""
    import numpy as np

    shares = shares_of(train)
    drawn = np.random.default_rng(rules.seed).choice(len(LABELS), size=len(test), p=shares)
    probabilities = probable(shares)["probabilities"]
    ordered = sorted(test, key=lambda item: item.key)
    return {
        item.key: {"label": LABELS[place], "probabilities": probabilities}
        for item, place in zip(ordered, drawn, strict=True)
    }


def memoriser(
    _root: Path, train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], _rules: BaselineRules
) -> Answers:
    """The shares of the task's own labels; of all labels where the train side does not have the task."""
    by_task: dict[str, list[LabelledTrajectory]] = {}
    for item in train:
        if item.task_id is not None:
            by_task.setdefault(item.task_id, []).append(item)
    of_all_labels = probable(shares_of(train))
    known = {task: probable(shares_of(items)) for task, items in by_task.items()}
    return {item.key: known.get(item.task_id or "", of_all_labels) for item in test}


def bag_of_words(
    root: Path, train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], rules: BaselineRules
) -> Answers:
    """Words of the packet that detectors read, weighted by tf-idf, in a logistic regression with balanced classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts = {key_of(packet.model_dump()): packet.text for packet in read_packets(root, keys_of(train) | keys_of(test))}
    words = TfidfVectorizer(min_df=rules.words_at_least, max_features=rules.words_at_most, sublinear_tf=True)
    model = make_pipeline(words, LogisticRegression(class_weight="balanced", max_iter=1000, random_state=rules.seed))
    return classify(model, texts, train, test)


def descriptors(
    root: Path, train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], rules: BaselineRules
) -> Answers:
    """Counts of descriptors (paper T8), in gradient boosting with balanced classes."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.pipeline import make_pipeline

    counts = {key_of(row): features(row) for row in released_records(root, keys_of(train) | keys_of(test))}
    boosting = HistGradientBoostingClassifier(
        max_iter=rules.rounds, early_stopping=False, class_weight="balanced", random_state=rules.seed
    )
    return classify(make_pipeline(DictVectorizer(sparse=False), boosting), counts, train, test)


def features(record: Mapping[str, Any]) -> dict[str, float]:
    """Name -> count, over the descriptors of the steps; no outcome, risk, slice or onset candidate is looked at."""
    counted: Counter[str] = Counter({"steps": record["num_steps"], "user_turns": len(record["user_turns"])})
    steps = record["steps"]
    for step in steps:
        counted[f"event_type={step['event_type']}"] += 1
        counted[f"action_kind={step['action_kind']}"] += 1
        counted[f"tool_status={step['tool_status']}"] += 1
        counted.update(f"flag={flag}" for flag in step["auto_flags"])
        counted.update(name for name in ("side_effect", "partial", "orphan") if step[name])
    if steps:
        counted[f"last event_type={steps[-1]['event_type']}"] += 1
    return {name: float(count) for name, count in counted.items()}


def classify(
    model: Any, inputs: Mapping[Key, Any], train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory]
) -> Answers:
    """The answers of a scikit-learn classifier. A train side with a single label gives that label to everything.
    Raises UsageError where the train side is too small to fit to."""
    if len({item.label for item in train}) < 2:
        return {item.key: probable(shares_of(train)) for item in test}
    try:
        model.fit([inputs[item.key] for item in train], [item.label for item in train])
    except ValueError as error:
        raise UsageError(
            f"the train side ({len(train)} trajectories) cannot be fitted to: {error}. Take another pool or baseline."
        ) from error
    places = [list(model.classes_).index(label) if label in model.classes_ else None for label in LABELS]
    return {
        item.key: probable([0.0 if place is None else row[place] for place in places])
        for item, row in zip(test, model.predict_proba([inputs[item.key] for item in test]), strict=True)
    }


def screen(
    root: Path, _train: Sequence[LabelledTrajectory], test: Sequence[LabelledTrajectory], _rules: BaselineRules
) -> Answers:
    """Label, onset and span by rules over the evidence alone, and in `answer` the flags that they rest on. What the
    rules cannot tell counts as an answer that cannot be read."""
    judge = RulesJudge()
    columns = list(Evidence.model_fields)
    return {key_of(row): screen_record(judge, row) for row in released_records(root, keys_of(test), columns)}


def screen_record(judge: RulesJudge, record: Mapping[str, Any]) -> dict[str, Any]:
    """The screen of a released record, stage by stage as a judge answers, without checks and repairs."""
    evidence = Evidence.model_validate({name: record[name] for name in Evidence.model_fields})
    triggers = find_triggers(Trace(evidence, judge.rules))
    flags = {"answer": canonical_json([flag_of(trigger) for trigger in triggers])}
    a = judge.answer("a", evidence, {}, triggers)
    route = getattr(a, "route_label", None)
    b1 = judge.answer("b1", evidence, {}, triggers)
    says = getattr(b1, "trajectory_is_anomalous", None)
    if route == NOTHING_FOUND or says is False:
        return flags | {"label": NORMAL}
    if says is None:
        return flags | {"label": None, "parse": "failed", "failure": REVIEW}
    b2 = judge.answer("b2", evidence, {"b1": b1.model_dump()}, triggers)
    assert isinstance(b2, StageB2)
    spans = [span for span in b2.segment_spans if span.label == ANOMALOUS_SPAN]
    return flags | {
        "label": getattr(b1, "anomaly_type_l2", None),
        "onset": b2.earliest_recoverable_onset,
        "span": {"start_step": spans[0].start_step, "end_step": spans[-1].end_step} if spans else None,
    }


def flag_of(trigger: Trigger) -> dict[str, Any]:
    """A flag: the rule that fired, the step where it begins, and its proof, the texts that it cites."""
    proof = [{"step": quote.step_id, "field": quote.field, "text": quote.quote} for quote in trigger.evidence]
    return {"flag": trigger.mechanism, "subtype": trigger.label, "step": trigger.onset, "proof": proof}


def keys_of(items: Sequence[LabelledTrajectory]) -> set[Key]:
    """The keys of items."""
    return {item.key for item in items}


BASELINES: dict[str, Predict] = {
    "majority": majority,
    "prior": prior,
    "memoriser": memoriser,
    "bow": bag_of_words,
    "descriptors": descriptors,
    SCREEN: screen,
}
FITTED = frozenset(BASELINES) - {SCREEN}
USED = {"prior": ("seed",), "bow": ("seed", "words_at_least", "words_at_most"), "descriptors": ("seed", "rounds")}


def parameters(name: str, rules: BaselineRules) -> dict[str, int]:
    """The rules that a baseline depends on."""
    return {rule: getattr(rules, rule) for rule in USED.get(name, ())}
