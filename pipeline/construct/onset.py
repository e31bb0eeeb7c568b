"""Onset candidates: where unreliable execution may begin (paper C.5, T15). Anchors, never labels."""

import polars as pl

from pipeline.records.base import TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.risk import Onsets, Risks, StepRisks
from pipeline.rules.onset import OnsetRules
from pipeline.stage import stage


@stage(scope="shard")
def onset(risks: Risks, aligned: AlignedDescriptors, step_risks: StepRisks, rules: OnsetRules) -> Onsets:
    """First step of each risk kind and the riskiest steps, one row a trajectory; null or empty where there is none.

    onset_rules names the rule of every candidate, in the order of steps: C.5 keeps several ordered candidates.
    """
    names = [rule.name for rule in rules.earliest]
    first = {rule.name: pl.when(rule.condition).then("step_id").min() for rule in rules.earliest}
    found = beside(risks.select(TRAJECTORY_KEY), aligned.group_by(TRAJECTORY_KEY, maintain_order=True).agg(**first))
    found = beside(found, riskiest(step_risks, rules.top_k)).with_columns(
        pl.col("top_k_risky_steps", "step_risk_scores").fill_null([])
    )
    held = found.collect().lazy()
    return beside(held, candidates(held, names)).select(
        *TRAJECTORY_KEY,
        onset_candidates=pl.struct([*names, "top_k_risky_steps", "step_risk_scores"]),
        onset_rules=pl.col("onset_rules").fill_null([]),
    )


def beside(trajectories: pl.LazyFrame, others: pl.LazyFrame) -> pl.LazyFrame:
    """The trajectories with what the others say of them; nulls where they say nothing."""
    return trajectories.join(others, on=TRAJECTORY_KEY, how="left", maintain_order="left")


def riskiest(step_risks: pl.LazyFrame, top_k: int) -> pl.LazyFrame:
    """Of each trajectory with a risky step: step_risk_scores in their order, and top_k_risky_steps, riskiest first."""
    risky = step_risks.filter(pl.col("step_risk") > 0)
    ranked = risky.sort("step_risk", "step_id", descending=[True, False], maintain_order=True)
    scores = risky.group_by(TRAJECTORY_KEY, maintain_order=True)
    top = ranked.group_by(TRAJECTORY_KEY, maintain_order=True)
    return beside(
        scores.agg(step_risk_scores=pl.struct("step_id", "step_risk")),
        top.agg(top_k_risky_steps=pl.col("step_id").head(top_k)),
    )


def candidates(found: pl.LazyFrame, names: list[str]) -> pl.LazyFrame:
    """onset_rules of each trajectory that has a candidate: every one with its rule, in the order of steps."""

    def named(name: str) -> pl.LazyFrame:
        return found.select(*TRAJECTORY_KEY, candidate=pl.lit(name), step_id=name, rule_id=pl.lit(f"onset.{name}"))

    risky = named("top_k_risky_steps").explode("step_id", empty_as_null=True)
    each = pl.concat([*map(named, names), risky]).drop_nulls("step_id").sort("step_id", maintain_order=True)
    rules = each.group_by(TRAJECTORY_KEY, maintain_order=True)
    return rules.agg(onset_rules=pl.struct("candidate", "step_id", "rule_id"))
