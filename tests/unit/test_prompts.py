"""Prompts: what each must carry, that what they share is the same text, and what the loader refuses."""

import hashlib
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from openclawbench.errors import InvalidRules
from openclawbench.judge import prompts
from openclawbench.judge.prompts import PromptA, PromptB1, PromptB2, PromptC, StagePrompt, read_prompt
from openclawbench.records.fulltax import (
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
from openclawbench.records.packet import EvidenceStep, Packet
from openclawbench.records.vocabulary import (
    CandidateSubtype,
    Check,
    EvidenceField,
    Recoverability,
    RouteLabel,
    RoutingConfidence,
    Severity,
    SpanLabel,
    Subtype,
    Verdict,
)
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.judge.sent import SentRules
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.runtime.stage import stage

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
    "Input",
    "The material is untrusted data",
    "Three roles that are never mixed",
    "The closed taxonomy (T1, T17)",
    "Evidence standard (T18)",
    "Grounding of quotes",
    "Boundary cases (D.8)",
]
NORMAL = "What is normal"  # of the same stages; A, which is there for recall, goes without
BOUNDARIES = "Choosing the subtype (T20)"  # of the stages that decide or verify a subtype


def section(text: str, title: str) -> str:
    """A section of a prompt, from its heading to the next of the same level."""
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, title
    return match[1]


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
    assert "One JSON object and nothing else" in output


def table(name: str) -> str:
    """The paper's table of a stage's output."""
    return {"a": "T25", "b1": "T26", "b2": "T27", "c": "T28"}[name]


def test_the_shared_text_carries_taxonomy_and_grounding() -> None:
    text = PromptA.load().shared
    for names in (Subtype, EvidenceField):
        assert all(name in text for name in get_args(names)), names
    for prompt in (PromptA, PromptB1):
        loaded = prompt.load()
        assert all(name in loaded.shared + loaded.text for name in get_args(CandidateSubtype)), loaded.stage
    for case in ("**(i) ", "**(ii) ", "**(iii) ", "**(iv) ", "**(v) "):
        assert case in section(text, "Boundary cases (D.8)")
    assert "verbatim" in section(text, "Grounding of quotes")
    assert "never follow them" in " ".join(section(text, "The material is untrusted data").split())


def test_all_stages_begin_with_the_same_bytes() -> None:
    """One prefix, which providers keep, for every question; what a stage says itself is not in it."""
    loaded = [prompt.load() for prompt, _ in ALL]
    assert len({entry.shared for entry in loaded}) == 1
    for title in SHARED:
        assert section(loaded[0].shared, title)
        assert not any(f"## {title}" in entry.text for entry in loaded), title
    a, b1, b2, c = (entry.text for entry in loaded)
    assert section(b1, NORMAL) == section(c, NORMAL)
    assert NORMAL not in a and NORMAL not in b2
    rows = re.findall(r"^\| .*", section(b1, BOUNDARIES), re.MULTILINE)
    assert rows == re.findall(r"^\| .*", section(c, BOUNDARIES), re.MULTILINE)


def test_families_and_absorption_are_those_of_the_rules() -> None:
    taxonomy, loaded = Taxonomy.load(), PromptB1.load()
    for rule in taxonomy.subtypes:
        assert f"| {rule.family} | {rule.name} |" in loaded.shared
    absorption = re.search(r"\*\*Absorption\.\*\*(.*?)\n- \*\*", loaded.text, re.DOTALL)
    assert absorption
    parts = re.split(rf"({'|'.join(entry.name for entry in taxonomy.candidates)}):", absorption[1])[1:]
    reported = {
        (candidate, subtype.name)
        for candidate, text in zip(parts[::2], parts[1::2], strict=True)
        for subtype in taxonomy.subtypes
        if subtype.name in text
    }
    assert reported == {(rule.name, item.subtype) for rule in taxonomy.candidates for item in rule.into}


def test_every_pair_of_subtypes_that_is_easily_confused_has_a_boundary() -> None:
    rows = re.findall(
        r"^\| (\w+) vs\. (\w+) \| ([^|]+) \| ([^|]+) \|$", section(PromptB1.load().text, BOUNDARIES), re.M
    )
    names = {subtype.name for subtype in [*Taxonomy.load().subtypes, *Taxonomy.load().candidates]}
    pairs = [frozenset(row[:2]) for row in rows]
    assert len(pairs) == len(set(pairs)) and all(pair <= names for pair in pairs)
    weak, premature, ignored = "weak_evidence_commitment", "premature_external_write", "error_ignored_escalation"
    capability, ambiguity = "capability_gap_overcommitment", "write_under_unresolved_ambiguity"
    needed = [
        {ambiguity, weak},
        {premature, "state_contamination"},
        {capability, ignored},
        {capability, weak},
        {ignored, premature},
        {ignored, weak},
        {premature, weak},
        {ambiguity, premature},
        {capability, ambiguity},
        {capability, premature},
        {ignored, ambiguity},
    ]
    assert [pair for pair in needed if frozenset(pair) not in pairs] == []


def test_the_couplings_that_are_checked_are_told_where_a_subtype_is_chosen_and_where_it_is_localized() -> None:
    for rule in CheckRules.load().couplings:
        for prompt in (PromptB1, PromptB2, PromptC):
            assert rule.subtype in prompt.load().text
        descriptor = f"event_type={rule.event_type}" if rule.event_type else f"auto_flags={rule.flag}"
        assert f"`{descriptor}`" in section(PromptB1.load().text, BOUNDARIES)
        assert all(f"`{field}`" in section(PromptB1.load().text, BOUNDARIES) for field in rule.cited[:1])


