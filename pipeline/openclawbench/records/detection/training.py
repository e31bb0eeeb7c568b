"""What a detector is trained on, and what was trained (paper T42, F.10)."""

from typing import Literal

from pydantic import Field

from openclawbench.records.detection.prediction import DetectorPrompt, Label, TrainingData
from openclawbench.tables.record import Count, Keyed, Record

Form = Literal["chat", "completion", "messages"]
PromptForm = Literal["chat", "completion"]


class TrainingRow(Keyed):
    """A line of rows.jsonl: what the same line of the training file is. Nothing of it is learned but the symbol."""

    label: Label
    symbol: str
    tokens: int
    blocks_left_out: int
    texts_shortened: int
    characters_left_out: int
    trajectory_sha256: str
    packet_sha256: str


class EpochRows(Record):
    """A line of epochs.jsonl: the rows of an epoch."""

    epoch: int
    rows: list[int]


class TrainingTokens(Record):
    """Lengths of training rows."""

    total: int
    median: int
    longest: int
    counted_by: str


class FileDigest(Record):
    """A file and its digest."""

    name: str
    sha256: str


class TrainingExport(Record):
    """manifest.json: from what training rows were made, what was left out, and how epochs are drawn."""

    schema_version: str
    form: Form
    rows: int
    labels: list[Count]
    left_out: list[Count]
    shortened: int
    characters_left_out: int
    tokens: TrainingTokens
    max_tokens: int
    normal_per_anomalous: float
    rows_of_an_epoch: int
    epochs: int
    seed: int
    prompt: DetectorPrompt
    packet_rules_sha256: str
    recipe_sha256: str
    release_sha256: str
    pool: str
    cut: str
    side: str
    label_judges: list[str]
    label_statuses: list[str]
    files: list[FileDigest]
    program_version: str


class TrainedPhase(Record):
    """The result of one phase of a training."""

    epochs: int
    rows_of_an_epoch: int
    steps: int
    chosen_step: int
    validation_loss: float | None
    last_loss: float


class PackageVersion(Record):
    """A package that was used, with its version."""

    name: str
    version: str


class AdapterProvenance(Record):
    """provenance.json beside an adapter: from what it was trained."""

    schema_version: str
    base_model: str
    base_sha256: str
    recipe: str
    recipe_sha256: str
    seed: int
    form: PromptForm
    prompt: DetectorPrompt
    packet_rules_sha256: str
    release_sha256: str
    trained_on: TrainingData
    rows_sha256: str
    left_out: list[Count]
    label_judges: list[str]
    label_statuses: list[str]
    validation_rows: int
    tokens: TrainingTokens
    max_tokens: int
    label_tokens: int
    phases: list[TrainedPhase]
    chosen_phase: int
    devices: int
    device: str
    dtype: str
    accumulation: int
    versions: list[PackageVersion]
    files: list[FileDigest]
    program_version: str
    date: str | None = Field(default=None)
