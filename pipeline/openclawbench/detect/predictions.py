"""Predictions files, written and read: JSONL rows of records/detection/prediction.py, with a provenance file beside.

A file from elsewhere may lack fields: label or probabilities, with the key, are enough. Lines that cannot be read are
named and counted; the others are used.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.detect.settings import LABELS, NORMAL, DetectRules
from openclawbench.errors import UnreadableInput
from openclawbench.records.detection.prediction import (
    Label,
    LabelProbabilities,
    Prediction,
    PredictionProvenance,
)
from openclawbench.release.record_key import Key, key_of
from openclawbench.reports.files import as_json
from openclawbench.storage.data_folder import sha256_file, write_atomic

SCHEMA_VERSION = "1"
KEY_FIELDS = ("source_model", "trajectory_id")
DEFAULTS: dict[str, Any] = {  # of fields that a file from elsewhere may lack
    "probabilities": None,
    "probability_mass": None,
    "onset": None,
    "span": None,
    "failure": None,
    "answer": None,
    "finish": None,
    "trajectory_sha256": None,
    "characters_left_out": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "cost_usd": 0.0,
    "request_id": None,
}
COUNTED = ("probability_mass", "cost_usd", "prompt_tokens", "completion_tokens", "characters_left_out")
OF_THE_FILE = ("schema_version", "predictions_sha256")  # fields of a provenance, beside rows
NO_FILE, OTHER_DIGEST = "has no provenance file", "is not the file that its provenance describes"


@dataclass(frozen=True)
class LineFault:
    """A line that cannot be used, or not as it is."""

    line: int
    reason: str  # a reason of docs/guides/detectors.md
    message: str


@dataclass
class PredictionsFile:
    """A predictions file as read. `unverified`: why nothing is known of where it is from; None where it is known.
    `shown`: a name that tells it from other files of the same detector."""

    path: Path
    sha256: str | None = None
    rows: dict[Key, Prediction] = field(default_factory=dict)
    faults: list[LineFault] = field(default_factory=list)
    lines: int = 0
    provenance: PredictionProvenance | None = None
    unverified: str | None = None
    shown: str | None = None

    @property
    def detector(self) -> str:
        """The detector's name, or that of the file."""
        return self.provenance.detector if self.provenance else self.path.stem

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.shown or self.detector

    @property
    def fault_counts(self) -> dict[str, int]:
        """Reason -> number of lines."""
        counts: dict[str, int] = {}
        for fault in self.faults:
            counts[fault.reason] = counts.get(fault.reason, 0) + 1
        return dict(sorted(counts.items()))


def prediction(key: Key, **values: Any) -> Prediction:
    """A row; fields that are not given are null or 0, and the answer was read."""
    model, trajectory = key
    fields = {"source_model": model, "trajectory_id": trajectory, "parse": "ok", **values}
    return Prediction.model_validate(DEFAULTS | {"label": None} | fields)


def probabilities_of(values: Iterable[float]) -> LabelProbabilities:
    """Six probabilities in the order of the labels."""
    return LabelProbabilities.model_validate(dict(zip(LABELS, map(float, values), strict=True)))


def anomaly_score(row: Prediction) -> float | None:
    """1 - p(normal); None without probabilities."""
    return None if row.probabilities is None else 1.0 - row.probabilities.normal


def best_label(probabilities: Sequence[float]) -> Label:
    """The most probable of six probabilities in the order of the labels, the first of equals."""
    return LABELS[max(range(len(LABELS)), key=lambda place: (probabilities[place], -place))]


def most_probable(row: Prediction) -> Label | None:
    """The most probable label, the first of equals; None without probabilities."""
    return None if row.probabilities is None else best_label(list(row.probabilities.model_dump().values()))


def provenance_path(path: Path) -> Path:
    """The provenance file of a predictions file."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.provenance.json")


def write_predictions(path: Path, rows: Iterable[Prediction], provenance: Mapping[str, Any]) -> PredictionProvenance:
    """Write the rows, sorted by key, and the provenance last: with it the file is whole. The fields rows,
    predictions_sha256 and schema_version are added. Returns what was written."""
    lines = [f"{canonical_json(row)}\n".encode() for row in sorted(rows, key=lambda row: key_of(row.model_dump()))]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, lines)
    record = PredictionProvenance.model_validate(
        {
            **provenance,
            "schema_version": SCHEMA_VERSION,
            "rows": len(lines),
            "predictions_sha256": sha256_file(path),
        }
    )
    write_atomic(provenance_path(path), [as_json(record.model_dump()).encode()])
    return record


def identity_of(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What tells a detector on some labels from others: the provenance without what follows from the file, the day and
    the program's version."""
    record = PredictionProvenance.model_validate({**provenance, **dict.fromkeys(OF_THE_FILE, ""), "rows": 0})
    return record.model_dump(exclude={*OF_THE_FILE, "rows", "program_version", "date"})


