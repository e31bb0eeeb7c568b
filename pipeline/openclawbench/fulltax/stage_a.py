"""Stage A: recall-oriented triage (paper E.3, T25). Routes; never a label."""

from openclawbench.fulltax.decisions import decide
from openclawbench.fulltax.requests import request
from openclawbench.judge.ask import ask_all
from openclawbench.judge.prompts import PromptA
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import AnswerA, AnswersA, DecisionA, DecisionsA, RequestA, RequestsA, StageA
from openclawbench.records.packet import Evidences, PacketIndexes, Packets
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import from_records


@stage(scope="shard")
def ask_a(packets: PacketIndexes, prompt: PromptA) -> RequestsA:
    """Asks about every trajectory that is to be judged."""
    rows = [request(row, prompt, None) for row in packets.collect().iter_rows(named=True) if row["to_judge"]]
    return from_records(rows, RequestA).lazy()


@stage(scope="shard")
def answer_a(requests: RequestsA, packets: Packets, evidence: Evidences, prompt: PromptA, judge: Judge) -> AnswersA:
    """The judge's answers, verbatim."""
    return from_records(ask_all(requests, packets, evidence, judge, prompt), AnswerA).lazy()


@stage(scope="shard")
def decide_a(requests: RequestsA, answers: AnswersA, rules: RepairRules) -> DecisionsA:
    """The answers, parsed as T25."""
    return from_records(decide(requests, answers, StageA, rules), DecisionA).lazy()
