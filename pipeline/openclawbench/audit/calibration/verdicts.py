"""From review records to one human verdict a trajectory: reviewers who agree, or an adjudication; else it is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openclawbench.records.calibration import CalibrationReview, CalibrationSampleRow

UNRESOLVED = "unresolved"
FIELDS = ("human_subtype", "human_severity", "human_recoverability", "evidence_supported", "error_stage")


@dataclass(frozen=True)
class Verdict:
    """What people made of one trajectory. `label` null: unresolved. Other fields are null where they say nothing or
    reviewers differ on them; so is `onset`, with `onset_known` false."""

    row: CalibrationSampleRow
    reviews: tuple[CalibrationReview, ...]  # the last of each reviewer
    settled_by: str  # one reviewer | agreeing reviewers | adjudication | nobody
    label: bool | None
    said: dict[str, Any]  # FIELDS
    onset: int | None
    onset_known: bool

    @property
    def silver(self) -> bool:
        """The silver label."""
        return self.row.silver_anomaly_label

    @property
    def status(self) -> str:
        """agreement_status of the settled verdict."""
        if self.label is None:
            return UNRESOLVED
        if self.label != self.silver:
            return "major_disagreement"
        return "minor_correction" if self.other_subtype or self.other_onset else "agreement"

    @property
    def other_subtype(self) -> bool:
        """True where both say anomalous and people name another subtype."""
        named = self.said["human_subtype"]
        return bool(self.label and self.silver and named and named != self.row.silver_subtype)

    @property
    def other_onset(self) -> bool:
        """True where both say anomalous and people name another onset, or none."""
        return bool(self.label and self.silver and self.onset_known and self.onset != self.row.silver_onset)

    @property
    def comments(self) -> str:
        """What reviewers wrote."""
        return " / ".join(one.audit_comment for one in self.reviews if one.audit_comment)


def last_words(reviews: Sequence[CalibrationReview]) -> list[CalibrationReview]:
    """Of several records of one reviewer on one row (adjudications apart) the last."""
    return list({(one.sample, one.row, one.reviewer, one.adjudication): one for one in reviews}.values())


def verdict(row: CalibrationSampleRow, reviews: Sequence[CalibrationReview]) -> Verdict:
    """The verdict on one row; `reviews`: last words on it, one at least."""
    settling = [one for one in reviews if one.adjudication]
    used = settling[-1:] or list(reviews)
    labels = {one.human_anomaly_label for one in used}
    label = labels.pop() if len(labels) == 1 else None
    if settling:
        how = "adjudication"
    elif label is None:
        how = "nobody"
    else:
        how = "one reviewer" if len(used) == 1 else "agreeing reviewers"
    onsets = {one.human_onset for one in used if one.onset_reviewed}
    known = len(onsets) == 1 and label is not None
    said = {name: agreed([getattr(one, name) for one in used]) if label is not None else None for name in FIELDS}
    return Verdict(row, tuple(reviews), how, label, said, onsets.pop() if known else None, known)


def agreed(values: list[Any]) -> Any:
    """What those who say something all say, else null."""
    given = {value for value in values if value is not None}
    return given.pop() if len(given) == 1 else None
