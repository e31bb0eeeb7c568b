"""Onset candidates: where unreliable execution may begin (paper C.5, T15). Anchors, never labels."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.records.evidence import AlignedDescriptors
from openclawbench.records.risk import Onsets, Risks, StepRisks
from openclawbench.rules.construct.onset import RISKIEST, OnsetRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import TRAJECTORY_KEY


@stage(scope="shard")
def onset(risks: Risks, aligned: AlignedDescriptors, step_risks: StepRisks, rules: OnsetRules) -> Onsets:
    """First step of each risk kind and the riskiest steps, one row per trajectory; null or empty if there is none.

    onset_rules names the rule of every candidate, in the order of steps: C.5 keeps several ordered candidates.
    """
    names = [rule.name for rule in rules.earliest]
    first = group_by_trajectory(aligned, *earliest(rules))
    onsets = with_values(risks.select(TRAJECTORY_KEY), first)
    onsets = with_values(onsets, riskiest(step_risks, rules.top_k)).with_columns(pl.col(RISKIEST).fill_null([]))
    held = onsets.collect().lazy()
    return with_values(held, candidates(held, names)).select(
        *TRAJECTORY_KEY,
        onset_candidates=pl.struct([*names, *RISKIEST]),
        onset_rules=pl.col("onset_rules").fill_null([]),
    )


@memoize
def earliest(rules: OnsetRules) -> list[pl.Expr]:
    """The first step of each kind."""
    return [pl.when(rule.condition).then("step_id").min().alias(rule.name) for rule in rules.earliest]


def with_values(trajectories: pl.LazyFrame, others: pl.LazyFrame) -> pl.LazyFrame:
    """The trajectories with what the others say of them; nulls where they say nothing."""
    return trajectories.join(others, on=TRAJECTORY_KEY, how="left", maintain_order="left")


def riskiest(step_risks: pl.LazyFrame, top_k: int) -> pl.LazyFrame:
    """Of each trajectory with a risky step: step_risk_scores in their order, and top_k_risky_steps, riskiest first."""
    risky = step_risks.filter(pl.col("step_risk") > 0)
    ranked = risky.sort("step_risk", "step_id", descending=[True, False], maintain_order=True)
    top = ranked.group_by(TRAJECTORY_KEY, maintain_order=True)
    return with_values(
        group_by_trajectory(risky, step_risk_scores=pl.struct("step_id", "step_risk")),
        top.agg(top_k_risky_steps=pl.col("step_id").head(top_k)),
    )


def candidates(onsets: pl.LazyFrame, names: list[str]) -> pl.LazyFrame:
    """onset_rules of each trajectory that has a candidate: every one with its rule, in the order of steps."""
    columns = [*TRAJECTORY_KEY, "candidate", "step_id"]
    first = onsets.unpivot(names, index=TRAJECTORY_KEY, variable_name="candidate", value_name="step_id")
    risky = onsets.select(*TRAJECTORY_KEY, candidate=pl.lit(RISKIEST[0]), step_id=RISKIEST[0])
    each = pl.concat([first.select(columns), risky.explode("step_id", empty_as_null=True)])
    rules = each.drop_nulls("step_id").sort("step_id", maintain_order=True)
    rule_id = pl.format("onset.{}", "candidate").alias("rule_id")
    return rules.group_by(TRAJECTORY_KEY, maintain_order=True).agg(
        onset_rules=pl.struct("candidate", "step_id", rule_id)
    )
