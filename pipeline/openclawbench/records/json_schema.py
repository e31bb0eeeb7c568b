"""JSON Schema of every public record, generated from the records.

`python -m openclawbench.records.json_schema` writes them, --check compares."""

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from openclawbench.base.resources import checkout
from openclawbench.records.calibration import CalibrationReview, CalibrationSheetRow, HumanAudited
from openclawbench.records.datapackage import DataPackage, InputFile
from openclawbench.records.detection.packet import DetectorPacket
from openclawbench.records.detection.prediction import Prediction, PredictionProvenance
from openclawbench.records.detection.training import AdapterProvenance, EpochRows, TrainingExport, TrainingRow
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fields import description, reachable
from openclawbench.records.fulltax import (
    Annotation,
    DecisionA,
    DecisionB1,
    DecisionB2,
    DecisionC,
    StageA,
    StageB1,
    StageB2,
    StageC,
)
from openclawbench.records.oracle import Coverage, EventDescriptor, Fused, OracleRecord, UnmatchedRow
from openclawbench.records.packet import Evidence, Packet, PacketCut
from openclawbench.records.release import (
    LabelAssignment,
    LabelRow,
    Master,
    PoolRow,
    PositiveStructured,
    RecordIndexRow,
    StageRaw,
)
from openclawbench.records.review import EventReview, EventSampleRow
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.second_pass import ReferenceLabel
from openclawbench.records.session import FileOutcome, RunManifestRow, Step, TraceSummaryRow, Trajectory, UserTurn
from openclawbench.records.statistics import StatisticsFile

STAGE_RECORDS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
PUBLIC: dict[str, type[BaseModel]] = {  # the lines of every released file, every exported table, every sheet
    "adapter_provenance": AdapterProvenance,
    "aligned_descriptor": AlignedDescriptor,
    "annotation": Annotation,
    "calibration_review": CalibrationReview,
    "calibration_sheet_row": CalibrationSheetRow,
    "coverage": Coverage,
    "datapackage": DataPackage,
    "decision_a": DecisionA,
    "decision_b1": DecisionB1,
    "decision_b2": DecisionB2,
    "decision_c": DecisionC,
    "detector_packet": DetectorPacket,
    "epoch_rows": EpochRows,
    "event_descriptor": EventDescriptor,
    "event_review": EventReview,
    "event_sample_row": EventSampleRow,
    "evidence": Evidence,
    "file_outcome": FileOutcome,
    "fused": Fused,
    "human_audited": HumanAudited,
    "input_file": InputFile,
    "label_assignment": LabelAssignment,
    "label_row": LabelRow,
    "master": Master,
    "onset": Onset,
    "oracle_record": OracleRecord,
    "packet": Packet,
    "packet_cut": PacketCut,
    "pool_row": PoolRow,
    "positive_structured": PositiveStructured,
    "prediction": Prediction,
    "prediction_provenance": PredictionProvenance,
    "record_index_row": RecordIndexRow,
    "reference_label": ReferenceLabel,
    "risk": Risk,
    "run_manifest_row": RunManifestRow,
    "stage_a": StageA,
    "stage_b1": StageB1,
    "stage_b2": StageB2,
    "stage_c": StageC,
    "stage_raw": StageRaw,
    "statistics": StatisticsFile,
    "step": Step,
    "trace_summary_row": TraceSummaryRow,
    "training_export": TrainingExport,
    "training_row": TrainingRow,
    "trajectory": Trajectory,
    "unmatched_row": UnmatchedRow,
    "user_turn": UserTurn,
}
SCHEMA_VERSION = "1"


def json_schema(record: type[BaseModel]) -> dict[str, Any]:
    """The record's JSON Schema: closed objects, every field required (null where absent).

    A judge is sent this form, and lines are checked by it. It has no descriptions of fields: a judge finds them in its
    prompt. The docstrings of the stage records are part of it, and so of the key of every stored answer.
    """
    return record.model_json_schema(mode="validation")


def described_schema(record: type[BaseModel]) -> dict[str, Any]:
    """The published form: the same with the description of every field from records/fields.toml."""
    schema = json_schema(record)
    records = reachable(record)
    for name, definition in {record.__name__: schema, **schema.get("$defs", {})}.items():
        for field, properties in definition.get("properties", {}).items():
            properties["description"] = description(records[name], field)
    return schema


@cache
def stage_schema(stage: str) -> tuple[str, str]:
    """(schema id, sha256) of the schema of a FullTax stage's answer."""
    text = json.dumps(json_schema(STAGE_RECORDS[stage]), sort_keys=True, separators=(",", ":"))
    return f"stage_{stage}", hashlib.sha256(text.encode()).hexdigest()


def schema_files() -> dict[str, str]:
    """File name -> text of every schema file, as the records define it."""
    return {
        f"{name}.schema.json": json.dumps(described_schema(record), indent=1, ensure_ascii=False) + "\n"
        for name, record in PUBLIC.items()
    }


def folder() -> Path:
    """The folder of the schema files in a checkout."""
    return checkout() / "schemas"


def stale() -> list[str]:
    """Names of schema files that differ from the records, are missing, or belong to no record."""
    expected = schema_files()
    present = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder().glob("*.json"))}
    return sorted(name for name in expected.keys() | present.keys() if expected.get(name) != present.get(name))


def main(arguments: list[str]) -> int:
    """Write the schema files, or with --check list those that are stale (exit status 1)."""
    if "--check" in arguments:
        names = stale()
        print("\n".join([*names, f"{len(names)} stale: run `make schemas`"]) if names else "schemas are up to date")
        return int(bool(names))
    folder().mkdir(exist_ok=True)
    for path in folder().glob("*.json"):
        path.unlink()
    for name, text in schema_files().items():
        (folder() / name).write_text(text, encoding="utf-8")
    print(f"{len(PUBLIC)} schemas written to {folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
