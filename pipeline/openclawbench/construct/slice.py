"""Slice: process-risk score (paper T12) and outcome-aware risk slice (T13). Priors for annotation, never labels."""

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.records.evidence import AlignedDescriptors
from openclawbench.records.oracle import FusedTrajectories
from openclawbench.records.risk import Risks, StepRisks
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY


@stage(scope="shard")
def slice(fused: FusedTrajectories, aligned: AlignedDescriptors, rules: RiskRules) -> tuple[Risks, StepRisks]:
    """Score, breakdown, bucket and slice of each trajectory; step risk of each step (weights without bonuses).

    risk_score_raw is the plain sum of T12; risk_score = round(100 * (1 - exp(-raw / scale)), 4) (own choice). It
    depends on nothing but the trajectory and its subset. slice_label, pass_but_high_risk and fail_but_low_risk are
    null without an oracle outcome.
    """
    signals = aligned.select(signals_of_steps(rules)).collect().lazy()
    counted = group_by_trajectory(signals, *counts(rules))
    base = (
        fused.select(*TRAJECTORY_KEY, "subset", "oracle_outcome")
        .join(counted, on=TRAJECTORY_KEY, how="left", maintain_order="left")
        .with_columns(pl.col("steps", *(rule.field for rule in rules.signals)).fill_null(0))
        .with_columns(bonuses(rules))
        .collect()
    )
    return score(base, rules), signals.select(*STEP_KEY, step_risk(rules))


@memoize
def signals_of_steps(rules: RiskRules) -> list[pl.Expr]:
    """The step's key, whether each signal counts, and its id where it changes something or brings evidence."""
    places = {"side_effect": rules.side_effect, "evidence": rules.evidence}
    return [
        *map(pl.col, STEP_KEY),
        *(rule.condition.alias(rule.field) for rule in rules.signals),
        *(pl.when(pl.sql_expr(when)).then("step_id").alias(name) for name, when in places.items()),
    ]


@memoize
def counts(rules: RiskRules) -> list[pl.Expr]:
    """Of a trajectory's steps: how many have each signal, how many there are, and the first of either kind."""
    return [
        *(pl.col(rule.field).sum().cast(pl.Int64) for rule in rules.signals),
        pl.len().cast(pl.Int64).alias("steps"),
        pl.col("side_effect").min().alias("first_side_effect"),
        pl.col("evidence").min().alias("first_evidence"),
    ]


@memoize
def step_risk(rules: RiskRules) -> pl.Expr:
    """The weights of a step's signals."""
    weighted = [pl.col(rule.field).cast(pl.Int64) * rule.weight for rule in rules.signals]
    return pl.sum_horizontal(weighted).round(6).alias("step_risk")


@memoize
def bonuses(rules: RiskRules) -> list[pl.Expr]:
    """1 where a trajectory bonus applies, else 0; and the prior of the trajectory's subset."""
    early = pl.col("first_side_effect").is_not_null() & (
        pl.col("first_evidence").is_null() | (pl.col("first_side_effect") < pl.col("first_evidence"))
    )
    many_side_effects = pl.col("num_side_effect_steps") >= rules.bonus.multiple_side_effect_bonus.at_least
    other = pl.col("num_other_steps") / pl.col("steps") >= rules.bonus.high_other_ratio_bonus.at_least
    return [
        many_side_effects.cast(pl.Int64).alias("multiple_side_effect_bonus"),
        early.cast(pl.Int64).alias("early_side_effect_before_evidence"),
        (other & (pl.col("steps") > 0)).fill_null(False).cast(pl.Int64).alias("high_other_ratio_bonus"),
        rules.prior().alias("prior"),
    ]


def weights(rules: RiskRules) -> list[tuple[str, pl.Expr, float]]:
    """(name, count, weight) of each signal and bonus."""
    signals = [(rule.name, pl.col(rule.field), rule.weight) for rule in rules.signals]
    return signals + [(name, pl.col(name), bonus["weight"]) for name, bonus in rules.bonus.model_dump().items()]


@memoize
def breakdown(rules: RiskRules) -> pl.Expr:
    """Every summand of the score as a list of RiskContribution: signals, bonuses, the prior of the subset."""
    summands = [(name, count, (count * weight).round(6)) for name, count, weight in weights(rules)]
    summands.append(("subset_prior", pl.lit(1, pl.Int64), pl.col("prior")))
    return pl.concat_list(
        pl.struct(pl.lit(name).alias("signal"), count.alias("count"), value.alias("contribution"))
        for name, count, value in summands
    ).alias("risk_breakdown")


def score(base: pl.DataFrame, rules: RiskRules) -> pl.LazyFrame:
    """Columns of Risk. Integer counts are summed and multiplied once, so that every engine gives the same floats."""
    raw, normalized, bucket, columns = score_columns(rules)
    scores = base.lazy().with_columns(breakdown(rules), raw).with_columns(normalized).with_columns(bucket)
    return collect_unoptimized(scores.select(columns)).lazy()


@memoize
def score_columns(rules: RiskRules) -> tuple[pl.Expr, pl.Expr, pl.Expr, list[pl.Expr]]:
    """The raw sum, the score made of it, the bucket made of that, and the columns of Risk."""
    raw = pl.sum_horizontal([*(count * weight for _, count, weight in weights(rules)), pl.col("prior")]).round(6)
    bucket = (
        pl.when(pl.col("risk_score") >= rules.high_from)
        .then(pl.lit("high"))
        .when(pl.col("risk_score") >= rules.medium_from)
        .then(pl.lit("medium"))
        .otherwise(pl.lit("low"))
    )
    outcome = pl.col("oracle_outcome")
    has_outcome = pl.when(outcome.is_not_null())
    return (
        raw.alias("risk_score_raw"),
        (100 * (1 - (-pl.col("risk_score_raw") / rules.scale).exp())).round(4).alias("risk_score"),
        bucket.alias("risk_bucket"),
        [
            *map(pl.col, (*TRAJECTORY_KEY, "risk_score_raw", "risk_score", "risk_bucket", "risk_breakdown")),
            pl.struct([rule.field for rule in rules.signals]).alias("risk_signals"),
            (outcome + "_" + pl.col("risk_bucket") + "_risk").alias("slice_label"),
            has_outcome.then((outcome == "pass") & (pl.col("risk_bucket") == "high")).alias("pass_but_high_risk"),
            has_outcome.then((outcome == "fail") & (pl.col("risk_bucket") == "low")).alias("fail_but_low_risk"),
        ],
    )
