"""The worked examples in the prompts: made up, valid answers whose quotes stand in what is told."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from openclawbench.judge.prompts import PromptA, PromptB1, PromptB2, PromptC, StagePrompt
from openclawbench.records.fulltax import StageA, StageB1, StageB2, StageC
from openclawbench.rules.fulltax.taxonomy import Taxonomy

ROOT = Path(__file__).parents[2]
SHOWN = [
    ROOT / "data" / "example",
    ROOT / "tests" / "golden",
    ROOT / "tests" / "samples",
]  # of which judges are examined
MODELS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
PROMPTS: dict[str, type[StagePrompt]] = {"a": PromptA, "b1": PromptB1, "b2": PromptB2, "c": PromptC}
EXAMPLE = re.compile(r"^### Example `([^`]+)` [^\n]*\n(.*?)^Answer:\n\n(\{.*?\})$", re.MULTILINE | re.DOTALL)
TOLD = re.compile(r"^- (user \d+|step (\d+))[^\n]*", re.MULTILINE)


def examples(stage: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, what is told and answer of each worked example."""
    return [(name, match, json.loads(answer)) for name, match, answer in EXAMPLE.findall(PROMPTS[stage].load().text)]


EVERY = [(stage, *example) for stage in MODELS for example in examples(stage)]
LABELS = [f"{stage}-{name}-{number}" for number, (stage, name, _, _) in enumerate(EVERY)]
SESSIONS = {
    name: reported
    for _, name, reported, _ in reversed(EVERY)
    if "as above" not in reported and "The same" not in reported
}


def steps(name: str) -> dict[int, str]:
    """Number -> line of the steps that an example tells, of the first stage that shows it."""
    complete = SESSIONS.get(name) or next(reported for _, entry, reported, _ in EVERY if entry == name)
    return {int(line[2]): line[0] for line in TOLD.finditer(complete) if line[2]}


def test_every_stage_shows_what_is_and_what_is_not() -> None:
    assert {answer["route_label"] for *_, answer in examples("a")} == {"structured_annotation", "no_anomaly_evidence"}
    assert {answer["trajectory_is_anomalous"] for *_, answer in examples("b1")} == {True, False}
    assert {answer["absorbed_from"] is None for *_, answer in examples("b1")} == {True, False}
    assert {answer["verdict"] for *_, answer in examples("c")} == {"accept", "revise", "review"}
    assert len(examples("b2")) >= 2


@pytest.mark.parametrize(("stage", "name", "story", "answer"), EVERY, ids=LABELS)
def test_an_example_is_a_valid_answer_about_what_is_told(
    stage: str, name: str, story: str, answer: dict[str, Any]
) -> None:
    MODELS[stage].model_validate_json(json.dumps(answer), strict=True)
    assert answer["trajectory_id"] == name
    lines = steps(name)
    for quote in answer.get("evidence_steps", []):
        assert quote["quote"] in lines[quote["step_id"]], quote
    for span in answer.get("segment_spans", []):
        assert 1 <= span["start_step"] <= span["end_step"] <= max(lines)


def test_no_example_is_a_session_that_a_judge_may_be_examined_on() -> None:
    asked = {
        line[0].split(": ", 1)[1] for session in SESSIONS.values() for line in TOLD.finditer(session) if not line[2]
    }
    assert len(asked) >= 3
    files = [path for folder in SHOWN for path in folder.rglob("*.json*") if path.is_file()]
    assert len(files) > 100
    for path in files:
        content = path.read_text(encoding="utf-8", errors="replace")
        assert not any(text in content for text in asked), path
        assert not any(name in content for name in SESSIONS), path


def test_no_prompt_names_a_session_of_the_example() -> None:
    names = {path.name.split(".jsonl")[0] for path in (ROOT / "data" / "example" / "raw").rglob("*.jsonl")}
    for prompt in PROMPTS.values():
        loaded = prompt.load()
        assert not any(name in loaded.shared + loaded.text for name in names if len(name) > 8)


def test_the_examples_keep_to_the_taxonomy() -> None:
    taxonomy = Taxonomy.load()
    for *_, answer in examples("b1"):
        subtype, candidate = answer["anomaly_type_l2"], answer["absorbed_from"]
        assert (subtype is None) == (answer["trajectory_is_anomalous"] is False)
        assert answer["anomaly_type_l1"] == (subtype and taxonomy.family(subtype))
        assert candidate is None or taxonomy.absorbs(candidate, subtype)
