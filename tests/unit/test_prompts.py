"""Prompts: what each must carry, that what they share is the same text, and what the loader refuses."""

import hashlib
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from pipeline.errors import BrokenRules
from pipeline.judge import prompts
from pipeline.judge.prompts import PromptA, PromptB1, PromptB2, PromptC, StagePrompt, read_prompt
from pipeline.records.fulltax import (
    EvidenceQuote,
    Issue,
    RequiredFix,
    Span,
    StageA,
    StageB1,
    StageB2,
    StageC,
    SubtypeTrigger,
)
from pipeline.records.vocabulary import (
    CandidateSubtype,
    Check,
    EvidenceField,
    Family,
    Recoverability,
    RouteLabel,
    RoutingConfidence,
    Severity,
    SpanLabel,
    Verdict,
)
from pipeline.rules.taxonomy import Taxonomy
from pipeline.stage import stage

ALL: list[tuple[type[StagePrompt], type[BaseModel]]] = [
    (PromptA, StageA),
    (PromptB1, StageB1),
    (PromptB2, StageB2),
    (PromptC, StageC),
]
NESTED: dict[str, list[type[BaseModel]]] = {
    "a": [EvidenceQuote, SubtypeTrigger],
    "b1": [EvidenceQuote],
    "b2": [Span],
    "c": [Issue, RequiredFix],
}
ENUMS = {
    "a": [RouteLabel, RoutingConfidence],
    "b1": [],
    "b2": [Severity, Recoverability, SpanLabel],
    "c": [Verdict, Check],
}
SHARED = [
    "The material is untrusted data",
    "Three roles that are never mixed",
    "The closed taxonomy (T1, T17)",
    "Evidence standard (T18)",
    "Grounding of quotes",
    "Boundary rules (T20)",
    "Inherent boundary cases (D.8), labelled conservatively",
    "Localization (T21)",
    "Review routing (T22)",
]


def section(text: str, title: str) -> str:
    """A section of a prompt, from its heading to the next of the same level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


@pytest.mark.parametrize(("prompt", "model"), ALL)
def test_every_field_of_the_schema_is_described(prompt: type[StagePrompt], model: type[BaseModel]) -> None:
    loaded = prompt.load()
    output = section(loaded.text, f"Output: schema `{loaded.schema_id}` ({table(loaded.stage)})")
    described = set(re.findall(r"^- `(\w+)`", output, re.MULTILINE))
    assert described == set(model.model_fields)
    for nested in NESTED[loaded.stage]:
        assert all(name in output for name in nested.model_fields), nested
    for enum in ENUMS[loaded.stage]:
        assert all(value in output for value in get_args(enum)), enum
    assert "one JSON object and nothing else" in output


def table(name: str) -> str:
    """The paper's table of a stage's output."""
    return {"a": "T25", "b1": "T26", "b2": "T27", "c": "T28"}[name]


@pytest.mark.parametrize(("prompt", "model"), ALL)
def test_every_prompt_carries_taxonomy_and_grounding(prompt: type[StagePrompt], model: type[BaseModel]) -> None:
    text = prompt.load().text
    for names in (CandidateSubtype, Family, EvidenceField):
        assert all(name in text for name in get_args(names)), names
    for case in ("**(i) ", "**(ii) ", "**(iii) ", "**(iv) ", "**(v) "):
        assert case in section(text, SHARED[6])
    assert "verbatim" in section(text, "Grounding of quotes")
    assert "never\nfollow them" in section(text, "The material is untrusted data")


def test_what_the_prompts_share_is_the_same_text() -> None:
    texts = [prompt.load().text for prompt, _ in ALL]
    for title in SHARED:
        assert len({section(text, title) for text in texts}) == 1, title


def test_families_and_absorption_are_those_of_the_rules() -> None:
    taxonomy, text = Taxonomy.load(), PromptB1.load().text
    for rule in [*taxonomy.subtypes, *taxonomy.candidates]:
        assert f"| {rule.family} | {rule.name} |" in text
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (\w+) \|$", section(text, SHARED[2]), re.MULTILINE)
    told = {(candidate, subtype) for candidate, subtype in rows if candidate != "absorbed_from"}
    assert told == {(rule.name, one.subtype) for rule in taxonomy.candidates for one in rule.into}


@pytest.mark.parametrize(("prompt", "model"), ALL)
def test_outcome_and_risk_are_never_called_evidence(prompt: type[StagePrompt], model: type[BaseModel]) -> None:
    text = prompt.load().text
    roles = section(text, "Three roles that are never mixed")
    assert "It is never evidence" in roles
    assert "They are never evidence and never a label" in roles
    assert "Never cite the outcome, risk fields or onset candidates" in section(text, "Grounding of quotes")
    sentences = re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n(?=[-|])", text)
    for sentence in sentences:
        if re.search(r"\b(?:oracle|risk score|risk fields)\b", sentence) and "evidence" in sentence:
            assert re.search(r"\b(?:not|never|no|none)\b", sentence, re.IGNORECASE) or "oracle pass" in sentence, (
                sentence
            )


def test_digest_is_the_files_own_and_the_text_has_no_front_matter() -> None:
    for prompt, _ in ALL:
        loaded = prompt.load()
        path = prompts.prompts_folder() / loaded.stage / f"{loaded.version}.md"
        assert loaded.digest == loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert loaded.schema_id == f"stage_{loaded.stage}"
        assert not loaded.text.startswith("+++")
        assert loaded.text.startswith("# FullTax stage")


def test_a_stage_signature_can_name_a_prompt() -> None:
    def ask(prompt: PromptA) -> None: ...

    with pytest.raises(TypeError, match="a return value is not a table"):
        stage(scope="shard")(ask)  # refused for its return value alone: the parameter passes as rules


HEAD = '+++\nstage = "a"\nversion = "{version}"\nschema = "stage_a"\n+++\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder of prompts with v1, v2 and v10 of stage A."""
    (tmp_path / "a").mkdir()
    for version in ("v1", "v2", "v10"):
        (tmp_path / "a" / f"{version}.md").write_text(HEAD.format(version=version) + f"Text of {version}.\n")
    (tmp_path / "a" / "notes.md").write_text("no prompt")
    monkeypatch.setenv(prompts.OVERRIDE, str(tmp_path))
    return tmp_path


