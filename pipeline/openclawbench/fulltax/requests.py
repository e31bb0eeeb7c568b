"""The questions of a FullTax stage: one JudgeRequest row a trajectory, and why it is asked."""

import json
from collections.abc import Iterable
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.judge.prompts import StagePrompt
from openclawbench.records.json_schema import stage_schema

LABEL = "label"
ESCAPE_AUDIT = "triage_escape_audit"


def request(
    packet: dict[str, Any], prompt: StagePrompt, previous: dict[str, Any] | None, purpose: str = LABEL
) -> dict[str, Any]:
    """One JudgeRequest row. request_sha256 covers everything that decides the answer."""
    schema_id, schema_sha256 = stage_schema(prompt.stage)
    earlier = None if previous is None else canonical_json(previous)
    parts = [prompt.stage, schema_sha256, prompt.digest, packet["packet_sha256"], earlier]
    return {
        "source_model": packet["source_model"],
        "trajectory_id": packet["trajectory_id"],
        "stage": prompt.stage,
        "purpose": purpose,
        "schema_id": schema_id,
        "schema_sha256": schema_sha256,
        "prompt_version": f"{prompt.stage}/{prompt.version}",
        "prompt_sha256": prompt.sha256,
        "packet_sha256": packet["packet_sha256"],
        "fits": packet["fits"],
        "previous": earlier,
        "request_sha256": sha256_text(json.dumps(parts)),
    }


def by_key(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows by (source_model, trajectory_id)."""
    return {(row["source_model"], row["trajectory_id"]): row for row in rows}
