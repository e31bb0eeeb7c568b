"""Localization, weight and verification by the rules judge, and its rule file."""

import json
from typing import Any

import pytest
from rules_judge_builders import RULES, TAXONOMY, ask_all
from rules_judge_cases import ANOMALOUS, NORMAL

from openclawbench.errors import InvalidRules
from openclawbench.fulltax.rules_judge import RulesJudge, answer_b1, answer_b2, answer_c
from openclawbench.judge.protocol import Question
from openclawbench.records.fulltax import EvidenceQuote, Span, StageC
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.rules.loading.own_folder import shipped_path


# ------------------------------------------------------------------------------------------- severity, verification
@pytest.mark.parametrize(
    ("name", "severity", "recoverability"),
    [
        ("ambiguous write", "medium", "recoverable"),
        ("state write under ambiguity", "high", "partially_recoverable"),
        ("failure, then force", "high", "unrecoverable"),
        ("claimed run without a step", "medium", "recoverable"),
        ("doubt hidden from the user", "low", "recoverable"),
    ],
)
def test_weight_of_the_harmful_step(name: str, severity: str, recoverability: str) -> None:
    structure = ask_all(ANOMALOUS[name][0])["b2"]
    assert (structure["severity"], structure["recoverability"]) == (severity, recoverability)


def test_contamination_onset_only_at_a_state_write() -> None:
    assert ask_all(ANOMALOUS["state write under ambiguity"][0])["b2"]["earliest_state_contamination_onset"] == 1
    for name in ("ambiguous write", "failure, then force", "claimed run without a step"):
        assert ask_all(ANOMALOUS[name][0])["b2"]["earliest_state_contamination_onset"] is None


def verified(name: str, b1: dict[str, Any] | None = None, b2: dict[str, Any] | None = None) -> StageC:
    """Stage C over an annotation of a case, with changes."""
    inputs = ANOMALOUS[name][0]
    decided = answer_b1(inputs, RULES, TAXONOMY).model_copy(update=b1 or {})
    structure = answer_b2(inputs, RULES, TAXONOMY, answer_b1(inputs, RULES, TAXONOMY)).model_copy(update=b2 or {})
    return answer_c(inputs, RULES, TAXONOMY, decided, structure)


def test_c_asks_for_structural_fixes() -> None:
    verdict = verified("failure, then force", b2={"earliest_recoverable_onset": 3, "earliest_harmful_onset": 2})
    assert verdict.verdict == "revise"
    assert [fix.field for fix in verdict.required_fixes] == ["earliest_recoverable_onset"]
    assert verdict.required_fixes[0].value == "null"
    reversed_span = verified(
        "failure, then force", b2={"segment_spans": [Span(start_step=9, end_step=2, label="anomalous")]}
    )
    assert reversed_span.verdict == "revise"
    fixed = json.loads(reversed_span.required_fixes[0].value or "")
    assert fixed == [{"start_step": 2, "end_step": 3, "label": "anomalous"}]


@pytest.mark.parametrize(
    ("b1", "check"),
    [
        ({"anomaly_type_l1": "evidence_grounding_failures"}, "taxonomy_correctness"),
        ({"absorbed_from": "ambiguity_mishandling"}, "taxonomy_correctness"),
        ({"anomaly_type_l2": "premature_external_write"}, "rationale_grounding"),
        (
            {"evidence_steps": [EvidenceQuote(step_id=2, field="action_text", quote="no such words")]},
            "rationale_grounding",
        ),
        ({"evidence_steps": [], "annotator_rationale": "The oracle says it failed."}, "oracle_not_sole_evidence"),
        ({"annotator_rationale": " "}, "schema_completeness"),
        ({"trajectory_is_anomalous": None}, "taxonomy_correctness"),
    ],
)
def test_c_sends_semantic_faults_to_review(b1: dict[str, Any], check: str) -> None:
    verdict = verified("failure, then force", b1=b1)
    assert verdict.verdict == "review"
    assert check in [issue.check for issue in verdict.issues]
    assert verdict.required_fixes == []


def test_c_checks_that_subtype_and_structure_agree() -> None:
    spans = [Span(start_step=3, end_step=3, label="anomalous")]
    coupled = verified("failure, then force", b2={"segment_spans": spans})
    assert coupled.verdict == "review"
    assert "subtype_field_coupling" in [issue.check for issue in coupled.issues]


def test_b2_without_a_supporting_detector_leaves_the_onsets_null() -> None:
    inputs = NORMAL["plain answer"]
    quote = EvidenceQuote(step_id=1, field="action_text", quote="The capital of Norway is Oslo.")
    other = answer_b1(ANOMALOUS["doubt hidden from the user"][0], RULES, TAXONOMY)
    structure = answer_b2(inputs, RULES, TAXONOMY, other.model_copy(update={"evidence_steps": [quote]}))
    assert structure.segment_spans == [Span(start_step=1, end_step=1, label="anomalous")]
    assert structure.earliest_recoverable_onset is None
    assert structure.earliest_harmful_onset is None


# ------------------------------------------------------------------------------------------------------- rule file
def test_mechanisms_absorb_only_as_the_taxonomy_allows() -> None:
    released = {rule.name for rule in TAXONOMY.subtypes}
    for rule in RULES.mechanisms:
        if rule.into is None:
            assert rule.subtype in released, rule.id
        else:
            assert TAXONOMY.absorbs(rule.subtype, rule.into), rule.id
    assert set(RULES.triage.order_sensitive) <= set(RULES.by_mechanism)
    assert {name for rule in RULES.severities for name in rule.mechanisms} <= set(RULES.by_mechanism)


def test_a_broken_pattern_is_named(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shipped_path("judge.toml").read_text(encoding="utf-8").replace(r"""'''\btool "?""", r"""'''(\btool "?""")
    (tmp_path / "judge.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(tmp_path))
    with pytest.raises(InvalidRules, match=r"judge\.toml: line \d+: pattern\.\d+\.regex: .*not a regular expression"):
        JudgeRules.load()


CASES = {name: case[0] for name, case in ANOMALOUS.items()} | NORMAL


@pytest.mark.parametrize("name", CASES)
def test_answers_that_are_kept_are_those_that_are_made_anew(name: str) -> None:
    """The first question of a trajectory prepares the answers to the later ones."""
    case_evidence = CASES[name]
    judge = RulesJudge(RULES, TAXONOMY)
    previous = ask_all(case_evidence, judge)
    for stage in ("b1", "b2", "c"):
        assert previous[stage] == json.loads(judge.answer(stage, case_evidence, previous).model_dump_json())
    changed = previous | {"b1": previous["b1"] | {"annotator_rationale": "Another one."}}
    for stage in ("b2", "c"):
        question = Question(stage, case_evidence.model_dump_json(), json.dumps(changed), f"stage_{stage}", "v1", "")
        anew = judge.answer(stage, case_evidence, changed).model_dump_json()
        assert judge.ask(question).text == anew
