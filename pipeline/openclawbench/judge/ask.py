"""Put the questions of one stage to the judge: requests and material in, verbatim answers out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from openclawbench.judge.prompts import StagePrompt
from openclawbench.judge.protocol import Judge, Question
from openclawbench.judge.sent_packet import opaque_id
from openclawbench.tables.canonical_rows import canonical_rows
from openclawbench.tables.record import TRAJECTORY_KEY

WRITTEN_AT_ONCE = 128  # rows of material; bounds the memory that their JSON takes
MATERIAL = {"packet": "packets", "evidence": "evidence"}  # what a judge reads -> parameter of the stages that ask


@dataclass(frozen=True)
class ShardQuestions:
    """The questions of one shard. `material` is the table of the record that the judge reads."""

    requests: pl.LazyFrame
    material: pl.LazyFrame
    prompt: StagePrompt

    def rows(self) -> list[dict[str, Any]]:
        """The rows of JudgeRequest, in their order."""
        return self.requests.collect().to_dicts()

    def questions(self, rows: list[dict[str, Any]]) -> Iterator[Question]:
        """One question per row, in their order; the material of these rows alone is read."""
        keys = pl.LazyFrame([{name: row[name] for name in TRAJECTORY_KEY} for row in rows]).unique()
        materials = self.material.join(keys, on=TRAJECTORY_KEY, how="semi").collect()
        places = {key: number for number, key in enumerate(materials.select(TRAJECTORY_KEY).iter_rows())}
        for start in range(0, len(rows), WRITTEN_AT_ONCE):
            group = rows[start : start + WRITTEN_AT_ONCE]
            material = canonical_rows(materials[[places[row["source_model"], row["trajectory_id"]] for row in group]])
            yield from (question(row, text, self.prompt) for row, text in zip(group, material, strict=True))


def question(row: dict[str, Any], material: str, prompt: StagePrompt) -> Question:
    """The question of a JudgeRequest row."""
    return Question(
        stage=row["stage"],
        material=material,
        previous=row["previous"],
        schema_id=row["schema_id"],
        prompt_version=row["prompt_version"],
        prompt=prompt.text,
        trajectory_id=row["trajectory_id"],
        packet_sha256=row["packet_sha256"],
        request_sha256=row["request_sha256"],
        fits=row["fits"],
        shared=prompt.shared,
        sent_id=opaque_id(row["source_model"], row["trajectory_id"]),
    )


def ask_all(
    requests: pl.LazyFrame, packets: pl.LazyFrame, evidence: pl.LazyFrame, judge: Judge | None, prompt: StagePrompt
) -> list[dict[str, Any]]:
    """One JudgeAnswer row per request, in their order; none without a judge. The judge reads the packet or the
    evidence, as it says."""
    if judge is None:
        return []
    source = ShardQuestions(requests, {"packets": packets, "evidence": evidence}[MATERIAL[judge.reads]], prompt)
    rows = source.rows()
    return (
        [answer(row, question, judge) for row, question in zip(rows, source.questions(rows), strict=True)]
        if rows
        else []
    )


def answer(request: dict[str, Any], question: Question, judge: Judge) -> dict[str, Any]:
    """Ask one question."""
    reply = judge.ask(question)
    return {
        "source_model": request["source_model"],
        "trajectory_id": request["trajectory_id"],
        "purpose": request["purpose"],
        "request_sha256": request["request_sha256"],
        "response_text": reply.text,
        "finish": reply.finish,
        "text_from": reply.text_from,
        "reasoning": reply.reasoning,
        "former": None if reply.former is None else vars(reply.former),
        "judge": judge.name,
        "judge_model": judge.model,
        "usage": reply.usage.model_dump(),
        "cost_usd": reply.cost_usd,
        "request_id": reply.request_id,
    }
