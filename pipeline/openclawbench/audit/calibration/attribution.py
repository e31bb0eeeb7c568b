"""Attribute a wrong label to the stage that caused it, where the verdict and the stages' answers tell (paper E.12)."""

from typing import NamedTuple

from openclawbench.audit.calibration.verdicts import Verdict

TRIAGE_NEGATIVE = "no_anomaly_evidence"
PASSED = ("accept", "revise")  # verdicts of Stage C that let an annotation through
STAGES = ("a", "b1", "b2", "c")
STRUCTURE = {
    "human_severity": ("severity", "silver_severity"),
    "human_recoverability": ("recoverability", "silver_recoverability"),
}


class Error(NamedTuple):
    """One thing that people found wrong with an annotation."""

    kind: str  # miss | over_flag | subtype | onset | severity | recoverability | evidence
    stage: str | None  # None: unknown
    named: bool  # a reviewer named the stage


def errors(verdict: Verdict) -> list[Error]:
    """Every error of one label, with the stage that decided it.

    A miss belongs to A if triage ended the trajectory, else to B1. An over-flag, a subtype and the cited evidence
    belong to B1; onset, severity and recoverability to B2. A stage that a reviewer named takes precedence.
    """
    if verdict.label is None:
        return []
    named_stage = verdict.answers["error_stage"]
    return [Error(kind, named_stage or stage, named_stage is not None) for kind, stage in derive_error(verdict)]


def derive_error(verdict: Verdict) -> list[tuple[str, str | None]]:
    """(kind, stage) by the rule above."""
    if verdict.label and not verdict.silver:
        return [("miss", missed_by(verdict))]
    findings: list[tuple[str, str | None]] = []
    if verdict.silver and not verdict.label:
        findings.append(("over_flag", "b1" if verdict.row.b1_is_anomalous else None))
    if verdict.other_subtype:
        findings.append(("subtype", "b1"))
    if verdict.other_onset:
        findings.append(("onset", "b2"))
    if verdict.label and verdict.silver:
        for name, (kind, silver) in STRUCTURE.items():
            if verdict.answers[name] is not None and verdict.answers[name] != getattr(verdict.row, silver):
                findings.append((kind, "b2"))
    if verdict.answers["evidence_supported"] is False and verdict.silver:
        findings.append(("evidence", "b1"))
    return findings


def missed_by(verdict: Verdict) -> str | None:
    """The stage that ended a trajectory as normal."""
    if verdict.row.b1_is_anomalous is False:
        return "b1"
    return "a" if verdict.row.route_label == TRIAGE_NEGATIVE else None


def passed_by_c(verdict: Verdict) -> bool:
    """True if Stage C verified a label that people find wrong, and accepted it."""
    return bool(errors(verdict)) and verdict.row.c_verdict in PASSED
