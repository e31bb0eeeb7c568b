"""What leaves the pipeline: the merged record (paper T32, T38), label rows, summaries."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.records.fulltax import (
    EvidenceQuote,
    FormerAnswer,
    Issue,
    PromptVersions,
    Repair,
    Span,
    StageA,
    StageB1,
    StageB2,
    StageC,
    Usage,
)
from openclawbench.records.oracle import OracleRecord
from openclawbench.records.packet import EventTypeCounts, EvidenceStep, LanguageCounts, PacketUserTurn, StepLanguage
from openclawbench.records.risk import OnsetCandidates, RiskContribution, RiskSignals
from openclawbench.records.session import AbandonedStep, CollectionProvenance, TraceSummary
from openclawbench.tables.record import Keyed, Record


class Stages(Record):
    """Each stage's parsed answer, or null where it was not asked."""

    a: StageA | None
    b1: StageB1 | None
    b2: StageB2 | None
    c: StageC | None


class Provenance(Record):
    """What made the label."""

    judge: str | None
    judge_model: str | None
    prompt_versions: PromptVersions
    schema_version: str
    rules_version: str
    packet_sha256: str
    usage: Usage
    cost_usd: float
    request_ids: list[str]


class Master(Keyed):
    """A line of master_table_all.jsonl: names and nesting are the contract."""

    parent_trajectory_id: str | None
    continues_trajectory_id: str | None
    session_id: str | None
    subset: str | None
    task_id: str | None
    attempt: int | None
    mode: str | None
    collection: CollectionProvenance | None
    source_format: str
    models: list[str]
    num_steps: int
    truncated: bool
    order_ambiguous: bool
    compacted: bool
    escaped_fields: list[str]
    user_turns: list[PacketUserTurn]
    steps: list[EvidenceStep]
    abandoned_steps: list[AbandonedStep]
    event_type_counts: EventTypeCounts
    languages: list[StepLanguage]
    language_counts: LanguageCounts
    trace_summary: TraceSummary
    oracle_outcome: str | None
    oracle: OracleRecord | None
    pass_but_high_risk: bool | None
    fail_but_low_risk: bool | None
    risk_score_raw: float
    risk_score: float
    risk_bucket: str
    risk_signals: RiskSignals
    risk_breakdown: list[RiskContribution]
    slice_label: str | None
    onset_candidates: OnsetCandidates
    is_anomalous: bool | None
    anomaly_type_l1: str | None
    anomaly_type_l2: str | None
    absorbed_from: str | None
    dominant_episode_exists: bool | None
    evidence_steps: list[EvidenceQuote]
    segment_spans: list[Span]
    earliest_recoverable_onset: int | None
    earliest_harmful_onset: int | None
    earliest_state_contamination_onset: int | None
    severity: str | None
    recoverability: str | None
    annotator_rationale: str | None
    quality_tier: str | None
    label_status: str
    review_cause: str | None
    repairs: list[Repair]
    stages: Stages
    provenance: Provenance


class StageRaw(Keyed):
    """A line of stage_*_raw_pass<N>.jsonl: the answer verbatim beside what it came to."""

    stage: str
    purpose: str
    judge: str
    judge_model: str
    prompt_version: str
    packet_sha256: str
    request_sha256: str
    response_text: str
    former: FormerAnswer | None
    outcome: str
    failure: str | None
    parsed: str | None
    issues: list[Issue]
    repairs: list[Repair]


class PositiveStructured(Keyed):
    """A line of positives_structured_all.jsonl: an accepted anomalous trajectory without its steps."""

    parent_trajectory_id: str | None
    session_id: str | None
    subset: str | None
    task_id: str | None
    attempt: int | None
    source_format: str
    models: list[str]
    num_steps: int
    event_type_counts: EventTypeCounts
    oracle_outcome: str | None
    risk_score: float
    risk_bucket: str
    slice_label: str | None
    is_anomalous: bool | None
    anomaly_type_l1: str | None
    anomaly_type_l2: str | None
    absorbed_from: str | None
    dominant_episode_exists: bool | None
    evidence_steps: list[EvidenceQuote]
    segment_spans: list[Span]
    earliest_recoverable_onset: int | None
    earliest_harmful_onset: int | None
    earliest_state_contamination_onset: int | None
    severity: str | None
    recoverability: str | None
    annotator_rationale: str | None
    quality_tier: str
    label_status: str
    repairs: list[Repair]
    provenance: Provenance


class ReleaseLine(Keyed):
    """One rendered line and the files that have it."""

    ROWS_AT_ONCE: ClassVar[int] = 32  # a release is merged from all shards at once: few rows of each in memory
    files: list[str]
    line: str


class LineSize(Keyed):
    """The size of a record's line in the master table, by which its files are divided."""

    bytes: int


class ReleaseFind(Keyed):
    """One find in a rendered line, masked: what looks like a key or personal data."""

    file: str
    step_id: int | None
    place: str
    group: str
    kind: str
    excerpt: str
    in_name: bool


