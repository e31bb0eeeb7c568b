"""From review records to one human verdict per trajectory: by agreeing reviewers or an adjudication, else
unresolved."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from openclawbench.records.calibration import CalibrationReview, CalibrationSampleRow

UNRESOLVED = "unresolved"
FIELDS = ("human_subtype", "human_severity", "human_recoverability", "evidence_supported", "error_stage")


@dataclass(frozen=True)
class Verdict:
    """The human verdict on one trajectory. `label` is None while it is unresolved. Other answers are None if nobody
    gave one or reviewers differ; then `onset` is None as well, and `onset_known` false."""

    row: CalibrationSampleRow
    reviews: tuple[CalibrationReview, ...]  # the latest of each reviewer
    settled_by: str  # one reviewer | agreeing reviewers | adjudication | nobody
    label: bool | None
    answers: dict[str, Any]  # FIELDS
    onset: int | None
    onset_known: bool

    @property
    def silver(self) -> bool:
        """The silver label."""
        return self.row.silver_anomaly_label

    @property
    def status(self) -> str:
        """agreement_status of the verdict."""
        if self.label is None:
            return UNRESOLVED
        if self.label != self.silver:
            return "major_disagreement"
        return "minor_correction" if self.other_subtype or self.other_onset else "agreement"

    @property
    def other_subtype(self) -> bool:
        """True if both labels are anomalous and people name another subtype."""
        named = self.answers["human_subtype"]
        return bool(self.label and self.silver and named and named != self.row.silver_subtype)

    @property
    def other_onset(self) -> bool:
        """True if both labels are anomalous and people name another onset, or none."""
        return bool(self.label and self.silver and self.onset_known and self.onset != self.row.silver_onset)

    @property
    def comments(self) -> str:
        """The reviewers' comments."""
        return " / ".join(review.audit_comment for review in self.reviews if review.audit_comment)


def latest_reviews(reviews: Sequence[CalibrationReview]) -> list[CalibrationReview]:
    """The latest record of each reviewer on each row, in the order of `reviews`; adjudications count separately."""
    return latest_of(reviews, lambda review: (review.sample, review.row, review.reviewer, review.adjudication))


def latest_of(
    reviews: Iterable[CalibrationReview], key: Callable[[CalibrationReview], Hashable]
) -> list[CalibrationReview]:
    """The last review of each key, in the order of `reviews`: the last of the list is the last of all."""
    latest: dict[Hashable, CalibrationReview] = {}
    for review in reviews:
        latest.pop(key(review), None)  # so that a replaced review does not keep its place
        latest[key(review)] = review
    return list(latest.values())


def verdict(row: CalibrationSampleRow, reviews: Sequence[CalibrationReview]) -> Verdict:
    """The verdict on one row. `reviews`: the latest of each reviewer, at least one."""
    adjudications = [review for review in reviews if review.adjudication]
    used = adjudications[-1:] or list(reviews)
    labels = {review.human_anomaly_label for review in used}
    label = labels.pop() if len(labels) == 1 else None
    if adjudications:
        settled_by = "adjudication"
    elif label is None:
        settled_by = "nobody"
    else:
        settled_by = "one reviewer" if len(used) == 1 else "agreeing reviewers"
    onsets = {review.human_onset for review in used if review.onset_reviewed}
    onset_known = len(onsets) == 1 and label is not None
    answers = {
        name: agreed_value([getattr(review, name) for review in used]) if label is not None else None for name in FIELDS
    }
    return Verdict(row, tuple(reviews), settled_by, label, answers, onsets.pop() if onset_known else None, onset_known)


def agreed_value(values: list[Any]) -> Any:
    """The value that all who give one agree on, else None."""
    distinct = {value for value in values if value is not None}
    return distinct.pop() if len(distinct) == 1 else None
