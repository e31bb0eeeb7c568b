"""Stage B1: the closed-set subtype decision (paper E.4, T26)."""

from typing import Any

from openclawbench.base.canonical_json import sha256_text
from openclawbench.fulltax.decisions import decide
from openclawbench.fulltax.requests import ESCAPE_AUDIT, LABEL, by_key, request
from openclawbench.judge.ask import ask_all
from openclawbench.judge.prompts import PromptB1
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import (
    AnswerB1,
    AnswersB1,
    DecisionB1,
    DecisionsA,
    DecisionsB1,
    RequestB1,
    RequestsB1,
    StageB1,
)
from openclawbench.records.packet import Evidences, PacketIndexes, Packets
from openclawbench.rules.fulltax.control import ControlRules
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def ask_b1(packets: PacketIndexes, triage: DecisionsA, prompt: PromptB1, rules: ControlRules) -> RequestsB1:
    """Asks about what Stage A routes on, its doubtful negatives, and for the escape audit a sample of the others."""
    index = by_key(packets.collect().iter_rows(named=True))
    rows = []
    for row in triage.collect().iter_rows(named=True):
        purpose = purpose_of(row, rules)
        if purpose is not None:
            packet = index[row["source_model"], row["trajectory_id"]]
            rows.append(request(packet, prompt, {"a": row["answer"]}, purpose))
    return from_records(rows, RequestB1).lazy()


def purpose_of(triage: dict[str, Any], rules: ControlRules) -> str | None:
    """The purpose of asking B1 after this triage: label or triage_escape_audit; None if B1 is not asked."""
    answer = triage["answer"]
    if answer is None or answer["route_label"] == "review":
        return None
    if answer["route_label"] == "structured_annotation" or answer["routing_confidence"] in rules.doubtful_confidences:
        return LABEL
    share = int(sha256_text(f"{triage['source_model']}\0{triage['trajectory_id']}")[:8], 16) / 2**32
    return ESCAPE_AUDIT if share < rules.triage_escape_audit_share else None


@stage(scope="shard")
def answer_b1(requests: RequestsB1, packets: Packets, evidence: Evidences, prompt: PromptB1, judge: Judge) -> AnswersB1:
    """The judge's answers, verbatim."""
    return from_records(ask_all(requests, packets, evidence, judge, prompt), AnswerB1).lazy()


@stage(scope="shard")
def decide_b1(requests: RequestsB1, answers: AnswersB1, rules: RepairRules) -> DecisionsB1:
    """The answers, parsed as T26."""
    return from_records(decide(requests, answers, StageB1, rules), DecisionB1).lazy()