class LabelRow(Keyed):
    """A line of the silver label files."""

    task_id: str | None
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    quality_tier: str
    label_status: str
    scoreable: bool
    in_calibration_pool: bool


class PoolRow(Keyed):
    """A line of calibration_pool.jsonl."""

    task_id: str | None
    slice_label: str


class LabelAssignment(LabelRow):
    """A label row and its side in each cut; null, with a reason, where it is in no label file."""

    REASONS: ClassVar[list[str]] = ["default_cut", "default_reason"]
    slice_label: str | None
    default_cut: str | None
    paper_cut: str | None
    default_reason: str | None
    paper_reason: str | None


class Fingerprint(Keyed):
    """What duplicates are found by: a digest of the normalized texts, and their MinHash."""

    text_sha256: str
    minhash: list[int]


class LabelPlace(Keyed):
    """What decides the sides of a record by itself: `zone` by the hash of its task, numbers in [0, 1) by those of its
    key. `reason`: why it is in no label file; `sketch`: number of its MinHash, null without text."""

    label_status: str
    reason: str | None
    zone: str
    task: int
    subset: str
    default_place: float
    paper_place: float
    calibration_place: float | None
    slice_label: str | None
    sketch: int | None


class Sketch(Record):
    """A distinct MinHash of a shard under its number; 4 bytes a value."""

    sketch: int
    minhash: bytes


class SketchBand(Record):
    """A row of the index for near duplicates: sketches with a bucket in common are compared."""

    partition: int
    bucket: int
    sketch: int


class PaperStratum(Record):
    """A stratum of the paper cut: its test side ends with `last_place`; null where it has none."""

    label_status: str
    source_model: str
    subset: str
    last_place: float | None


class PoolMember(Keyed):
    """A record of the calibration pool."""


class NearSide(Record):
    """A side on which a record with a MinHash like this one is: the name of a cut (its test side), or of what is kept
    back."""

    sketch: int
    side: str


class SideCount(Record):
    """Records of a shard with all of this in common. `certified`: of the label_status that certificates are about."""

    task: int
    source_model: str
    default_cut: str | None
    paper_cut: str | None
    in_calibration_pool: bool
    certified: bool
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    count: int


class NearCount(Record):
    """Records of a shard on the train side of a cut that are near duplicates of one on its test side, or of one of the
    calibration pool."""

    cut: str
    near_test: int
    near_pool: int


class RecordIndexRow(Keyed):
    """A line of record_index.jsonl: the digest of a record's line, and what decides its side beside the record."""

    record_sha256: str
    partial_trial: bool
    redacted: bool
    text_sha256: str | None
    minhash: list[int] | None


class SplitCertificate(Record):
    """The part of splits.json about one cut: counts, reasons, leakage."""

    cut: str
    certificate: str


class LabelBasis(Keyed):
    """The slim columns of a merged record from which splits and summaries are made."""

    subset: str | None
    task_id: str | None
    task_digest: str
    oracle_outcome: str | None
    slice_label: str | None
    risk_bucket: str
    risk_score: float
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    absorbed_from: str | None
    quality_tier: str | None
    review_cause: str | None
    repair_rules: list[str]
    asked_a: bool
    asked_b1: bool
    asked_b2: bool
    asked_c: bool
    route_label: str | None
    num_steps: int
    incomplete: bool
    partial_trial: bool
    event_type_counts: EventTypeCounts
    judge: str | None
    judge_model: str | None


class SummaryCount(Record):
    """One number of dataset_summary.json."""

    source_model: str
    group: str
    name: str
    count: int


class ShardCount(SummaryCount):
    """The part of such a number that one shard has."""


Masters = Annotated[pl.LazyFrame, Master]
ReleaseLines = Annotated[pl.LazyFrame, ReleaseLine]
LineSizes = Annotated[pl.LazyFrame, LineSize]
ReleaseFinds = Annotated[pl.LazyFrame, ReleaseFind]
LabelBases = Annotated[pl.LazyFrame, LabelBasis]
Fingerprints = Annotated[pl.LazyFrame, Fingerprint]
LabelPlaces = Annotated[pl.LazyFrame, LabelPlace]
Sketches = Annotated[pl.LazyFrame, Sketch]
SketchBands = Annotated[pl.LazyFrame, SketchBand]
PaperStrata = Annotated[pl.LazyFrame, PaperStratum]
PoolMembers = Annotated[pl.LazyFrame, PoolMember]
NearSides = Annotated[pl.LazyFrame, NearSide]
SideCounts = Annotated[pl.LazyFrame, SideCount]
NearCounts = Annotated[pl.LazyFrame, NearCount]
SplitCertificates = Annotated[pl.LazyFrame, SplitCertificate]
LabelAssignments = Annotated[pl.LazyFrame, LabelAssignment]
SummaryCounts = Annotated[pl.LazyFrame, SummaryCount]
ShardCounts = Annotated[pl.LazyFrame, ShardCount]
