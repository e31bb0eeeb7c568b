"""Onset candidates: where unreliable execution may begin (paper C.5, T15). Anchors, never labels."""

import polars as pl

from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.risk import Onsets, Risks, StepRisks
from pipeline.rules.onset import OnsetRules
from pipeline.stage import stage


@stage(scope="shard")
def onset(risks: Risks, aligned: AlignedDescriptors, step_risks: StepRisks, rules: OnsetRules) -> Onsets:
    """First step of each risk kind and the riskiest steps, one row a trajectory; null or empty where there is none.

    onset_rules names the rule of every candidate, in the order of steps: C.5 keeps several ordered candidates.
    """
    risky = pl.col("step_risk") > 0
    ranked = (
        pl.col("step_id")
        .filter(risky)
        .sort_by([pl.col("step_risk").filter(risky), pl.col("step_id").filter(risky)], descending=[True, False])
    )
    names = [rule.name for rule in rules.earliest]
    found = (
        aligned.join(step_risks, on=STEP_KEY, maintain_order="left")
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(
            **{rule.name: pl.col("step_id").filter(rule.condition).min() for rule in rules.earliest},
            top_k_risky_steps=ranked.head(rules.top_k),
            step_risk_scores=pl.struct("step_id", "step_risk").filter(risky),
        )
    )
    nothing: list[int] = []
    made_by = pl.concat_list(
        *[candidate(name, pl.col(name)) for name in names],
        pl.col("top_k_risky_steps").list.eval(candidate("top_k_risky_steps", pl.element())),
    )
    return (
        risks.select(TRAJECTORY_KEY)
        .join(found, on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .with_columns(pl.col("top_k_risky_steps").fill_null(nothing), pl.col("step_risk_scores").fill_null(nothing))
        .select(
            *TRAJECTORY_KEY,
            onset_candidates=pl.struct([*names, "top_k_risky_steps", "step_risk_scores"]),
            onset_rules=made_by.list.eval(
                pl.element()
                .filter(pl.element().struct.field("step_id").is_not_null())
                .sort_by(pl.element().struct.field("step_id").drop_nulls(), maintain_order=True)
            ),
        )
    )


def candidate(name: str, step_id: pl.Expr) -> pl.Expr:
    """A candidate with the rule that made it."""
    return pl.struct(candidate=pl.lit(name), step_id=step_id, rule_id=pl.lit(f"onset.{name}"))