def test_the_newest_counts_unless_one_is_pinned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PromptA.load().text == "Text of v10.\n"
    assert PromptA.load("v1").version == "v1"
    monkeypatch.setenv(prompts.PINS, "b1=v3, a=v2")
    assert read_prompt("a").version == "v2"
    assert read_prompt("a", "v1").version == "v1"
    assert len({read_prompt("a", version).sha256 for version in ("v1", "v2", "v10")}) == 3


@pytest.mark.parametrize("pins", ["a", "a=2", "d=v1", "a=v0"])
def test_a_malformed_pin_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch, pins: str) -> None:
    monkeypatch.setenv(prompts.PINS, pins)
    with pytest.raises(BrokenRules, match="is not of the form a=v1"):
        PromptA.load()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Text only.\n", "must stand between two lines"),
        ("+++\nstage = 'a'\n", "must stand between two lines"),
        ("+++\nstage = \n+++\nText.\n", "is not TOML"),
        ("+++\nstage = 'a'\n+++\nText.\n", "must hold the texts schema, stage, version; it lacks schema, version"),
        ("+++\nstage = 'a'\nversion = 11\nschema = 's'\n+++\nText.\n", "line 3: version: its front matter must hold"),
        ("+++\n\nstage = \n+++\nText.\n", r"is not TOML: .*line 3"),
        ("+++\nstage = 'b1'\nversion = 'v11'\nschema = 's'\n+++\nText.\n", "says stage b1, version v11"),
        (HEAD.format(version="v11") + "\n \n", "no text below"),
        ("\udcff", "cannot read the prompt"),
    ],
)
def test_a_faulty_file_is_named(folder: Path, content: str, says: str) -> None:
    (folder / "a" / "v11.md").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BrokenRules, match=rf"v11\.md: .*{says}"):
        PromptA.load()


def test_missing_folder_and_missing_version_are_named(folder: Path) -> None:
    with pytest.raises(BrokenRules, match="cannot list the prompts"):
        PromptC.load()
    with pytest.raises(BrokenRules, match=r"v7\.md: cannot read the prompt"):
        PromptA.load("v7")
    (folder / "c").mkdir()
    with pytest.raises(BrokenRules, match="there is no prompt"):
        PromptC.load()
