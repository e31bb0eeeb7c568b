"""Quality tiers (paper T30, and one of our own): how a tier is decided, and which status follows from it.

A label of a judge that only matches rules is a baseline, whatever checks it passes. Its best tier is
`baseline_accepted`, and nothing that is loaded, counted or measured as accepted contains it. A record that no judge was
asked about has no tier, and the status `unjudged`.
"""

from collections.abc import Iterable
from typing import get_args

import polars as pl

from openclawbench.records.vocabulary import LabelStatus, QualityTier

TIERS: tuple[str, ...] = get_args(QualityTier)
STATUSES: tuple[str, ...] = get_args(LabelStatus)
HIGH, REPAIRED, BASELINE_TIER, REVIEW = TIERS
ACCEPTED, NEEDS_REVIEW, BASELINE, UNJUDGED = STATUSES
STATUS_OF: dict[str | None, str] = {
    HIGH: ACCEPTED,
    REPAIRED: ACCEPTED,
    BASELINE_TIER: BASELINE,
    REVIEW: NEEDS_REVIEW,
    None: UNJUDGED,
}
BASELINE_JUDGES = frozenset({"rules"})  # `provenance.judge` of judges that only match rules

# The same as expressions over `quality_tier` and `judge`.
IS_ACCEPTED = pl.col("quality_tier").is_in([HIGH, REPAIRED])
IS_BASELINE = pl.col("quality_tier") == BASELINE_TIER
IS_DECIDED = pl.col("is_anomalous").is_not_null()
BY_BASELINE_JUDGE = IS_BASELINE | pl.col("judge").is_in(sorted(BASELINE_JUDGES)).fill_null(False)  # also in review
# What a gap is measured over: what a judge that is no baseline decided, in whatever tier.
IS_MEASURED = ~BY_BASELINE_JUDGE & IS_DECIDED


def tier_of(cause: str | None, repaired: bool, judges: Iterable[str | None]) -> str:
    """The tier of an annotation: from its review cause, whether it was repaired, and the judges of its stages.

    One answer of a baseline judge makes the label a baseline.
    """
    if cause:
        return REVIEW
    if not BASELINE_JUDGES.isdisjoint(judges):
        return BASELINE_TIER
    return REPAIRED if repaired else HIGH


def status_of(tier: str | None) -> str:
    """The `label_status` of a record of this tier; None: nobody judged it."""
    return STATUS_OF[tier]


def status() -> pl.Expr:
    """The `label_status` of each row, from its `quality_tier`."""
    tier = pl.col("quality_tier")
    judged = tier.replace_strict({name: STATUS_OF[name] for name in TIERS}, return_dtype=pl.String)
    return pl.when(tier.is_null()).then(pl.lit(UNJUDGED)).otherwise(judged).alias("label_status")


def main_status(statuses: Iterable[str]) -> str:
    """Which labels a corpus is about: the accepted ones, or the baseline where it has no others."""
    present = set(statuses)
    return BASELINE if BASELINE in present and ACCEPTED not in present else ACCEPTED