def read_predictions(path: Path, rules: DetectRules) -> PredictionsFile:
    """Read a predictions file. Raises UnreadableInput if the file does not exist; a line that cannot be read is a
    fault."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be read: {error.strerror}. Name a predictions file.") from error
    read = PredictionsFile(path, hashlib.sha256(content).hexdigest())
    twice: set[Key] = set()
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        read.lines += 1
        row = read_line(line, number, rules, read.faults)
        if row is None:
            continue
        key = (row.source_model, row.trajectory_id)
        former = read.rows.get(key)
        if former is None and key not in twice:
            read.rows[key] = row
            continue
        twice.add(key)
        if former == row:
            read.faults.append(
                LineFault(number, "twice", f"{'/'.join(key)}: the same row stands twice; it counts once")
            )
        else:
            read.rows.pop(key, None)
            message = f"{'/'.join(key)}: another row says something else; none of them counts"
            read.faults.append(LineFault(number, "contradicting", message))
    read.provenance, read.unverified = read_provenance(path, read.sha256)
    return read


def read_line(line: bytes, number: int, rules: DetectRules, faults: list[LineFault]) -> Prediction | None:
    """A row; None, with a fault, where the line holds none."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        faults.append(LineFault(number, "not_json", f"is not JSON: {error}"))
        return None
    if not isinstance(values, dict) or not all(isinstance(values.get(name), str) for name in KEY_FIELDS):
        faults.append(LineFault(number, "no_key", f"has no {' and '.join(KEY_FIELDS)}"))
        return None
    if unknown := sorted(values.keys() - Prediction.model_fields.keys()):
        faults.append(LineFault(number, "unknown_field", f"{', '.join(unknown)}: no such field; it is not read"))
        values = {name: value for name, value in values.items() if name not in unknown}
    values = DEFAULTS | values
    if (why := probability_fault(values["probabilities"], rules.score.probability_tolerance)) is not None:
        faults.append(LineFault(number, "probabilities", f"{why}; they are not used"))
        values["probabilities"] = None
    for name in COUNTED:
        if (why := number_fault(values[name])) is not None:
            faults.append(LineFault(number, "number", f"{name}: {why}; it is not used"))
            values[name] = DEFAULTS[name]
    if isinstance(values.get("label"), str):
        values["label"] = (rules.names | rules.symbols).get(values["label"], values["label"])
    values.setdefault("label", None)
    values.setdefault("parse", "ok" if values["label"] or values["probabilities"] else "failed")
    row = checked_row(values, number, faults)
    if row is None:
        return None
    if row.label is None and row.probabilities is not None:
        return row.model_copy(update={"label": most_probable(row)})
    if row.label is None and row.parse != "failed":
        faults.append(LineFault(number, "not_a_prediction", "has neither label nor probabilities, nor parse failed"))
        return None
    return row


def checked_row(values: dict[str, Any], number: int, faults: list[LineFault]) -> Prediction | None:
    """The row of these values. A field beside key, label and parse that cannot be read is left out, with a fault; None,
    with a fault, where one of these cannot."""
    try:
        return Prediction.model_validate(values)
    except ValidationError as error:
        reasons = {str(fault["loc"][0]): fault for fault in error.errors()}
    is_beside = reasons.keys() <= DEFAULTS.keys()
    for name, fault in reasons.items():
        where = ".".join(map(str, fault["loc"]))
        if is_beside:
            faults.append(LineFault(number, "field", f"{where}: {fault['msg']}; it is not used"))
        elif name not in DEFAULTS:
            faults.append(LineFault(number, "not_a_prediction", f"{where}: {fault['msg']}"))
            return None
    return Prediction.model_validate(values | {name: DEFAULTS[name] for name in reasons})


def probability_fault(values: Any, tolerance: float) -> str | None:
    """What is wrong with six probabilities; None if they are valid or absent."""
    if values is None:
        return None
    if not isinstance(values, dict) or set(values) != set(LABELS):
        return f"probabilities: must name {', '.join(LABELS)}"
    numbers = list(values.values())
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
        return "probabilities: must be numbers"
    if not all(math.isfinite(number) and 0 <= number <= 1 for number in numbers):
        return "probabilities: a value is not between 0 and 1"
    if abs(math.fsum(numbers) - 1) > tolerance:
        return f"probabilities: they sum to {math.fsum(numbers):g}"
    return None


def number_fault(value: Any) -> str | None:
    """What is wrong with a count, a cost or a mass; None if it is right, or not a number at all."""
    if not isinstance(value, int | float):
        return None
    return None if math.isfinite(value) and value >= 0 else "is below 0 or not finite"


def read_provenance(path: Path, sha256: str | None) -> tuple[PredictionProvenance | None, str | None]:
    """The provenance of a predictions file, or the reason why no provenance applies to it."""
    provenance = provenance_path(path)
    if not provenance.is_file():
        return None, NO_FILE
    try:
        record = PredictionProvenance.model_validate_json(provenance.read_bytes())
    except (OSError, ValidationError) as error:
        first = str(error).partition("\n")[0]
        return None, f"{provenance.name} cannot be read: {first}"
    if record.predictions_sha256 != sha256:
        return None, OTHER_DIGEST
    return record, None


def is_anomalous(label: str | None) -> bool | None:
    """Every label but `normal` is anomalous (paper section 5); None without a label."""
    return None if label is None else label != NORMAL
