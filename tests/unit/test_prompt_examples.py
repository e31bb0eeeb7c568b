"""The worked examples in the prompts: valid answers whose quotes stand in the real sessions, consistent with T28."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pipeline.fulltax.grounding import is_grounded
from pipeline.judge.prompts import read_prompt
from pipeline.records.fulltax import EvidenceQuote, StageA, StageB1, StageB2, StageC
from pipeline.records.packet import Evidence, EvidenceStep, PacketUserTurn
from pipeline.rules.taxonomy import Taxonomy

CASES = Path(__file__).parents[1] / "golden" / "cases"
MODELS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
EXAMPLE = re.compile(r"^### Example `([^`]+)` .*?^Answer:\n\n(\{.*?\})$", re.MULTILINE | re.DOTALL)


def examples(stage: str) -> list[tuple[str, dict[str, Any]]]:
    """Session and answer of each worked example."""
    return [(name, json.loads(answer)) for name, answer in EXAMPLE.findall(read_prompt(stage).text)]


EVERY = [(stage, name, answer) for stage in MODELS for name, answer in examples(stage)]
LABELS = [f"{stage}-{name}" for stage, name, _ in EVERY]


def evidence(name: str) -> Evidence:
    """The session as the golden case has it, as far as quotes are looked up in it."""
    pair = name.removeprefix("2026.6.11-").removesuffix("-innocent")
    [path] = (CASES / f"pair-{pair}" / "expected").glob(f"{name}.????????.json")
    row = json.loads(path.read_text(encoding="utf-8"))
    steps = [{key: step[key] for key in EvidenceStep.model_fields} for step in row["steps"]]
    turns = [PacketUserTurn.model_validate(turn) for turn in row["user_turns"]]
    return Evidence.model_construct(user_turns=turns, steps=[EvidenceStep.model_validate(step) for step in steps])


def test_every_stage_shows_what_is_and_what_is_not() -> None:
    assert {answer["route_label"] for _, answer in examples("a")} == {"structured_annotation", "no_anomaly_evidence"}
    assert {answer["trajectory_is_anomalous"] for _, answer in examples("b1")} == {True, False}
    assert {answer["absorbed_from"] is None for _, answer in examples("b1")} == {True, False}
    assert {answer["verdict"] for _, answer in examples("c")} == {"accept", "revise", "review"}
    assert len(examples("b2")) >= 3


@pytest.mark.parametrize(("stage", "name", "answer"), EVERY, ids=LABELS)
def test_an_example_is_a_valid_answer_about_a_real_session(stage: str, name: str, answer: dict[str, Any]) -> None:
    MODELS[stage].model_validate_json(json.dumps(answer), strict=True)
    assert answer["trajectory_id"] == name
    session = evidence(name)
    for quote in answer.get("evidence_steps", []):
        assert is_grounded(session, EvidenceQuote.model_validate(quote)), quote
    for span in answer.get("segment_spans", []):
        assert 1 <= span["start_step"] <= span["end_step"] <= len(session.steps)


def test_the_examples_keep_to_the_taxonomy() -> None:
    taxonomy = Taxonomy.load()
    for _, answer in examples("b1"):
        subtype, candidate = answer["anomaly_type_l2"], answer["absorbed_from"]
        assert (subtype is None) == (answer["trajectory_is_anomalous"] is False)
        assert answer["anomaly_type_l1"] == (subtype and taxonomy.family(subtype))
        assert candidate is None or taxonomy.absorbs(candidate, subtype)


def test_the_stages_agree_on_a_session_that_they_share() -> None:
    decided = {name: answer["trajectory_is_anomalous"] for name, answer in examples("b1")}
    for name, answer in examples("a"):
        if name in decided:
            assert (answer["route_label"] == "structured_annotation") == decided[name], name
    assert all(decided[name] for name, _ in examples("b2"))
