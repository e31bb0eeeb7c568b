"""Stage B2: structure completion, for trajectories that B1 calls anomalous with a subtype (paper E.5, T27)."""

from openclawbench.fulltax.decisions import decide
from openclawbench.fulltax.requests import LABEL, by_key, request
from openclawbench.judge.ask import ask_all
from openclawbench.judge.prompts import PromptB2
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import (
    AnswerB2,
    AnswersB2,
    DecisionB2,
    DecisionsB1,
    DecisionsB2,
    RequestB2,
    RequestsB2,
    StageB2,
)
from openclawbench.records.packet import Evidences, PacketIndexes, Packets
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def ask_b2(packets: PacketIndexes, subtypes: DecisionsB1, prompt: PromptB2) -> RequestsB2:
    """Asks about trajectories that B1 calls anomalous with a subtype; not about the sample of the escape audit."""
    index = by_key(packets.collect().iter_rows(named=True))
    rows = [
        request(index[row["source_model"], row["trajectory_id"]], prompt, {"b1": row["answer"]})
        for row in subtypes.collect().iter_rows(named=True)
        if row["purpose"] == LABEL
        and row["answer"] is not None
        and row["answer"]["trajectory_is_anomalous"]
        and row["answer"]["anomaly_type_l2"] is not None
    ]
    return from_records(rows, RequestB2).lazy()


@stage(scope="shard")
def answer_b2(requests: RequestsB2, packets: Packets, evidence: Evidences, prompt: PromptB2, judge: Judge) -> AnswersB2:
    """The judge's answers, verbatim."""
    return from_records(ask_all(requests, packets, evidence, judge, prompt), AnswerB2).lazy()


@stage(scope="shard")
def decide_b2(requests: RequestsB2, answers: AnswersB2, rules: RepairRules) -> DecisionsB2:
    """The answers, parsed as T27."""
    return from_records(decide(requests, answers, StageB2, rules), DecisionB2).lazy()
