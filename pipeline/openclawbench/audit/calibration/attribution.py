"""Which stage a wrong label goes back to, where the verdict and the stages' answers allow it (paper E.12)."""

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
    stage: str | None  # null: the stages' answers do not say
    named: bool  # a reviewer named the stage


def errors(one: Verdict) -> list[Error]:
    """Everything that is wrong with one label, each with the stage that decided it.

    A miss goes back to A where triage ended it, else to B1; an over-flag, a subtype and the cited evidence to B1;
    onset, severity and recoverability to B2. A stage that a reviewer named goes before.
    """
    if one.label is None:
        return []
    found = [(kind, stage) for kind, stage in derived(one)]
    named = one.said["error_stage"]
    return [Error(kind, named or stage, named is not None) for kind, stage in found]


def derived(one: Verdict) -> list[tuple[str, str | None]]:
    """(kind, stage) by the rule above."""
    if one.label and not one.silver:
        return [("miss", missed_by(one))]
    found: list[tuple[str, str | None]] = []
    if one.silver and not one.label:
        found.append(("over_flag", "b1" if one.row.b1_is_anomalous else None))
    if one.other_subtype:
        found.append(("subtype", "b1"))
    if one.other_onset:
        found.append(("onset", "b2"))
    if one.label and one.silver:
        for name, (kind, silver) in STRUCTURE.items():
            if one.said[name] is not None and one.said[name] != getattr(one.row, silver):
                found.append((kind, "b2"))
    if one.said["evidence_supported"] is False and one.silver:
        found.append(("evidence", "b1"))
    return found


def missed_by(one: Verdict) -> str | None:
    """The stage that ended a trajectory as normal."""
    if one.row.b1_is_anomalous is False:
        return "b1"
    return "a" if one.row.route_label == TRIAGE_NEGATIVE else None


def passed_by_c(one: Verdict) -> bool:
    """True where Stage C was asked about a label that people find wrong, and let it through."""
    return bool(errors(one)) and one.row.c_verdict in PASSED
