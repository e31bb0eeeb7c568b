"""The decisions of a FullTax stage: one Decision row for each answer, parsed or with the reason why it is not."""

import json
from typing import Any

import polars as pl
from pydantic import BaseModel

from openclawbench.fulltax.answers.parsing import Reading, read_reply
from openclawbench.judge.sent_packet import opaque_id
from openclawbench.rules.fulltax.repairs import RepairRules

COPIED = ("judge", "judge_model", "usage", "cost_usd", "request_id", "request_sha256", "response_text", "former")


def decide(
    requests: pl.LazyFrame, answers: pl.LazyFrame, model: type[BaseModel], rules: RepairRules
) -> list[dict[str, Any]]:
    """One Decision row for each request that has an answer."""
    answer_of = {row["request_sha256"]: row for row in answers.collect().iter_rows(named=True)}
    return [
        decision(row, answer_of[row["request_sha256"]], model, rules)
        for row in requests.collect().iter_rows(named=True)
        if row["request_sha256"] in answer_of
    ]


def decision(
    request: dict[str, Any], answer: dict[str, Any], model: type[BaseModel], rules: RepairRules
) -> dict[str, Any]:
    """The Decision row of one answer."""
    reading: Reading[Any] = read_reply(
        answer["finish"],
        answer["response_text"],
        model,
        request["trajectory_id"],
        rules,
        (json.loads(request["previous"]) if request["previous"] else {}).get("b1"),
        text_from=answer["text_from"],
        sent_id=opaque_id(request["source_model"], request["trajectory_id"]),
    )
    return {
        "source_model": request["source_model"],
        "trajectory_id": request["trajectory_id"],
        "purpose": request["purpose"],
        "outcome": "parsed" if reading.answer is not None else "parse_failure",
        "failure": reading.failure,
        "prompt_version": request["prompt_version"],
        "packet_sha256": request["packet_sha256"],
        **{name: answer[name] for name in COPIED},
        "reasoning": "\n".join(text for text in (answer["reasoning"], reading.reasoning) if text) or None,
        "issues": [],
        "repairs": [repair.model_dump() for repair in reading.repairs],
        "answer": None if reading.answer is None else reading.answer.model_dump(),
    }
