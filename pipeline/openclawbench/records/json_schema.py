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
from openclawbench.records.calibration import CalibrationReview, CalibrationSheetRow
from openclawbench.records.datapackage import DataPackage
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fields import meaning, reachable
from openclawbench.records.fulltax import StageA, StageB1, StageB2, StageC
from openclawbench.records.human import HumanAudited
from openclawbench.records.oracle import EventDescriptor, OracleRecord
from openclawbench.records.packet import Evidence, Packet
from openclawbench.records.release import LabelRow, Master, PositiveStructured, RecordIndexRow, StageRaw
from openclawbench.records.review import EventReview, EventSampleRow
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.second_pass import ReferenceLabel
from openclawbench.records.session import FileOutcome, RunManifestRow, Step, Trajectory
from openclawbench.records.statistics import StatisticsFile

STAGE_RECORDS: dict[str, type[BaseModel]] = {"a": StageA, "b1": StageB1, "b2": StageB2, "c": StageC}
PUBLIC: dict[str, type[BaseModel]] = {
    "aligned_descriptor": AlignedDescriptor,
    "calibration_review": CalibrationReview,
    "calibration_sheet_row": CalibrationSheetRow,
    "datapackage": DataPackage,
    "event_descriptor": EventDescriptor,
    "event_review": EventReview,
    "event_sample_row": EventSampleRow,
    "evidence": Evidence,
    "file_outcome": FileOutcome,
    "human_audited": HumanAudited,
    "label_row": LabelRow,
    "master": Master,
    "onset": Onset,
    "oracle_record": OracleRecord,
    "packet": Packet,
    "positive_structured": PositiveStructured,
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
    "trajectory": Trajectory,
}
SCHEMA_VERSION = "1"


def json_schema(record: type[BaseModel]) -> dict[str, Any]:
    """The record's JSON Schema: closed objects, every field required (null where absent). What a judge is sent, and
    what lines are checked by; without descriptions of fields, which a judge finds in its prompt."""
    return record.model_json_schema(mode="validation")


def described_schema(record: type[BaseModel]) -> dict[str, Any]:
    """The published form: the same with a description of every field, from records/fields.toml."""
    found = json_schema(record)
    known = reachable(record)
    for name, part in {record.__name__: found, **found.get("$defs", {})}.items():
        for field, said in part.get("properties", {}).items():
            said["description"] = meaning(known[name], field)
    return found


@cache
def stage_schema(stage: str) -> tuple[str, str]:
    """(schema id, sha256) of a FullTax stage's output schema."""
    text = json.dumps(json_schema(STAGE_RECORDS[stage]), sort_keys=True, separators=(",", ":"))
    return f"stage_{stage}", hashlib.sha256(text.encode()).hexdigest()


def rendered() -> dict[str, str]:
    """File name -> text of every schema file."""
    return {
        f"{name}.schema.json": json.dumps(described_schema(record), indent=1, ensure_ascii=False) + "\n"
        for name, record in PUBLIC.items()
    }


def folder() -> Path:
    """Where the schema files are, in a checkout."""
    return checkout() / "schemas"


def stale() -> list[str]:
    """Names of schema files that differ from the records, are missing, or belong to no record."""
    want = rendered()
    have = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder().glob("*.json"))}
    return sorted(name for name in want.keys() | have.keys() if want.get(name) != have.get(name))


def main(arguments: list[str]) -> int:
    """Write the schema files, or with --check say which are stale (exit 1)."""
    if "--check" in arguments:
        differ = stale()
        print("\n".join([*differ, f"{len(differ)} stale: run `make schemas`"]) if differ else "schemas are up to date")
        return 1 if differ else 0
    folder().mkdir(exist_ok=True)
    for path in folder().glob("*.json"):
        path.unlink()
    for name, text in rendered().items():
        (folder() / name).write_text(text, encoding="utf-8")
    print(f"{len(PUBLIC)} schemas written to {folder()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