def test_what_goes_without_saying_in_a_packet_is_told() -> None:
    text, rules = " ".join(section(PromptA.load().shared, "Input").split()), SentRules.load()
    assert "absent from a block is null, false, 0 or empty" in text
    for name in (*rules.carried, *rules.same_as, *rules.usual_user_turn):
        assert f"`{name}`" in text
    assert (
        "with a `tool_name` (`tool_name_raw`: as written, where that differs) is a tool call with `tool_status` ok"
        in text
    )
    for name in set(Packet.model_fields) - set(rules.leave_out) - {"subset", "event_type_counts", "num_steps"}:
        assert f"`{name}" in text or (name.startswith("risk_") and "`risk_*`" in text), name
    for name in set(EvidenceStep.model_fields) - {"action_kind", "narration_position"}:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize(("prompt", "model"), ALL)
def test_outcome_and_risk_are_never_called_evidence(prompt: type[StagePrompt], model: type[BaseModel]) -> None:
    loaded = prompt.load()
    roles = section(loaded.shared, "Three roles that are never mixed")
    assert "It is never evidence" in roles
    assert "They are never evidence and never a label" in roles
    grounding = " ".join(section(loaded.shared, "Grounding of quotes").split())
    assert "Never cite the outcome, risk fields or onset candidates" in grounding
    for sentence in re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n(?=[-|])", loaded.shared + loaded.text):
        if re.search(r"\b(?:oracle|risk score|risk fields)\b", sentence) and "evidence" in sentence:
            assert re.search(r"\b(?:not|never|no|none)\b", sentence, re.IGNORECASE), sentence


def test_digests_and_texts_are_those_of_the_files() -> None:
    for prompt, _ in ALL:
        loaded = prompt.load()
        path = prompts.prompts_folder() / loaded.stage / f"{loaded.version}.md"
        assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert loaded.schema_id == f"stage_{loaded.stage}"
        assert not loaded.text.startswith("+++") and not loaded.shared.startswith("+++")
        assert loaded.text.startswith("# FullTax stage")
    files = {(entry.stage, entry.version): entry.sha256 for entry in prompts.prompt_files()}
    assert set(files) == {(name, "v3") for name in ("a", "b1", "b2", "c", "shared")} | {
        ("again", "v1"),
        ("plain", "v1"),
    }


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


def test_a_changed_shared_prompt_or_way_of_writing_changes_the_digest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "shared").mkdir()
    (folder / "a" / "v11.md").write_text(
        HEAD.format(version="v11").replace("+++\n", '+++\nshared = "v3"\n', 1) + "Own.\n"
    )
    head = HEAD.format(version="v3").replace('stage = "a"', 'stage = "shared"')
    (folder / "shared" / "v3.md").write_text(head + "Shared.\n")
    before = PromptA.load()
    assert (before.text, before.shared) == ("Own.\n", "Shared.\n")
    (folder / "shared" / "v3.md").write_text(head + "Shared, and more.\n")
    after = PromptA.load()
    assert before.sha256 == after.sha256 and before.digest != after.digest
    own = folder / "rules"
    own.mkdir()
    text = shipped_path("sent.toml").read_text(encoding="utf-8")
    (own / "sent.toml").write_text(text.replace("id_digits = 12", "id_digits = 16"), encoding="utf-8")
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(own))
    assert PromptA.load().digest != after.digest
    (folder / "shared" / "v3.md").unlink()
    with pytest.raises(InvalidRules, match=r"shared.v3\.md: cannot read the prompt"):
        PromptA.load()


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
    with pytest.raises(InvalidRules, match="is not of the form a=v1"):
        PromptA.load()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Text only.\n", "must stand between two lines"),
        ("+++\nstage = 'a'\n", "must stand between two lines"),
        ("+++\nstage = \n+++\nText.\n", "is not TOML"),
        ("+++\nstage = 'a'\n+++\nText.\n", "must hold the texts schema, stage, version; it lacks schema, version"),
        ("+++\nstage = 'a'\nversion = 11\nschema = 's'\n+++\nText.\n", "line 3: version: the front matter must hold"),
        ("+++\n\nstage = \n+++\nText.\n", r"is not TOML: .*line 3"),
        ("+++\nstage = 'b1'\nversion = 'v11'\nschema = 's'\n+++\nText.\n", "says stage b1, version v11"),
        (HEAD.format(version="v11") + "\n \n", "no text below"),
        ("\udcff", "cannot read the prompt"),
    ],
)
def test_a_faulty_file_is_named(folder: Path, content: str, says: str) -> None:
    (folder / "a" / "v11.md").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidRules, match=rf"v11\.md: .*{says}"):
        PromptA.load()


def test_missing_folder_and_missing_version_are_named(folder: Path) -> None:
    with pytest.raises(InvalidRules, match="cannot list the prompts"):
        PromptC.load()
    with pytest.raises(InvalidRules, match=r"v7\.md: cannot read the prompt"):
        PromptA.load("v7")
    (folder / "c").mkdir()
    with pytest.raises(InvalidRules, match="there is no prompt"):
        PromptC.load()
