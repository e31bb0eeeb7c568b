"""Verdicts of people on trajectories, as a release has them beside its silver labels (paper F.2 ii, T35, T40)."""

from typing import Literal

from openclawbench.records.calibration import AgreementStatus, ErrorStage
from openclawbench.records.vocabulary import LabelStatus, QualityTier, Recoverability, Severity, Subtype
from openclawbench.tables.record import Keyed

SettledBy = Literal["one reviewer", "agreeing reviewers", "adjudication", "nobody"]


class HumanVerdict(Keyed):
    """All reviews of one trajectory together, without the names and comments of reviewers."""

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
