"""Human-audited anomaly calibration (paper T35): what a reviewer sees, the verdict, and its form in a release."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from openclawbench.records.fulltax import EvidenceQuote
from openclawbench.records.vocabulary import LabelStatus, QualityTier, Recoverability, Severity, SliceLabel, Subtype
from openclawbench.tables.record import Keyed, Record

AgreementStatus = Literal["agreement", "minor_correction", "major_disagreement", "unresolved"]  # paper T35
ErrorStage = Literal["a", "b1", "b2", "c"]  # paper E.12
SettledBy = Literal["one reviewer", "agreeing reviewers", "adjudication", "nobody"]
CHOSEN = "c-chosen"  # the sample of trajectories that reviewers chose


class CalibrationSheetRow(Record):
    """One trajectory of a calibration sample, as the sheet shows it. Silver columns are null in a blind sample."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    guide: str
    num_steps: int
    user_turns: str
    trajectory: str
    show: str
    silver_anomaly_label: bool | None
    silver_subtype: str | None
    silver_onset: int | None
    silver_evidence: list[str] | None


class CalibrationSampleRow(Record):
    """The same row as drawn, with everything that a verdict is compared with. Nobody fills it in."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    blind: bool
    guide: str
    num_steps: int
    user_turns: str
    trajectory: str
    show: str
    slice_label: str
    quality_tier: str
    silver_anomaly_label: bool
    silver_subtype: str | None
    silver_onset: int | None
    silver_evidence: list[str]
    silver_severity: str | None
    silver_recoverability: str | None
    route_label: str | None
    b1_is_anomalous: bool | None
    c_verdict: str | None


class CalibrationReview(Record):
    """A reviewer's verdict on one trajectory: the fields of T35 beside the silver label, which it never changes."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    blind: bool
    silver_anomaly_label: bool
    human_anomaly_label: bool | None
    silver_subtype: str | None
    human_subtype: Subtype | None
    silver_onset: int | None
    human_onset: int | None
    onset_reviewed: bool
    human_severity: Severity | None
    human_recoverability: Recoverability | None
    human_evidence: list[EvidenceQuote] = Field(default=[])
    evidence_supported: bool | None
    error_stage: ErrorStage | None
    agreement_status: AgreementStatus
    audit_comment: str | None
    adjudication: bool
    reviewer: str
    reviewed_at: str
    sheet_sha256: str


class CalibrationStratum(Record):
    """One risk slice and silver label of a sample that `--allocate neyman` drew."""

    slice_label: SliceLabel
    silver_anomalous: bool
    drawn: int
    pool: int
    population: int
    expected_share: float


class CalibrationSample(Record):
    """What a calibration sample was drawn from, and how."""

    sample: str
    seed: int
    asked: int | None
    blind: bool
    drawn: dict[str, int]
    pool: dict[str, int]
    population: dict[str, int]
    allocation: Literal["equal", "neyman", "chosen"] = "equal"
    pool_kind: Literal["calibration", "labelled"] = "calibration"
    strata: list[CalibrationStratum] = Field(default=[])
    failing_in_pool: int
    judges: list[str]
    release: str
    rules: dict[str, str]


def agreement_status(row: Mapping[str, Any]) -> AgreementStatus:
    """Verdict against silver label, from the human and silver fields of a row (paper T35): major where the binary label
    differs, minor where the subtype or the onset that the reviewer named differs."""
    human, silver = row["human_anomaly_label"], row["silver_anomaly_label"]
    if human is None:
        return "unresolved"
    if human != silver:
        return "major_disagreement"
    other_subtype = human and row["human_subtype"] is not None and row["human_subtype"] != row["silver_subtype"]
    other_onset = human and row["onset_reviewed"] and row["human_onset"] != row["silver_onset"]
    return "minor_correction" if other_subtype or other_onset else "agreement"


class HumanVerdict(Keyed):
    """All reviews of one trajectory together, without the names and comments of reviewers (paper F.2 ii, T40)."""

    human_anomaly_label: bool | None
    human_subtype: Subtype | None
    human_onset: int | None
    onset_reviewed: bool
    human_severity: Severity | None
    human_recoverability: Recoverability | None
    evidence_supported: bool | None
    error_stage: ErrorStage | None
    settled_by: SettledBy
    reviewers: int
    blind: bool
    silver_anomaly_label: bool
    silver_subtype: str | None
    silver_onset: int | None
    agreement_status: AgreementStatus


class HumanAudited(HumanVerdict):
    """A line of human_audited.jsonl: the verdict beside the silver label that the release has."""

    task_id: str | None
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    quality_tier: QualityTier
    label_status: LabelStatus
    same_label: bool
