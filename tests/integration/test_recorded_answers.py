"""The recorded answers of data/example are answers to the questions in force: docs/develop/record_answers.md."""

import json
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, Ran, call, table

from benchmarks.rules_judge import measure, put_into
from openclawbench.errors import NEEDS_A_PERSON

pytestmark = pytest.mark.slow

RECORDED = EXAMPLE / "recorded"
STATEMENT = tomllib.loads((RECORDED / "recorded.toml").read_text(encoding="utf-8"))["statement"]
INPUTS: list[str | Path] = ["--raw", EXAMPLE / "raw", "--oracle", EXAMPLE / "oracle"]


def stated(folder: Path) -> dict[str, int]:
    """Stage -> how many answers recorded.toml states."""
    answers: dict[str, int] = tomllib.loads((folder / "recorded.toml").read_text(encoding="utf-8"))["answers"]
    return answers


def ids(folder: Path, stage: str) -> set[str]:
    lines = (folder / f"{stage}-001.output.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["custom_id"] for line in lines}


@pytest.mark.parametrize("annotation_pass", [1, 2])
def test_answers_fit_the_questions_in_force(annotation_pass: int, tmp_path: Path) -> None:
    folder = RECORDED if annotation_pass == 1 else RECORDED / "pass2"
    assert {stage: len(ids(folder, stage)) for stage in stated(folder)} == stated(folder)
    judge = ["--judge", "openai", "--model", "claude", "--batch-files", RECORDED]
    data = tmp_path / "data"
    first = call("annotate", "--data", data, *INPUTS, *judge, "--stage", "a")
    assert first.status == 0, first.err
    ended = call("annotate", "--data", data, *INPUTS, *judge, "--pass", str(annotation_pass))
    assert "answers of another" not in ended.err and "belong to no question" not in ended.err, ended.err
    suffix = "" if annotation_pass == 1 else "_pass2"
    routes = Counter(json.loads(row["response_text"])["route_label"] for row in table(data, f"decision_a{suffix}"))
    assert routes == {"structured_annotation": 31, "no_anomaly_evidence": 55}
    if annotation_pass == 1:
        assert ended.status == 0, ended.err
    else:
        assert ended.status == NEEDS_A_PERSON and "which is a recorded set" in ended.err
        assert "stage b1: 12 questions of 43" in ended.err and ended.text == ""


def test_the_demo_is_a_silver_release_of_a_language_model(demo: Ran) -> None:
    assert demo.ended.status == 0, demo.ended.err
    assert STATEMENT in demo.ended.err
    rows = table(demo.data, "annotation")
    tiers = Counter(row["quality_tier"] for row in rows)
    assert tiers["high_confidence_accepted"] + tiers["accepted_repaired"] > tiers["review_or_unresolved"] > 0
    assert {row["provenance"]["judge_model"] for row in rows} - {None} == {"claude"}
    summary = json.loads((demo.data / "release" / "dataset_summary.json").read_text())
    assert summary["outcome_process_gap"]["passing_measured"] > 50
    valid = call("validate", "--data", demo.data)
    assert valid.status == 0, valid.text + valid.err


def test_the_document_on_recorded_labels_says_what_the_release_says(demo: Ran) -> None:
    measured = measure(demo.data / "release", EXAMPLE / "misbehaving.json")
    page = ROOT / "docs" / "why" / "recorded_labels.md"
    text = page.read_text(encoding="utf-8")
    assert put_into(text, measured) == text, f"openclawbench demo && openclawbench bench rules-judge --into {page}"


def test_a_stale_answer_is_named_and_nothing_is_half_used(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded"
    shutil.copytree(RECORDED, recorded)
    path = recorded / "a-001.output.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    other = lines[0].replace(json.loads(lines[0])["custom_id"], "0" * 64)
    path.write_text("\n".join([other, *lines[1:]]), encoding="utf-8")
    judge = ["--judge", "openai", "--model", "claude", "--batch-files", recorded]
    ended = call("run", "--data", tmp_path / "data", *INPUTS, *judge)
    assert ended.status == NEEDS_A_PERSON
    assert f"1 question of {len(lines)}" in ended.err.replace("questions", "question"), ended.err
    assert not (tmp_path / "data" / "release").exists()
