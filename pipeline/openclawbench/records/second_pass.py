"""The second annotation pass: the records of the first pass in tables of their own, and the labels of both compared."""

from collections.abc import Mapping
from typing import Annotated, Any

import polars as pl

from openclawbench.records.fulltax import (
    Annotation,
    AnswerA,
    AnswerB1,
    AnswerB2,
    AnswerC,
    DecisionA,
    DecisionB1,
    DecisionB2,
    DecisionC,
    RequestA,
    RequestB1,
    RequestB2,
    RequestC,
)
from openclawbench.records.release import ReleaseFind, ReleaseLine
from openclawbench.records.tiers import HIGH
from openclawbench.tables.record import Keyed, Record


class RequestAPass2(RequestA):
    """Stage A questions of the second pass."""


class RequestB1Pass2(RequestB1):
    """Stage B1 questions of the second pass."""


class RequestB2Pass2(RequestB2):
    """Stage B2 questions of the second pass."""


class RequestCPass2(RequestC):
    """Stage C questions of the second pass."""


class AnswerAPass2(AnswerA):
    """Stage A answers of the second pass."""


class AnswerB1Pass2(AnswerB1):
    """Stage B1 answers of the second pass."""


class AnswerB2Pass2(AnswerB2):
    """Stage B2 answers of the second pass."""


class AnswerCPass2(AnswerC):
    """Stage C answers of the second pass."""


class DecisionAPass2(DecisionA):
    """Stage A decisions of the second pass."""


class DecisionB1Pass2(DecisionB1):
    """Stage B1 decisions of the second pass."""


class DecisionB2Pass2(DecisionB2):
    """Stage B2 decisions of the second pass."""


class DecisionCPass2(DecisionC):
    """Stage C decisions of the second pass."""


class AnnotationPass2(Annotation):
    """The label of one trajectory by the second pass."""


class ReleaseLinePass2(ReleaseLine):
    """One rendered line of stage_*_raw_pass2.jsonl."""


class ReleaseFindPass2(ReleaseFind):
    """One find in a rendered line of stage_*_raw_pass2.jsonl, masked."""


class ReferenceLabel(Keyed):
    """A line of reference_pass_labels.jsonl: the second pass's decision, and whether both passes are sure of it."""

    task_id: str | None
    is_anomalous: bool | None
    anomaly_type_l2: str | None
    earliest_recoverable_onset: int | None
    earliest_harmful_onset: int | None
    earliest_state_contamination_onset: int | None
    quality_tier: str
    label_status: str
    review_cause: str | None
    judge: str | None
    judge_model: str | None
    both_high_confidence: bool


# Record of the first pass -> the same of the second.
PASS2: dict[type[Record], type[Record]] = {
    RequestA: RequestAPass2,
    RequestB1: RequestB1Pass2,
    RequestB2: RequestB2Pass2,
    RequestC: RequestCPass2,
    AnswerA: AnswerAPass2,
    AnswerB1: AnswerB1Pass2,
    AnswerB2: AnswerB2Pass2,
    AnswerC: AnswerCPass2,
    DecisionA: DecisionAPass2,
    DecisionB1: DecisionB1Pass2,
    DecisionB2: DecisionB2Pass2,
    DecisionC: DecisionCPass2,
    Annotation: AnnotationPass2,
}

AnnotationsPass2 = Annotated[pl.LazyFrame, AnnotationPass2]
DecisionsAPass2 = Annotated[pl.LazyFrame, DecisionAPass2]
DecisionsB1Pass2 = Annotated[pl.LazyFrame, DecisionB1Pass2]
DecisionsB2Pass2 = Annotated[pl.LazyFrame, DecisionB2Pass2]
DecisionsCPass2 = Annotated[pl.LazyFrame, DecisionCPass2]
ReleaseLinesPass2 = Annotated[pl.LazyFrame, ReleaseLinePass2]
ReferenceLabels = Annotated[pl.LazyFrame, ReferenceLabel]


def both_high_confidence(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """high_confidence_accepted in both passes, with the same is_anomalous and anomaly_type_l2 (own choice; the paper
    says that both passes mark the trajectory with high confidence)."""
    same = all(first[name] == second[name] for name in ("is_anomalous", "anomaly_type_l2"))
    return same and first["quality_tier"] == second["quality_tier"] == HIGH
