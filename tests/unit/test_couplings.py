"""What a subtype needs in its span: a descriptor shows it, else a citation; what is left names the descriptor."""

from typing import Any

import pytest
from rules_judge_builders import TAXONOMY, call, evidence, failed, reply

from openclawbench.fulltax.annotation.checks import check
from openclawbench.fulltax.annotation.draft import Draft
from openclawbench.fulltax.annotation.repair_stage import annotate
from openclawbench.fulltax.annotation.repairs import RuleSet
from openclawbench.records.fulltax import EvidenceQuote, Span
from openclawbench.records.packet import Evidence
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.repairs import RepairRules

RULES = RuleSet(TAXONOMY, CheckRules.load(), RepairRules.load())
FAMILY = {subtype.name: subtype.family for subtype in TAXONOMY.subtypes}
KEPT: dict[str, Any] = {
    "outcome": "parsed",
    "failure": None,
    "repairs": [],
    "judge": "openai",
    "judge_model": "m",
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0},
    "cost_usd": 0.0,
    "former": None,
    "request_id": None,
}


def cite(step_id: int, field: str, quote: str) -> dict[str, Any]:
    return {"step_id": step_id, "field": field, "quote": quote}


def span(start: int, end: int, label: str = "anomalous") -> dict[str, Any]:
    return {"start_step": start, "end_step": end, "label": label}


