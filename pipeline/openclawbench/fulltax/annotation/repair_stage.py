"""The stage `repair`: checks, deterministic repairs, review cause and tier (paper E.6-E.8, T28-T30).

It reads evidence and the decisions of the four stages, never an oracle outcome or a risk.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel

from openclawbench.fulltax.annotation.couplings import outvoted_descriptors
from openclawbench.fulltax.annotation.draft import DECIDED, Draft
from openclawbench.fulltax.annotation.repairs import RuleSet
from openclawbench.fulltax.annotation.tier import StageDecisions, conclude
from openclawbench.fulltax.requests import LABEL, by_key
from openclawbench.records.fulltax import (
    Annotation,
    Annotations,
    DecisionsA,
    DecisionsB1,
    DecisionsB2,
    DecisionsC,
    StageB1,
    StageB2,
)
from openclawbench.records.packet import Evidence, Evidences, PacketIndexes
from openclawbench.records.tiers import tier_of
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.repairs import RepairRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.runtime.stage import stage
from openclawbench.tables.record import TRAJECTORY_KEY
from openclawbench.tables.schema import from_records

Answer = TypeVar("Answer", bound=BaseModel)


@stage(scope="shard")
def repair(
    packets: PacketIndexes,
    evidence: Evidences,
    triage: DecisionsA,
    subtypes: DecisionsB1,
    structures: DecisionsB2,
    verdicts: DecisionsC,
    taxonomy: Taxonomy,
    checks: CheckRules,
    repairs: RepairRules,
) -> Annotations:
    """One annotation a trajectory, with tier and review cause. The decision of every stage is kept. A trajectory that
    is to be judged and was not asked about has neither."""
    rules = RuleSet(taxonomy, checks, repairs)
    index = by_key(packets.collect().iter_rows(named=True))
    tables = {"a": triage, "b1": subtypes, "b2": structures, "c": verdicts}
    decisions = {
        name: by_key(row for row in table.collect().iter_rows(named=True) if row["purpose"] == LABEL)
        for name, table in tables.items()
    }
    rows = []
    for row in without_unused_texts(evidence, subtypes).collect().iter_rows(named=True):
        key = (row["source_model"], row["trajectory_id"])
        own = {name: by_trajectory.get(key) for name, by_trajectory in decisions.items()}
        rows.append(annotate(Evidence.model_validate(row), own, index[key], rules))
    return from_records(rows, Annotation).lazy()


def without_unused_texts(evidence: pl.LazyFrame, subtypes: pl.LazyFrame) -> pl.LazyFrame:
    """Evidence without steps and user turns where B1 was not asked: an annotation cites what B1 and B2 cite, and no
    check looks at a step of an annotation that cites nothing."""
    asked = subtypes.select(*TRAJECTORY_KEY, asked=pl.lit(True)).unique()
    texts = [pl.when(pl.col("asked")).then(pl.col(name)).otherwise([]) for name in ("user_turns", "steps")]
    joined = evidence.join(asked, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    return joined.with_columns(texts).drop("asked")


def answer_of(decisions: StageDecisions, stage: str, model: type[Answer]) -> Answer | None:
    """The readable answer of a stage; None if there is none."""
    decision = decisions[stage]
    return model.model_validate(decision["answer"]) if decision and decision["answer"] else None


def annotate(
    evidence: Evidence, decisions: StageDecisions, packet: Mapping[str, Any], rules: RuleSet
) -> dict[str, Any]:
    """The annotation of one trajectory. In review it has the fields that B1 and B2 answered, neither repaired nor
    filled; without an answer to a question that is to be asked, it is empty. `packet`: its PacketIndex row."""
    draft = Draft()
    is_unjudged = packet["to_judge"] and decisions["a"] is None
    cause, remaining = (None, []) if is_unjudged else conclude(draft, evidence, decisions, rules)
    if cause is None:
        draft.repairs += outvoted_descriptors(draft, evidence, rules.checks)
    else:  # a person reviews what the judge said, not what repairs made of it
        draft = Draft.as_answered(answer_of(decisions, "b1", StageB1), answer_of(decisions, "b2", StageB2))
    asked = [decision for decision in decisions.values() if decision]
    format_repairs = [repair for decision in asked for repair in decision["repairs"]]
    repairs = [*format_repairs, *(repair.model_dump() for repair in draft.repairs)]
    plain = {name: getattr(draft, name) for name in DECIDED}
    return {
        "source_model": evidence.source_model,
        "trajectory_id": evidence.trajectory_id,
        **plain,
        "evidence_steps": [quote.model_dump() for quote in draft.evidence_steps],
        "segment_spans": [span.model_dump() for span in draft.segment_spans],
        "quality_tier": None
        if is_unjudged
        else tier_of(cause, bool(repairs), (decision["judge"] for decision in asked)),
        "review_cause": cause,
        "issues": [finding.issue.model_dump() for finding in remaining],
        "repairs": repairs,
        **{f"stage_{name}": decision["answer"] if decision else None for name, decision in decisions.items()},
        "provenance": provenance(decisions, packet["packet_sha256"]),
    }


def provenance(decisions: StageDecisions, packet_sha256: str) -> dict[str, Any]:
    """Judge, prompts, tokens and cost of all stages together. Costs are summed in millionths of a USD."""
    asked = [decision for decision in decisions.values() if decision]
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens")
    return {
        "judge": asked[0]["judge"] if asked else None,
        "judge_model": asked[0]["judge_model"] if asked else None,
        "prompt_versions": {
            name: decision["prompt_version"] if decision else None for name, decision in decisions.items()
        },
        "packet_sha256": packet_sha256,
        "usage": {name: sum(decision["usage"][name] for decision in asked) for name in tokens},
        "cost_usd": sum(round(decision["cost_usd"] * 1e6) for decision in asked) / 1e6,
        "request_ids": [request_id for decision in asked for request_id in request_ids(decision)],
    }


def request_ids(decision: dict[str, Any]) -> list[str]:
    """The endpoint's ids of a decision's former answer and of its answer, in that order, where there are any."""
    ids = [(decision["former"] or {}).get("request_id"), decision["request_id"]]
    return [request_id for request_id in ids if request_id]
