"""What a detector predicts, and where a file of predictions is from (paper section 5, F.7 to F.10)."""

from typing import Literal

from pydantic import Field

from openclawbench.tables.record import Keyed, Record

Label = Literal[
    "normal",
    "capability_gap_overcommitment",
    "write_under_unresolved_ambiguity",
    "weak_evidence_commitment",
    "premature_external_write",
    "error_ignored_escalation",
]  # the six classes of the paper's vocabulary, in its order (section 5, T43)
Parse = Literal["ok", "repaired", "failed"]
DetectorKind = Literal["baseline", "endpoint", "adapter"]
Protocol = Literal["symbol", "json"]


class LabelProbabilities(Record):
    """A probability for each of the six labels; they sum to 1."""

    normal: float
    capability_gap_overcommitment: float
    write_under_unresolved_ambiguity: float
    weak_evidence_commitment: float
    premature_external_write: float
    error_ignored_escalation: float


class PredictedSpan(Record):
    """The steps that a detector calls anomalous."""

    start_step: int
    end_step: int


class Prediction(Keyed):
    """A line of a predictions file."""

    label: Label | None
    probabilities: LabelProbabilities | None
    probability_mass: float | None
    onset: int | None
    span: PredictedSpan | None
    parse: Parse
    failure: str | None
    answer: str | None
    finish: str | None
    trajectory_sha256: str | None
    characters_left_out: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    request_id: str | None


class DetectorPrompt(Record):
    """The instructions that a detector was asked with."""

    stage: str
    version: str
    sha256: str


class TrainingData(Record):
    """What a detector was fitted to."""

    pool: str
    cut: str
    side: str
    rows: int
    anomalous: int


class PredictionProvenance(Record):
    """PREDICTIONS.provenance.json: which detector made a predictions file, from what. Without it, or where the digest
    differs, a file is listed as unverified."""

    schema_version: str
    detector: str
    kind: DetectorKind
    protocol: Protocol | None
    model: str | None
    endpoint: str | None
    weights_sha256: str | None
    parameters: dict[str, float | str]
    prompt: DetectorPrompt | None
    packet_rules_sha256: str
    trained_on: TrainingData | None
    release_sha256: str
    pool: str
    cut: str
    side: str
    label_judges: list[str]
    label_statuses: list[str]
    rows: int
    predictions_sha256: str
    program_version: str
    date: str | None = Field(default=None)
