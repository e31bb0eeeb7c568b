"""Human-audited anomaly calibration (paper T35): what a reviewer sees of a trajectory, and what a reviewer said."""

from collections.abc import Mapping
from typing import Any, Literal

from openclawbench.records.vocabulary import Recoverability, Severity, Subtype
from openclawbench.tables.record import Record

AgreementStatus = Literal["agreement", "minor_correction", "major_disagreement", "unresolved"]  # paper T35
ErrorStage = Literal["a", "b1", "b2", "c"]  # paper E.12


class CalibrationSheetRow(Record):
    """One trajectory of a calibration sample, as the sheet shows it. Silver columns are null in a blind sample."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    guide: str  # the file that says how to review
    num_steps: int
    user_turns: str
    trajectory: str  # its steps as text
    show: str  # the command that prints it
    silver_anomaly_label: bool | None
    silver_subtype: str | None
    silver_onset: int | None
    silver_evidence: list[str] | None


class CalibrationSampleRow(Record):
    """The same as drawn, with everything that a verdict is compared with; nobody fills this in."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    blind: bool  # true where the sheet hides the silver label
    guide: str
    num_steps: int
    user_turns: str
    trajectory: str
    show: str
    slice_label: str
    quality_tier: str
    silver_anomaly_label: bool
    silver_subtype: str | None
    silver_onset: int | None  # earliest_recoverable_onset
    silver_evidence: list[str]
    silver_severity: str | None
    silver_recoverability: str | None
    route_label: str | None  # Stage A's
    b1_is_anomalous: bool | None  # Stage B1's; null where it was not asked
    c_verdict: str | None  # Stage C's


class CalibrationReview(Record):
    """A reviewer's verdict on one trajectory: T35's fields beside the silver label, which it never changes."""

    sample: str
    row: str
    source_model: str
    trajectory_id: str
    blind: bool
    silver_anomaly_label: bool
    human_anomaly_label: bool | None  # null: unresolved
    silver_subtype: str | None
    human_subtype: Subtype | None  # null: not named
    silver_onset: int | None
    human_onset: int | None
    onset_reviewed: bool  # false: human_onset says nothing
    human_severity: Severity | None  # null: not reviewed
    human_recoverability: Recoverability | None  # null: not reviewed
    evidence_supported: bool | None  # null: not reviewed
    error_stage: ErrorStage | None  # the stage that the reviewer holds to be at fault
    agreement_status: AgreementStatus
    audit_comment: str | None
    adjudication: bool  # true: settles a row on which reviewers differ
    reviewer: str
    reviewed_at: str  # ISO 8601
    sheet_sha256: str


class CalibrationSample(Record):
    """What a calibration sample was drawn from, and how."""

    sample: str
    seed: int
    asked: int | None  # null: the whole pool
    blind: bool
    drawn: dict[str, int]  # slice -> trajectories in the sample
    pool: dict[str, int]  # slice -> trajectories in the release's pool
    population: dict[str, int]  # slice -> accepted oracle-passing trajectories of the release
    failing_in_pool: int  # trajectories of the pool that do not pass their oracle: 0 in a valid release
    judges: list[str]  # who made the silver labels
    release: str  # sha256 of its CHECKSUMS.sha256
    rules: dict[str, str]  # rule file -> digest


def agreement_status(row: Mapping[str, Any]) -> AgreementStatus:
    """What a verdict says of the silver label that was reviewed, from the human and silver fields beside each other
    (paper T35): major where the binary label differs, minor where the subtype or the onset that a person named does."""
    human, silver = row["human_anomaly_label"], row["silver_anomaly_label"]
    if human is None:
        return "unresolved"
    if human != silver:
        return "major_disagreement"
    other_subtype = human and row["human_subtype"] is not None and row["human_subtype"] != row["silver_subtype"]
    other_onset = human and row["onset_reviewed"] and row["human_onset"] != row["silver_onset"]
    return "minor_correction" if other_subtype or other_onset else "agreement"
