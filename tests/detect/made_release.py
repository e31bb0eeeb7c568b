"""A release made up for tests of detectors: whole records, label files with sides, verdicts of people."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import polars as pl
from pydantic import BaseModel
from unsent import filled

from openclawbench.detect.settings import NORMAL
from openclawbench.records.packet import EvidenceStep
from openclawbench.records.release import Master
from openclawbench.release.files.names import BOTH_FILE, both_side_file
from openclawbench.release.files.table_writer import typed_file
from openclawbench.release.labels.places import CUTS, SIDES
from openclawbench.tables.schema import from_records

STEP = {
    "user_turn": 1,
    "action_kind": "tool_call",
    "event_type": "read",
    "tool_name": "exec",
    "tool_name_raw": "exec",
    "tool_status": "ok",
    "auto_flags": [],
}
MODELS = ("m1", "m2", "m3")


def session(
    number: int,
    label: str = NORMAL,
    *,
    words: str = "look at the file",
    side: str = "test",
    model: str | None = None,
    task: str | None = None,
    steps: int = 2,
    **more: Any,
) -> dict[str, Any]:
    """A session with a label. `more`: fields of the record, or of the row of a label file."""
    rows = [
        filled(EvidenceStep, STEP | {"step_id": place, "action_text": words, "reflection_text": f"result {number}"})
        for place in range(1, steps + 1)
    ]
    is_anomalous = label != NORMAL
    return {
        "source_model": model or MODELS[number % len(MODELS)],
        "trajectory_id": f"t{number:05}",
        "task_id": task or f"task{number // len(MODELS)}",
        "num_steps": steps,
        "steps": rows,
        "user_turns": [{"user_turn": 1, "kinds": ["user"], "text": f"ask {number}"}],
        "languages": [],
        "slice_label": "pass_low_risk",
        "is_anomalous": is_anomalous,
        "anomaly_type_l2": label if is_anomalous else None,
        "earliest_recoverable_onset": 1 if is_anomalous else None,
        "segment_spans": [{"start_step": 1, "end_step": 2, "label": "anomalous"}] if is_anomalous else [],
        "quality_tier": "high_confidence_accepted",
        "label_status": "accepted",
        "side": side,
        "scoreable": True,
        "in_calibration_pool": False,
        **more,
    }


def made_release(
    root: Path,
    sessions: Sequence[dict[str, Any]],
    judge: str = "openai",
    human: Sequence[dict[str, Any]] = (),
    both: Sequence[str] | None = None,
) -> Path:
    """Write a release. `human`: rows of human_audited.parquet; `both`: ids of which two passes are sure."""
    for model in sorted({recording["source_model"] for recording in sessions}):
        records = [master(recording, judge) for recording in sessions if recording["source_model"] == model]
        folder = root / "fulltax_prod_v1" / model
        folder.mkdir(parents=True)
        from_records(records, Master).write_parquet(folder / "master_table_all-00000-of-00001.parquet")
    columns = ("source_model", "trajectory_id", "quality_tier", "label_status", "scoreable", "in_calibration_pool")
    for folder_name in CUTS.values():
        (root / folder_name).mkdir(exist_ok=True)
        for side in SIDES:
            rows = [{name: recording[name] for name in columns} for recording in sessions if recording["side"] == side]
            frame = pl.DataFrame(
                rows, schema=dict.fromkeys(columns[:4], pl.String) | dict.fromkeys(columns[4:], pl.Boolean)
            )
            frame.write_parquet(root / typed_file(f"{folder_name}silver_{side}_labels.jsonl"))
            if both is not None:
                frame.filter(pl.col("trajectory_id").is_in(both)).write_parquet(
                    root / both_side_file(folder_name, side)
                )
    if both is not None:
        sure = [
            {name: recording[name] for name in columns} for recording in sessions if recording["trajectory_id"] in both
        ]
        pl.DataFrame(sure).write_parquet(root / typed_file(BOTH_FILE))
    for model in {recording["source_model"] for recording in sessions}:
        folder = root / "hold_out" / model
        folder.mkdir(parents=True)
        for side in SIDES:
            of_side = [
                {name: recording[name] for name in columns}
                for recording in sessions
                if (recording["source_model"] == model) == (side == "test")
                and not (side == "train" and recording["in_calibration_pool"])
            ]
            content = "".join(f"{json.dumps(row)}\n" for row in of_side)
            (folder / f"silver_{side}_labels.jsonl").write_text(content)
    if human:
        pl.DataFrame(human).write_parquet(root / "human_audited.parquet")
    digest = hashlib.sha256(repr(sorted(recording["trajectory_id"] for recording in sessions)).encode()).hexdigest()
    (root / "CHECKSUMS.sha256").write_text(f"{digest}  everything\n")
    return root


def master(case: dict[str, Any], judge: str) -> dict[str, Any]:
    """A whole record; what a session does not say is null, nothing, 0 or empty."""
    values = {name: value for name, value in case.items() if name in Master.model_fields}
    return complete_record(Master, {"provenance": {"judge": judge}} | values)


def complete_record(record: type[BaseModel], values: dict[str, Any]) -> dict[str, Any]:
    """A record with a value for each field."""
    return {name: value_of(field.annotation, values.get(name)) for name, field in record.model_fields.items()}


def value_of(kind: Any, values: Any) -> Any:
    """What is given, with every field if it is a record; else what stands for absent."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return complete_record(kind, values or {})
    if values is not None or type(None) in get_args(kind):
        return values
    return [] if get_origin(kind) is list else kind() if kind in (bool, int, float, str) else get_args(kind)[0]


def verdict(case: dict[str, Any], label: str | None) -> dict[str, Any]:
    """A row of human_audited.parquet: what people say of a session; null for a verdict that is not settled."""
    return {
        "source_model": case["source_model"],
        "trajectory_id": case["trajectory_id"],
        "human_anomaly_label": None if label is None else label != NORMAL,
        "human_subtype": None if label in (None, NORMAL) else label,
        "human_onset": None if label in (None, NORMAL) else 1,
        "onset_reviewed": label is not None,
        "same_label": True,
    }
