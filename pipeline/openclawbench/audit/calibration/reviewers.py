"""Agreement of reviewers, errors by stage, and every disagreement with the silver label."""

from collections import Counter
from collections.abc import Sequence

from openclawbench.audit.calibration.attribution import STAGES, errors, passed_by_c
from openclawbench.audit.calibration.tables import human_label, silver_label
from openclawbench.audit.calibration.verdicts import Verdict
from openclawbench.audit.reviewer_agreement import PAIR_COLUMNS, pair, pairs
from openclawbench.records.calibration import CalibrationReview
from openclawbench.reports.section import Row, Section
from openclawbench.reports.settings import AgreementRules

KINDS = ("miss", "over_flag", "subtype", "onset", "severity", "recoverability", "evidence")
UNRESOLVED = "unresolved"


def reviewers(
    reviews: Sequence[CalibrationReview], verdicts: list[Verdict], number: int, rules: AgreementRules
) -> Section:
    """Agreement of every two reviewers on the rows that both reviewed, without adjudications."""
    by_reviewer: dict[str, dict[str, str]] = {}
    for review in reviews:
        if not review.adjudication:
            by_reviewer.setdefault(review.reviewer, {})[review.row] = verdict_word(review)
    rows = [pair(first, second, by_reviewer[first], by_reviewer[second], rules) for first, second in pairs(by_reviewer)]
    with_several_reviewers = [
        verdict
        for verdict in verdicts
        if len({review.reviewer for review in verdict.reviews if not review.adjudication}) > 1
    ]
    settled_by = Counter(verdict.settled_by for verdict in verdicts)
    return Section(
        name=f"calibration_reviewers_{number}",
        title="Do reviewers agree?",
        about="Every two reviewers on the rows that both reviewed. With one reviewer, agreement is unknown.",
        columns=PAIR_COLUMNS | {"agree": "of these, with the same verdict (anomalous, normal or unresolved)"},
        rows=rows,
        facts={
            "reviewers": len({review.reviewer for review in reviews}),
            "reviewed_by_several": len(with_several_reviewers),
            "settled_by_adjudication": settled_by["adjudication"],
            "to_be_adjudicated": sum(verdict.settled_by == "nobody" for verdict in with_several_reviewers),
        },
        definitions={
            "reviewers": "People with a review record, including adjudicators.",
            "reviewed_by_several": "Trajectories that two or more people reviewed.",
            "settled_by_adjudication": "Trajectories with a row whose `adjudication` is yes.",
            "to_be_adjudicated": "Trajectories on which reviewers differ or are unsure, without an adjudication.",
        },
    )


def verdict_word(review: CalibrationReview) -> str:
    """A review's verdict as one word."""
    return UNRESOLVED if review.human_anomaly_label is None else str(review.human_anomaly_label)


def stages(verdicts: list[Verdict], number: int) -> Section:
    """Errors by the stage that caused them (E.12)."""
    found_errors = [error for verdict in verdicts for error in errors(verdict)]
    rows: list[Row] = [
        {
            "stage": stage or "not known",
            **{kind: sum(error.kind == kind for error in found_errors if error.stage == stage) for kind in KINDS},
            "errors": sum(error.stage == stage for error in found_errors),
            "named_by_reviewers": sum(error.named for error in found_errors if error.stage == stage),
        }
        for stage in (*STAGES, None)
    ]
    return Section(
        name=f"calibration_stages_{number}",
        title="Errors by stage (E.12)",
        about="A miss belongs to A if triage ended the trajectory, else to B1; an over-flag, a wrong subtype and "
        "unsupportive evidence belong to B1; a wrong onset, severity or recoverability to B2. A stage that a reviewer "
        "named takes precedence. C never causes an error, it can only accept one.",
        columns={
            "stage": "stage of FullTax",
            "miss": "silver normal, people anomalous",
            "over_flag": "silver anomalous, people normal",
            "subtype": "another subtype",
            "onset": "another onset",
            "severity": "another severity",
            "recoverability": "another recoverability",
            "evidence": "the cited evidence does not support the label",
            "errors": "all of these; a trajectory can have several",
            "named_by_reviewers": "of these, errors whose stage a reviewer named",
        },
        rows=rows,
        facts={"let_through_by_c": sum(passed_by_c(verdict) for verdict in verdicts)},
        definitions={"let_through_by_c": "Trajectories with an error that Stage C verified and accepted."},
    )


def disagreements(verdicts: list[Verdict], number: int, shown: int) -> Section:
    """Every trajectory whose verdict differs from the silver label in any field, or is unresolved."""
    rows: list[Row] = [
        {
            "source_model": verdict.row.source_model,
            "trajectory_id": verdict.row.trajectory_id,
            "slice_label": verdict.row.slice_label,
            "agreement_status": verdict.status,
            "silver": silver_label(verdict),
            "human": human_label(verdict),
            "silver_onset": verdict.row.silver_onset,
            "human_onset": verdict.onset,
            "settled_by": verdict.settled_by,
            "stages": sorted({error.stage or "not known" for error in errors(verdict)}),
            "audit_comment": verdict.comments,
        }
        for verdict in verdicts
        if verdict.status != "agreement" or errors(verdict)
    ]
    return Section(
        name=f"calibration_disagreements_{number}",
        title="Disagreements",
        about="`openclawbench explain ID` shows where the silver label comes from.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "slice_label": "risk slice",
            "agreement_status": "T35",
            "silver": "silver label",
            "human": "settled human label",
            "silver_onset": "earliest_recoverable_onset",
            "human_onset": "onset that people named; a dash if none",
            "settled_by": "one reviewer, agreeing reviewers, an adjudication, or nobody",
            "stages": "stages that caused its errors",
            "audit_comment": "the reviewers' words",
        },
        rows=rows,
        shown=shown,
    )
