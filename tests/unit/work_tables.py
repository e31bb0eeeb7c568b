"""Work tables made by hand: rows with what a test is about, everything else blank."""

from typing import Any

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import Step, Trajectory
from openclawbench.reports.section import Tables
from openclawbench.tables.record import Record
from openclawbench.tables.schema import from_records

BLANK_STEP: dict[str, Any] = {
    "source_model": "m",
    "trajectory_id": "t",
    "step_id": 1,
    "event_type": "read",
    "event_rule": "tool.read",
    "tool_name": "read",
    "tool_name_raw": "read",
    "tool_status": "ok",
    "status_rule": "status.no_sign_of_failure",
    "side_effect": False,
    "side_effect_rule": "effect.none",
    "auto_flags": [],
    "flag_evidence": [],
    "command_parts": [],
    "previous_event_type": "read",
    "alignment_case": "exact",
    "alignment_rule": "alias.read",
}


def step(number: int = 1, **values: Any) -> dict[str, Any]:
    """An aligned descriptor; previous_event_type and the raw name follow the new ones unless they are given."""
    same = {
        "previous_event_type": values.get("event_type", "read"),
        "tool_name_raw": values.get("tool_name", BLANK_STEP["tool_name"]),
    }
    return BLANK_STEP | {"step_id": number} | same | values


def tables(rows_by_record: dict[type[Record], list[dict[str, Any]]]) -> Tables:
    """The tables of these rows; one that is not given is empty."""

    def table(record: type[Record]) -> pl.LazyFrame:
        return from_records(rows_by_record.get(record, []), record).lazy()

    return table


def described(*steps: dict[str, Any]) -> Tables:
    """Only aligned descriptors."""
    return tables({AlignedDescriptor: list(steps)})


def with_texts(*steps: dict[str, Any]) -> Tables:
    """Aligned descriptors, their steps (with whatever text columns the rows have) and their trajectories."""
    keys = dict.fromkeys((action["source_model"], action["trajectory_id"]) for action in steps)
    complete = [{"source_model": model, "trajectory_id": name, "source_file": f"{name}.jsonl"} for model, name in keys]
    return tables({AlignedDescriptor: list(steps), Step: list(steps), Trajectory: complete})
