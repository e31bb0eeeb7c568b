"""Who reviewed, whether reviewers agree, which stage errors go back to, and every disagreement."""

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
UNDECIDED = "unresolved"


def reviewers(
    reviews: Sequence[CalibrationReview], verdicts: list[Verdict], number: int, rules: AgreementRules
) -> Section:
    """Agreement of each two reviewers on the rows that both reviewed, adjudications left out."""
    own: dict[str, dict[str, str]] = {}
    for one in reviews:
        if not one.adjudication:
            own.setdefault(one.reviewer, {})[one.row] = spoken(one)
    rows = [pair(a, b, own[a], own[b], rules) for a, b in pairs(own)]
    several = [
        one for one in verdicts if len({review.reviewer for review in one.reviews if not review.adjudication}) > 1
    ]
    how = Counter(one.settled_by for one in verdicts)
    return Section(
        name=f"calibration_reviewers_{number}",
        title="Do reviewers agree?",
        about="Each two reviewers on the rows that both reviewed. One reviewer alone says nothing of how far another "
        "would agree.",
        columns=PAIR_COLUMNS | {"agree": "of these, with the same verdict (anomalous, normal or unresolved)"},
        rows=rows,
        facts={
            "reviewers": len({one.reviewer for one in reviews}),
            "reviewed_by_several": len(several),
            "settled_by_adjudication": how["adjudication"],
            "to_be_adjudicated": sum(one.settled_by == "nobody" for one in several),
        },
        definitions={
            "reviewers": "People with a review record, adjudicators among them.",
            "reviewed_by_several": "Trajectories that two or more people reviewed.",
            "settled_by_adjudication": "Trajectories with a row whose `adjudication` is yes.",
            "to_be_adjudicated": "Trajectories on which reviewers differ, or are all unsure, and that nobody settled.",
        },
    )


def spoken(one: CalibrationReview) -> str:
    """A verdict in a word."""
    return UNDECIDED if one.human_anomaly_label is None else str(one.human_anomaly_label)


def stages(verdicts: list[Verdict], number: int) -> Section:
    """Errors by the stage that they go back to (E.12)."""
    found = [error for one in verdicts for error in errors(one)]
    rows: list[Row] = [
        {
            "stage": stage or "not known",
            **{kind: sum(one.kind == kind for one in found if one.stage == stage) for kind in KINDS},
            "errors": sum(one.stage == stage for one in found),
            "named_by_reviewers": sum(one.named for one in found if one.stage == stage),
        }
        for stage in (*STAGES, None)
    ]
    return Section(
        name=f"calibration_stages_{number}",
        title="Which stage errors go back to (E.12)",
        about="A miss goes back to A where triage ended the trajectory, else to B1; an over-flag, another subtype and "
        "evidence that does not carry to B1; another onset, severity or recoverability to B2. A stage that a reviewer "
        "named goes before this rule. C decides nothing by itself: it lets through.",
        columns={
            "stage": "stage of FullTax",
            "miss": "silver normal, people anomalous",
            "over_flag": "silver anomalous, people normal",
            "subtype": "another subtype",
            "onset": "another onset",
            "severity": "another severity",
            "recoverability": "another recoverability",
            "evidence": "the cited evidence does not carry the label",
            "errors": "all of these; a trajectory can have several",
            "named_by_reviewers": "of these, those whose stage a reviewer named",
        },
        rows=rows,
        facts={"let_through_by_c": sum(passed_by_c(one) for one in verdicts)},
        definitions={"let_through_by_c": "Trajectories with an error that Stage C was asked about and did not stop."},
    )


def disagreements(verdicts: list[Verdict], number: int, shown: int) -> Section:
    """Every trajectory whose settled verdict is not the silver label in all, and those that are open."""
    rows: list[Row] = [
        {
            "source_model": one.row.source_model,
            "trajectory_id": one.row.trajectory_id,
            "slice_label": one.row.slice_label,
            "agreement_status": one.status,
            "silver": silver_label(one),
            "human": human_label(one),
            "silver_onset": one.row.silver_onset,
            "human_onset": one.onset,
            "settled_by": one.settled_by,
            "stages": sorted({error.stage or "not known" for error in errors(one)}),
            "audit_comment": one.comments,
        }
        for one in verdicts
        if one.status != "agreement" or errors(one)
    ]
    return Section(
        name=f"calibration_disagreements_{number}",
        title="Disagreements",
        about="`openclawbench explain ID` shows how the silver label came to be.",
        columns={
            "source_model": "source model",
            "trajectory_id": "trajectory",
            "slice_label": "risk slice",
            "agreement_status": "T35",
            "silver": "silver label",
            "human": "settled human label",
            "silver_onset": "earliest_recoverable_onset",
            "human_onset": "onset that people named; a dash where none",
            "settled_by": "one reviewer, agreeing reviewers, an adjudication, or nobody",
            "stages": "stages that its errors go back to",
            "audit_comment": "the reviewers' words",
        },
        rows=rows,
        shown=shown,
    )
