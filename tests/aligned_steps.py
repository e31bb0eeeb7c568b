"""Aligned descriptors made by hand, for the stages that read them."""

from typing import Any

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.tables.schema import from_records

STEP = {
    "source_model": "m",
    "event_rule": "rule",
    "tool_name": "tool",
    "tool_status": "ok",
    "status_rule": "status.ok",
    "side_effect": False,
    "side_effect_rule": "effect.none",
    "auto_flags": [],
    "flag_evidence": [],
    "languages": [],
    "alignment_case": "kept",
    "previous_event_type": "other",
}


def aligned(trajectories: dict[str, list[dict[str, Any]]]) -> pl.LazyFrame:
    """A table of aligned descriptors: trajectory id -> what is special about each step."""
    rows = [
        STEP | {"trajectory_id": name, "step_id": number, "event_type": "read"} | step
        for name, steps in trajectories.items()
        for number, step in enumerate(steps, start=1)
    ]
    return from_records(rows, AlignedDescriptor).lazy()
