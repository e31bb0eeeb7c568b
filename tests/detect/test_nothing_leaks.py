"""Outcome, risk, slice, onset candidates, labels and words of a judge never change what a detector is given.

In a whole release all of these tell the labels apart, and in another one they say the opposite on the test side;
packets, questions and the answers of every baseline are the same. The labels of the train side, which a baseline is
fitted to, are left as they are.
"""

from pathlib import Path
from typing import Any

import pytest
from made_release import made_release, session

from openclawbench.detect.asking import DetectorRun, open_model, run_packets
from openclawbench.detect.baselines import BASELINES, run_baseline
from openclawbench.detect.labels import LABEL_COLUMNS, LabelSelection, read_labels, read_packets
from openclawbench.detect.packet import COLUMNS
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.judge.settings import AskingSettings
from openclawbench.records.packet import Evidence
from openclawbench.records.release import Master
from openclawbench.storage.data_folder import DataFolder

RULES = DetectRules.load()
WEAK = LABELS[3]
CANARY = "canary"
TRAIN, TEST = 120, 40
FLIPPED: dict[str, Any] = {
    "collection": {"plan": CANARY, "model": CANARY, "endpoint_host": CANARY},
    "oracle_outcome": CANARY,
    "pass_but_high_risk": True,
    "fail_but_low_risk": True,
    "risk_score_raw": 9.5,
    "risk_score": 0.95,
    "risk_bucket": CANARY,
    "slice_label": CANARY,
    "risk_signals": {"hedges": 7},
    "onset_candidates": {"first_candidate": 2},
    "annotator_rationale": CANARY,
    "anomaly_type_l1": CANARY,
    "absorbed_from": CANARY,
    "severity": CANARY,
    "recoverability": CANARY,
    "earliest_recoverable_onset": 2,
    "earliest_harmful_onset": 2,
    "review_cause": CANARY,
    "dominant_episode_exists": True,
}


def sessions() -> list[dict[str, Any]]:
    """What is no evidence tells the labels apart; words and flags do so less well."""
    return [session_of(number, is_told=number % 3 == 0) for number in range(160)]


def turned_round() -> list[dict[str, Any]]:
    """The same, but that what is no evidence says the opposite on the test side, and so do the labels there."""
    rows = [session_of(number, is_told=(number % 3 == 0) == (number < TRAIN)) for number in range(160)]
    for row in rows[TRAIN:]:
        was = row["is_anomalous"]
        row.update(is_anomalous=not was, anomaly_type_l2=None if was else LABELS[5], segment_spans=[])
    return rows


def session_of(number: int, is_told: bool) -> dict[str, Any]:
    """A session; with `is_told` everything that is no evidence is there."""
    label = WEAK if number % 3 == 0 else NORMAL
    looks_weak = (label == WEAK) != (number % 7 == 0)
    words, side = "guess" if looks_weak else "look", "train" if number < TRAIN else "test"
    recording = session(number, label, side=side, words=words, task=f"o{number}", **(FLIPPED if is_told else {}))
    recording["steps"][0]["auto_flags"] = ["hedge"] if looks_weak else []
    return recording


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("releases")
    return made_release(folder / "one", sessions()), made_release(folder / "other", turned_round())


def test_every_field_that_is_no_evidence_is_turned_round() -> None:
    read_by_a_detector = {*COLUMNS, *Evidence.model_fields}
    not_a_word = {"task_id", "anomaly_type_l2", "is_anomalous", "segment_spans", "label_status", "quality_tier"}
    rest = Master.model_fields.keys() - read_by_a_detector - not_a_word
    identity = {
        "parent_trajectory_id",
        "continues_trajectory_id",
        "session_id",
        "subset",
        "attempt",
        "mode",
        "source_format",
        "models",
    }
    structures = {"oracle", "risk_breakdown", "evidence_steps", "repairs", "stages", "provenance", "trace_summary"}
    structures |= {"escaped_fields", "abandoned_steps", "earliest_state_contamination_onset"}
    assert rest - identity - structures <= FLIPPED.keys()


def test_packets_are_the_same_to_the_byte(releases: tuple[Path, Path]) -> None:
    entry, other = releases
    keys = {item.key for item in read_labels(entry, LabelSelection(side="test")).items}
    first, second = list(read_packets(entry, keys, RULES.packet)), list(read_packets(other, keys, RULES.packet))
    assert first == second and len(first) == TEST
    assert all(CANARY not in packet.text for packet in second)


def test_questions_to_a_model_are_the_same_to_the_byte(releases: tuple[Path, Path], tmp_path: Path) -> None:
    asked = []
    for root in releases:
        for protocol in ("symbol", "json"):
            run = DetectorRun("m", "m", protocol, read_labels(root, LabelSelection()), RULES, AskingSettings())
            model = open_model(run, DataFolder(tmp_path), None)
            for packet in run_packets(run):
                question = model.question(packet)
                request = model.request(question, model.messages(question))
                asked.append((root, question.request_sha256, request.messages, request.more, request.key))
    first = [row[1:] for row in asked if row[0] == releases[0]]
    second = [row[1:] for row in asked if row[0] == releases[1]]
    assert first == second and len(first) == 2 * TEST
    assert CANARY not in str(second)


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_a_baseline_says_the_same(name: str, releases: tuple[Path, Path]) -> None:
    first, second = (run_baseline(name, root, LabelSelection(), RULES)[1] for root in releases)
    assert first == second and len(first) == TEST


def test_labels_are_read_from_columns_that_no_detector_is_given() -> None:
    assert set(LABEL_COLUMNS) & set(COLUMNS) <= {"source_model", "trajectory_id", "num_steps"}
