"""Stage C, the judge's half: verification of an anomalous annotation (paper E.6).

The other half is deterministic: annotation/checks.py.
"""

from openclawbench.fulltax.decisions import decide
from openclawbench.fulltax.requests import by_key, request
from openclawbench.judge.ask import ask_all
from openclawbench.judge.prompts import PromptC
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import (
    AnswerC,
    AnswersC,
    DecisionC,
    DecisionsB1,
    DecisionsB2,
    DecisionsC,
    RequestC,
    RequestsC,
    StageC,
)
from openclawbench.records.packet import Evidences, PacketIndexes, Packets
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def ask_c(packets: PacketIndexes, subtypes: DecisionsB1, structures: DecisionsB2, prompt: PromptC) -> RequestsC:
    """Asks about anomalous trajectories with a readable B2 answer."""
    index = by_key(packets.collect().iter_rows(named=True))
    b1 = by_key(subtypes.collect().iter_rows(named=True))
    rows = []
    for row in structures.collect().iter_rows(named=True):
        key = (row["source_model"], row["trajectory_id"])
        if row["answer"] is not None:
            rows.append(request(index[key], prompt, {"b1": b1[key]["answer"], "b2": row["answer"]}))
    return from_records(rows, RequestC).lazy()


@stage(scope="shard")
def answer_c(requests: RequestsC, packets: Packets, evidence: Evidences, prompt: PromptC, judge: Judge) -> AnswersC:
    """The judge's answers, verbatim."""
    return from_records(ask_all(requests, packets, evidence, judge, prompt), AnswerC).lazy()


@stage(scope="shard")
def decide_c(requests: RequestsC, answers: AnswersC, rules: RepairRules) -> DecisionsC:
    """The answers, parsed as T28."""
    return from_records(decide(requests, answers, StageC, rules), DecisionC).lazy()
