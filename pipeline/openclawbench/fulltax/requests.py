"""What is asked of a judge, and what its answers come to: the two halves that all four stages share."""

import json
from collections.abc import Iterable
from typing import Any

import polars as pl
from pydantic import BaseModel

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.fulltax.answers.parsing import Reading, read_reply
from openclawbench.judge.prompts import StagePrompt
from openclawbench.judge.sent_packet import opaque_id
from openclawbench.records.json_schema import stage_schema
from openclawbench.rules.repairs import RepairRules

LABEL = "label"
ESCAPE_AUDIT = "triage_escape_audit"


def request(
    packet: dict[str, Any], prompt: StagePrompt, previous: dict[str, Any] | None, purpose: str = LABEL
) -> dict[str, Any]:
    """One JudgeRequest row; request_sha256 covers everything that decides the answer."""
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


def decide(
    requests: pl.LazyFrame, answers: pl.LazyFrame, model: type[BaseModel], rules: RepairRules
) -> list[dict[str, Any]]:
    """One Decision row a request: the answer read, or why it could not be."""
    given = {row["request_sha256"]: row for row in answers.collect().iter_rows(named=True)}
    return [
        decision(row, given[row["request_sha256"]], model, rules)
        for row in requests.collect().iter_rows(named=True)
        if row["request_sha256"] in given
    ]


def decision(
    asked: dict[str, Any], given: dict[str, Any], model: type[BaseModel], rules: RepairRules
) -> dict[str, Any]:
    """Read one answer."""
    b1 = (json.loads(asked["previous"]) if asked["previous"] else {}).get("b1")
    sent_id = opaque_id(asked["source_model"], asked["trajectory_id"])
    reading: Reading[Any] = read_reply(
        given["finish"],
        given["response_text"],
        model,
        asked["trajectory_id"],
        rules,
        b1,
        text_from=given["text_from"],
        sent_id=sent_id,
    )
    kept = ["judge", "judge_model", "usage", "cost_usd", "request_id", "request_sha256", "response_text", "former"]
    return {
        "source_model": asked["source_model"],
        "trajectory_id": asked["trajectory_id"],
        "purpose": asked["purpose"],
        "outcome": "parsed" if reading.answer is not None else "parse_failure",
        "failure": reading.failure,
        "prompt_version": asked["prompt_version"],
        "packet_sha256": asked["packet_sha256"],
        **{name: given[name] for name in kept},
        "reasoning": "\n".join(one for one in (given["reasoning"], reading.reasoning) if one) or None,
        "issues": [],
        "repairs": [one.model_dump() for one in reading.repairs],
        "answer": None if reading.answer is None else reading.answer.model_dump(),
    }


def by_key(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows by (source_model, trajectory_id)."""
    return {(row["source_model"], row["trajectory_id"]): row for row in rows}
