"""Slice: process-risk score (paper T12) and outcome-aware risk slice (T13). Priors for annotation, never labels."""

import polars as pl

from pipeline.records.base import STEP_KEY, TRAJECTORY_KEY
from pipeline.records.evidence import AlignedDescriptors
from pipeline.records.oracle import FusedTrajectories
from pipeline.records.risk import Risks, StepRisks
from pipeline.rules.risk import RiskRules
from pipeline.stage import stage
from pipeline.tables import list_column


@stage(scope="shard")
def slice(fused: FusedTrajectories, aligned: AlignedDescriptors, rules: RiskRules) -> tuple[Risks, StepRisks]:
    """Score, breakdown, bucket and slice of each trajectory; step risk of each step (weights without bonuses).

    risk_score_raw is the plain sum of T12; risk_score = round(100 * (1 - exp(-raw / scale)), 4) (own choice). It
    depends on nothing but the trajectory and its subset. slice_label, pass_but_high_risk and fail_but_low_risk are
    null without an oracle outcome.
    """
    signals = aligned.select(
        *STEP_KEY,
        **{rule.field: rule.condition for rule in rules.signals},
        side_effect=pl.when(pl.sql_expr(rules.side_effect)).then("step_id"),
        evidence=pl.when(pl.sql_expr(rules.evidence)).then("step_id"),
    ).collect()
    counts = signals.lazy().group_by(TRAJECTORY_KEY, maintain_order=True)
    counted = counts.agg(
        *(pl.col(rule.field).sum().cast(pl.Int64) for rule in rules.signals),
        steps=pl.len().cast(pl.Int64),
        first_side_effect=pl.col("side_effect").min(),
        first_evidence=pl.col("evidence").min(),
    )
    zero = [pl.col(rule.field).fill_null(0) for rule in rules.signals]
    base = (
        fused.select(*TRAJECTORY_KEY, "subset", "oracle_outcome")
        .join(counted, on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .with_columns(*zero, pl.col("steps").fill_null(0))
        .with_columns(**bonus_counts(rules), prior=rules.prior())
        .collect()
    )
    step_risk = pl.sum_horizontal([pl.col(rule.field).cast(pl.Int64) * rule.weight for rule in rules.signals])
    return score(base, rules), signals.lazy().select(*STEP_KEY, step_risk=step_risk.round(6))


def bonus_counts(rules: RiskRules) -> dict[str, pl.Expr]:
    """1 where a trajectory bonus applies, else 0."""
    early = pl.col("first_side_effect").is_not_null() & (
        pl.col("first_evidence").is_null() | (pl.col("first_side_effect") < pl.col("first_evidence"))
    )
    several = pl.col("num_side_effect_steps") >= rules.bonus.multiple_side_effect_bonus.at_least
    other = pl.col("num_other_steps") / pl.col("steps") >= rules.bonus.high_other_ratio_bonus.at_least
    return {
        "multiple_side_effect_bonus": several.cast(pl.Int64),
        "early_side_effect_before_evidence": early.cast(pl.Int64),
        "high_other_ratio_bonus": (other & (pl.col("steps") > 0)).fill_null(False).cast(pl.Int64),
    }


def weights(rules: RiskRules) -> list[tuple[str, pl.Expr, float]]:
    """(name, count, weight) of each signal and bonus."""
    signals = [(rule.name, pl.col(rule.field), rule.weight) for rule in rules.signals]
    return signals + [(name, pl.col(name), bonus["weight"]) for name, bonus in rules.bonus.model_dump().items()]


def breakdown(base: pl.DataFrame, rules: RiskRules) -> pl.Series:
    """Every summand of each trajectory, as a column of lists of RiskContribution. (A list of structs that polars puts
    together of expressions takes thirty times as long.)"""
    summands = weights(rules)
    names = pl.Series("signal", [*(name for name, *_ in summands), "subset_prior"])
    each = [(count.alias(f"{place}"), weight) for place, (_, count, weight) in enumerate(summands)]
    counts = base.select(*(count for count, _ in each), prior=pl.lit(1, pl.Int64)).unpivot(value_name="count")
    parts = base.select(*((count * weight).round(6) for count, weight in each), "prior").unpivot()["value"]
    by_signal = counts.with_columns(contribution=parts).drop("variable")
    place = pl.int_range(len(by_signal), eager=True)
    by_trajectory = by_signal[(place % len(names)) * base.height + place // len(names)]
    flat = by_trajectory.select(names[place % len(names)], "count", "contribution")
    return list_column("risk_breakdown", [len(names)] * base.height, flat)


def score(base: pl.DataFrame, rules: RiskRules) -> pl.LazyFrame:
    """Columns of Risk. Integer counts are summed and multiplied once, so that every engine gives the same floats."""
    raw = pl.sum_horizontal([*(count * weight for _, count, weight in weights(rules)), pl.col("prior")]).round(6)
    bucket = (
        pl.when(pl.col("risk_score") >= rules.high_from)
        .then(pl.lit("high"))
        .when(pl.col("risk_score") >= rules.medium_from)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("low"))
    )
    outcome = pl.col("oracle_outcome")
    known = outcome.is_not_null()
    return (
        base.lazy()
        .with_columns(breakdown(base, rules), risk_score_raw=raw)
        .with_columns(risk_score=(100 * (1 - (-pl.col("risk_score_raw") / rules.scale).exp())).round(4))
        .with_columns(risk_bucket=bucket)
        .select(
            *TRAJECTORY_KEY,
            "risk_score_raw",
            "risk_score",
            "risk_bucket",
            "risk_breakdown",
            risk_signals=pl.struct([rule.field for rule in rules.signals]),
            slice_label=outcome + "_" + pl.col("risk_bucket") + "_risk",
            pass_but_high_risk=pl.when(known).then((outcome == "pass") & (pl.col("risk_bucket") == "high")),
            fail_but_low_risk=pl.when(known).then((outcome == "fail") & (pl.col("risk_bucket") == "low")),
        )
    )