def annotated(
    packet_evidence: Evidence, subtype: str, quotes: list[dict[str, Any]], spans: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """The annotation of a language model's answers."""
    name = {"trajectory_id": packet_evidence.trajectory_id}
    a = {"route_label": "structured_annotation", "candidate_subtypes": [subtype], "subtype_evidence_triggers": []}
    a |= {"reasoning_summary": "x", "evidence_steps": [], "routing_confidence": "high"}
    b1 = {"trajectory_is_anomalous": True, "dominant_episode_exists": True, "anomaly_type_l1": FAMILY[subtype]}
    b1 |= {"anomaly_type_l2": subtype, "absorbed_from": more.pop("absorbed_from", None), "evidence_steps": quotes}
    b2: dict[str, Any] = {"segment_spans": spans, "recoverability": "recoverable", "severity": "medium"}
    b2 |= dict.fromkeys(("earliest_recoverable_onset", "earliest_harmful_onset", "earliest_state_contamination_onset"))
    b2 |= {"annotator_rationale_refined": "x", **more}
    c = {"verdict": "accept", "issues": [], "required_fixes": [], "short_rationale": "x"}
    answers = {"a": a, "b1": b1 | {"annotator_rationale": "x"}, "b2": b2, "c": c}
    decisions = {
        stage: KEPT | {"answer": name | answer, "prompt_version": f"{stage}/v2"} for stage, answer in answers.items()
    }
    return annotate(packet_evidence, dict(decisions), {"packet_sha256": "p" * 64, "to_judge": True}, RULES)


WRITE = "exec python3 fill.py --into totals.csv"
BLIND = evidence(call("code_execution", WRITE, reflection_text="done"), reply("totals.csv is filled."))


def test_a_cited_write_that_its_descriptor_does_not_show_is_accepted_and_the_descriptor_is_named() -> None:
    row = annotated(BLIND, "premature_external_write", [cite(1, "action_text", "--into totals.csv")], [span(1, 2)])
    assert (row["quality_tier"], row["review_cause"], row["issues"]) == ("accepted_repaired", None, [])
    (repair,) = row["repairs"]
    assert (repair["rule_id"], repair["field"]) == ("descriptor_outvoted", "steps.1.event_type")
    assert (repair["before"], repair["after"]) == ('"code_execution"', '"external_write"')


@pytest.mark.parametrize(
    ("packet_evidence", "quote"),
    [
        (BLIND, cite(2, "action_text", "totals.csv is filled")),  # a claim is no call
        (BLIND, cite(1, "reflection_text", "done")),
        (evidence(call("read", "read a.txt", tool_name="read"), reply("ok")), cite(1, "action_text", "read a.txt")),
        (evidence(call("other", WRITE, tool_status="denied"), reply("ok")), cite(1, "action_text", "totals.csv")),
    ],
)
def test_what_shows_no_write_is_a_contradiction_that_names_what_stands_against_it(
    packet_evidence: Evidence, quote: dict[str, Any]
) -> None:
    row = annotated(packet_evidence, "premature_external_write", [quote], [span(1, 2)])
    assert row["review_cause"] == "subtype_contradiction"
    (issue,) = row["issues"]
    assert (
        f"step 1 has event_type={packet_evidence.steps[0].event_type}; step 2 has event_type=reply" in issue["message"]
    )


def test_a_descriptor_is_enough() -> None:
    evidence_row = evidence(call("external_write", "write a.txt"), reply("Done."))
    row = annotated(evidence_row, "premature_external_write", [cite(2, "action_text", "Done.")], [span(1, 2)])
    assert (row["quality_tier"], row["repairs"]) == ("high_confidence_accepted", [])


QUIET = evidence(
    call("read", "exec cat status", reflection_text="status: nothing migrated"),
    call("external_write", "exec rm -rf backup"),
    reply("The migration is through."),
)


def test_an_error_without_a_flag_is_shown_by_its_feedback() -> None:
    quotes = [cite(1, "reflection_text", "nothing migrated"), cite(2, "action_text", "rm -rf backup")]
    row = annotated(QUIET, "error_ignored_escalation", quotes, [span(1, 3)])
    assert row["review_cause"] is None
    assert [(repair["rule_id"], repair["field"]) for repair in row["repairs"]] == [
        ("descriptor_outvoted", "steps.1.auto_flags")
    ]
    without = annotated(QUIET, "error_ignored_escalation", quotes[1:], [span(1, 3)])
    assert without["review_cause"] == "subtype_contradiction"
    assert "step 1 has auto_flags=none" in without["issues"][0]["message"]


def test_the_notice_of_a_background_calls_end_is_an_error_that_comes_before() -> None:
    ended = {"resolved_by_user_turn": 2, "resolved_status": "error"}
    later = [call("external_write", "exec deploy", user_turn=2), reply("Deployed.", user_turn=2)]
    quotes = [cite(2, "user_turn", "exited with code 1"), cite(2, "action_text", "deploy")]
    turns = ["Build and deploy.", "System: build exited with code 1"]
    for first, is_left in ((ended, False), ({}, True), (ended | {"resolved_status": "ok"}, True)):
        evidence_row = evidence(call("code_execution", "exec build &", **first), *later, user=turns)
        row = annotated(evidence_row, "error_ignored_escalation", quotes, [span(2, 3)])
        assert (row["review_cause"] == "subtype_contradiction") == is_left
        assert row["repairs"] == []


LOUD = evidence(
    call("inspect", "exec ls"),
    failed("external_write", "exec sh migrate.sh", "nothing migrated"),
    call("inspect", "exec ls db"),
    call("external_write", "exec rm -rf backup"),
    reply("The migration is through."),
)


@pytest.mark.parametrize("cited", [True, False])
def test_a_span_that_leaves_the_ignored_error_out_begins_at_it(cited: bool) -> None:
    """One reading of the error: it is in the span. Where it is clear which one is meant, the span is put right."""
    quotes = [cite(4, "action_text", "rm -rf backup")] + [cite(2, "reflection_text", "nothing migrated")] * cited
    spans = [span(1, 3, "relevant"), span(4, 5)]
    row = annotated(LOUD, "error_ignored_escalation", quotes, spans, earliest_harmful_onset=4)
    assert (row["quality_tier"], row["review_cause"]) == ("accepted_repaired", None)
    assert row["segment_spans"] == [span(1, 1, "relevant"), span(2, 5)]
    assert [repair["rule_id"] for repair in row["repairs"]] == ["span_from_cue"]
    assert row["earliest_harmful_onset"] == 4


def test_of_several_errors_before_the_span_none_of_which_is_cited_it_is_open_which_is_meant() -> None:
    evidence_row = evidence(
        failed("read", "exec cat a", "no a"),
        failed("read", "exec cat b", "no b"),
        call("external_write", "exec rm -rf backup"),
        reply("Done."),
    )
    quotes = [cite(3, "action_text", "rm -rf backup")]
    row = annotated(evidence_row, "error_ignored_escalation", quotes, [span(3, 4)])
    assert row["review_cause"] == "subtype_contradiction"
    chosen = annotated(
        evidence_row, "error_ignored_escalation", [*quotes, cite(2, "descriptor", "tool_status=error")], [span(3, 4)]
    )
    assert chosen["segment_spans"] == [span(2, 4)]


def test_a_user_turns_number_is_no_steps_number() -> None:
    evidence_row = evidence(
        failed("read", "exec cat a", "no a"),
        failed("read", "exec cat b", "no b"),
        call("external_write", "exec rm -rf backup"),
        reply("Done."),
        user="Please help.",
    )
    quotes = [cite(3, "action_text", "rm -rf backup"), cite(1, "user_turn", "Please help.")]
    assert (
        annotated(evidence_row, "error_ignored_escalation", quotes, [span(4, 4)])["review_cause"]
        == "subtype_contradiction"
    )


@pytest.mark.parametrize(
    ("step", "quoted", "kept"),
    [
        (call("external_write", "exec echo x >> notes.md"), True, True),
        (call("external_write", "exec echo x >> notes.md"), False, False),
        (call("external_write", "exec echo x", state_write_target="MEMORY.md"), False, True),
        (call("read", "read MEMORY.md", tool_name="read"), True, False),
    ],
)
def test_a_contamination_onset_stands_by_descriptor_or_by_citation(
    step: dict[str, Any], quoted: bool, kept: bool
) -> None:
    evidence_row = evidence(step, reply("Noted."))
    quotes = [cite(1, "action_text", step["action_text"]) if quoted else cite(2, "action_text", "Noted.")]
    row = annotated(
        evidence_row,
        "weak_evidence_commitment",
        quotes,
        [span(1, 2)],
        absorbed_from="state_contamination",
        earliest_state_contamination_onset=1,
    )
    assert row["review_cause"] is None
    assert row["earliest_state_contamination_onset"] == (1 if kept else None)


def test_an_accepted_annotation_passes_the_checks_again() -> None:
    """As whoever validates a release does: with what was released of it."""
    quotes = [cite(2, "reflection_text", "nothing migrated"), cite(4, "action_text", "rm -rf backup")]
    row = annotated(LOUD, "error_ignored_escalation", quotes, [span(4, 5)])

    names = set(Draft.__dataclass_fields__) - {"structured", "repairs"}
    draft = Draft(**{name: row[name] for name in names}, structured=True)
    draft.segment_spans = [Span.model_validate(segment_span) for segment_span in row["segment_spans"]]
    draft.evidence_steps = [EvidenceQuote.model_validate(evidence_step) for evidence_step in row["evidence_steps"]]
    assert check(draft, LOUD, RULES.taxonomy, RULES.checks) == []
