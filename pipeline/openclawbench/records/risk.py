"""Process risk, slices and onset candidates (paper T12-T15). Annotation priors, never labels."""

from typing import Annotated, ClassVar

import polars as pl

from openclawbench.tables.record import Keyed, Record


class RiskSignals(Record):
    """Counts behind the risk score, under the source-field names of T12."""

    num_external_write_steps: int
    num_state_write_steps: int
    num_side_effect_steps: int
    num_uncertainty_steps: int
    num_write_under_uncertainty_steps: int
    num_memory_write_steps: int
    num_error_signal_steps: int
    num_other_steps: int


class RiskContribution(Record):
    """One summand of the raw score."""

    signal: str
    count: int
    contribution: float


class Risk(Keyed):
    """Risk score of a trajectory with its breakdown, and its slice (paper T12-T14)."""

    REASONS: ClassVar[list[str]] = ["slice_label"]
    risk_signals: RiskSignals
    risk_breakdown: list[RiskContribution]
    risk_score_raw: float
    risk_score: float
    risk_bucket: str
    slice_label: str | None
    pass_but_high_risk: bool | None
    fail_but_low_risk: bool | None


class StepRisk(Keyed):
    """Per-step weight: T12's step signals without the trajectory bonuses."""

    step_id: int
    step_risk: float


class StepRiskScore(Record):
    """One entry of step_risk_scores."""

    step_id: int
    step_risk: float


class OnsetCandidates(Record):
    """Localization anchors (T15); null or empty where there is none."""

    earliest_side_effect_step: int | None
    earliest_external_write_step: int | None
    earliest_state_write_step: int | None
    earliest_write_under_uncertainty_step: int | None
    earliest_error_signal_step: int | None
    top_k_risky_steps: list[int]
    step_risk_scores: list[StepRiskScore]


class OnsetRule(Record):
    """Which rule made a candidate."""

    candidate: str
    step_id: int
    rule_id: str


class Onset(Keyed):
    """Onset candidates of a trajectory. onset_rules has an entry for each, the riskiest included, ordered by step."""

    onset_candidates: OnsetCandidates
    onset_rules: list[OnsetRule]


Risks = Annotated[pl.LazyFrame, Risk]
StepRisks = Annotated[pl.LazyFrame, StepRisk]
Onsets = Annotated[pl.LazyFrame, Onset]
