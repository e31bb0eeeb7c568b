"""Explain, decisions: for each pass and stage the request to the judge, its answer, and the decision."""

from typing import TYPE_CHECKING, Any

from openclawbench.inspect.explain.label import STAGES, label
from openclawbench.inspect.explain.ledger_calls import calls
from openclawbench.inspect.find import has_for
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import (
    Annotation,
    AnswerA,
    AnswerB1,
    AnswerB2,
    AnswerC,
    DecisionA,
    DecisionB1,
    DecisionB2,
    DecisionC,
    RequestA,
    RequestB1,
    RequestB2,
    RequestC,
)
from openclawbench.records.second_pass import PASS2
from openclawbench.tables.record import Record

if TYPE_CHECKING:
    from openclawbench.inspect.explain.explain import TrajectoryTables

Row = dict[str, Any]
TABLES: dict[str, tuple[type[Record], type[Record], type[Record]]] = {
    "stage_a": (RequestA, AnswerA, DecisionA),
    "stage_b1": (RequestB1, AnswerB1, DecisionB1),
    "stage_b2": (RequestB2, AnswerB2, DecisionB2),
    "stage_c": (RequestC, AnswerC, DecisionC),
}
ASKED = ("purpose", "prompt_version", "prompt_sha256", "schema_id", "packet_sha256", "previous", "request_sha256")
ANSWERED = ("finish", "response_text", "former", "usage", "cost_usd", "request_id")
READ = ("outcome", "failure", "repairs")
PAID = ("usage", "cost_usd", "request_ids", "prompt_versions")


def decisions(tables: "TrajectoryTables") -> list[Row]:
    """One row for each pass in the data folder: label, cost, every stage. The second pass never sees the first."""
    return [decision(tables, number, judge) for number, judge in tables.run.judges.items() if judge is not None]


def decision(tables: "TrajectoryTables", annotation_pass: int, judge: Judge) -> Row:
    """One pass. A stage is null if no judge was asked; `label` is null if the pass is not up to date."""
    annotations = rows(tables, Annotation, annotation_pass)
    provenance = annotations[0]["provenance"] if annotations else {}
    return {
        "annotation_pass": annotation_pass,
        "judge": judge.name,
        "judge_model": judge.model,
        "label": label(annotations[0] if annotations else None),
        **{name: provenance.get(name) for name in PAID},
        "stages": {stage: describe_stage(tables, stage, annotation_pass, judge) for stage in TABLES},
    }


def describe_stage(tables: "TrajectoryTables", stage: str, annotation_pass: int, judge: Judge) -> Row | None:
    """The request of a stage, its answer, the parsed decision, and the calls in the ledger."""
    request, answer, reading = (rows(tables, record, annotation_pass) for record in TABLES[stage])
    if not request:
        return None
    reply: Row = {"asked": {name: request[0][name] for name in ASKED} | {"saw": saw(tables, judge)}}
    if answer:
        reply["answered"] = {name: answer[0][name] for name in ANSWERED}
        reply["calls"] = calls(tables.run.data.ledger, judge, request[0]["request_sha256"])
    if reading:
        parsed = reading[0]["answer"]
        fields = (
            {name: parsed[name] for name in (*STAGES[stage], "evidence_steps") if name in parsed} if parsed else None
        )
        reply["read"] = {name: reading[0][name] for name in READ} | {"answer": fields}
    return reply


def saw(tables: "TrajectoryTables", judge: Judge) -> Row:
    """The material that the judge reads: the packet, or the evidence, which is never shortened. With its size:
    `estimated_tokens` is null for evidence if the packet is shorter, because only the packet was counted."""
    sizes: Row = {name: tables.shortened[name] for name in ("estimated_tokens", "compacted")}
    if judge.reads == "evidence" and sizes["compacted"]:
        sizes = {"estimated_tokens": None, "compacted": False}
    return {"record": judge.reads, "steps": len(tables.steps), **sizes}


def rows(tables: "TrajectoryTables", record: type[Record], annotation_pass: int) -> list[Row]:
    """Rows of a table in a pass; empty if it is not up to date."""
    wanted = record if annotation_pass == 1 else PASS2[record]
    return tables.rows(wanted) if has_for(tables.run, wanted, tables.key) else []
