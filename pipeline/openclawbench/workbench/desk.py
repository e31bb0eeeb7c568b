"""Samples, queues and verdicts of a data folder, for the people who review it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openclawbench.audit.calibration.chosen import add_chosen, chosen_row
from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.calibration.verdicts import latest_reviews, verdict
from openclawbench.audit.events.form import EVENTS
from openclawbench.audit.review_folder import drawn_rows, drawn_samples
from openclawbench.audit.sheets.check import Form
from openclawbench.errors import NotFound
from openclawbench.records.calibration import CHOSEN, CalibrationReview, CalibrationSampleRow
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record
from openclawbench.workbench.review_log import ReviewLog, SubmitResult

FORMS: tuple[Form[Any, Any], ...] = (CALIBRATION, EVENTS)


@dataclass(frozen=True)
class QueueRow:
    """A row of a sample in one reviewer's queue."""

    drawn: Any  # CalibrationSampleRow | EventSampleRow
    mine: Any | None  # the latest record of this reviewer
    reviewers: int
    settled: bool = False  # this reviewer has settled the row, and so seen its label

    @property
    def state(self) -> str:
        """open, or done."""
        return "open" if self.mine is None else "done"


class Desk:
    """Reviews of one data folder."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        self.logs = {form.name: ReviewLog(folder, form) for form in FORMS}
        self.drawn: dict[str, dict[str, dict[str, Any]]] = {}
        self.stamps: dict[str, tuple[tuple[str, int], ...]] = {}

    def form_of(self, sample: str) -> Form[Any, Any]:
        """The form of a sample, by the beginning of its id. NotFound."""
        for form in FORMS:
            if sample.startswith(form.prefix):
                return form
        raise NotFound(f"{sample}: there is no such sample. `openclawbench audit sample-calibration` draws one.")

    def samples(self, form: Form[Any, Any]) -> dict[str, dict[str, Any]]:
        """Sample id -> row id -> row; read again only if a file of samples/ has changed."""
        paths = self.folder.review_files(f"samples/{form.prefix}*.rows.jsonl")
        stamp = tuple((path.name, path.stat().st_mtime_ns) for path in paths)
        if self.stamps.get(form.name) != stamp:
            self.drawn[form.name] = drawn_rows(self.folder, form)
            self.stamps[form.name] = stamp
        return self.drawn[form.name]

    def described(self, form: Form[Any, Any]) -> dict[str, Record]:
        """Sample id -> how it was drawn."""
        return drawn_samples(self.folder, form, form.sample)

    def row(self, sample: str, row: str) -> Any:
        """A drawn row. NotFound."""
        rows = self.samples(self.form_of(sample)).get(sample)
        if rows is None:
            raise NotFound(f"{sample}: there is no such sample in {self.folder.root}.")
        if row not in rows:
            raise NotFound(f"{sample}: has no row {row}.")
        return rows[row]

    def queue(self, sample: str, reviewer: str) -> list[QueueRow]:
        """The rows of a sample in this reviewer's own order: by a hash of name and row, so that two reviewers do not
        tire at the same rows."""
        form = self.form_of(sample)
        rows = self.samples(form).get(sample)
        if rows is None:
            raise NotFound(f"{sample}: there is no such sample in {self.folder.root}.")
        order = sorted(rows.values(), key=lambda row: hashlib.sha256(f"{reviewer}\0{row.row}".encode()).digest())
        return [self.queue_row(form, row, reviewer) for row in order]

    def queue_row(self, form: Form[Any, Any], row: Any, reviewer: str) -> QueueRow:
        """A row with this reviewer's latest record, adjudications apart."""
        row_reviews = self.logs[form.name].of(row.sample, row.row)
        reviews = [review for review in row_reviews if not is_adjudication(review)]
        mine = [review for review in reviews if review.reviewer == reviewer]
        settled = any(is_adjudication(review) and review.reviewer == reviewer for review in row_reviews)
        return QueueRow(row, mine[-1] if mine else None, len({review.reviewer for review in reviews}), settled)

    def disputed(self, sample: str) -> list[tuple[CalibrationSampleRow, list[CalibrationReview]]]:
        """Rows that two or more people reviewed and that are not settled: those where labels differ first, then those
        where all are unsure, then differing subtypes or onsets."""
        disputes = []
        for row in self.samples(CALIBRATION).get(sample, {}).values():
            latest = latest_reviews(self.logs[CALIBRATION.name].of(sample, row.row))
            people = [review for review in latest if not review.adjudication]
            if len(people) < 2 or len(latest) > len(people):
                continue
            if (weight := dispute(people)) is not None:
                disputes.append(
                    (weight, row.row, row, sorted(people, key=lambda review: reviewer_order(row.row, review.reviewer)))
                )
        return [(row, people) for _, _, row, people in sorted(disputes, key=lambda entry: entry[:2])]

    def submit(self, sample: str, row: str, answers: dict[str, str], reviewer: str) -> SubmitResult[Any]:
        """Record a verdict on a drawn row."""
        form = self.form_of(sample)
        return self.logs[form.name].submit(self.row(sample, row), answers, reviewer)

    def submit_chosen(self, record: dict[str, Any], answers: dict[str, str], reviewer: str) -> SubmitResult[Any]:
        """Record a verdict on a trajectory that the reviewer chose, with its label in sight. `record`: as chosen_row()
        takes it."""
        row = chosen_row(record)
        log = self.logs[CALIBRATION.name]
        with self.folder.reviewing():
            add_chosen(self.folder, row, record["judge"])
        return log.submit(row, answers, reviewer)

    def verdicts(self) -> dict[tuple[str, str], str]:
        """Key -> agreement_status of the human verdict on it, drawn or chosen; the sample reviewed last counts."""
        by_row: dict[tuple[str, str], list[CalibrationReview]] = {}
        for review in latest_reviews(self.logs[CALIBRATION.name].refresh()):
            by_row.setdefault((review.sample, review.row), []).append(review)
        rows = self.samples(CALIBRATION)
        settled = {}
        for (sample, row), reviews in by_row.items():
            if drawn := rows.get(sample, {}).get(row):
                settled[drawn.source_model, drawn.trajectory_id] = verdict(drawn, reviews).status
        return settled

    def reviews_of(self, model: str, trajectory_id: str) -> list[CalibrationReview]:
        """Every verdict on a trajectory, in the order of import."""
        return [
            review
            for review in self.logs[CALIBRATION.name].refresh()
            if (review.source_model, review.trajectory_id) == (model, trajectory_id)
        ]

    def progress(self, reviewer: str | None = None) -> list[dict[str, Any]]:
        """One row per sample: form, rows, reviewed by anybody, reviewed by this person, by whom, whether blind."""
        table = []
        for form in FORMS:
            for sample, rows in self.samples(form).items():
                reviews = [review for row in rows for review in self.logs[form.name].of(sample, row)]
                people = sorted({review.reviewer for review in reviews})
                table.append(
                    {
                        "sample": sample,
                        "form": form.name,
                        "rows": len(rows),
                        "reviewed": len({review.row for review in reviews}),
                        "mine": len({review.row for review in reviews if review.reviewer == reviewer}),
                        "reviewers": people,
                        "blind": any(getattr(row, "blind", False) for row in rows.values()),
                        "chosen": sample == CHOSEN,
                    }
                )
        return table


def is_adjudication(review: Any) -> bool:
    """True for a record that settles a row."""
    return bool(getattr(review, "adjudication", False))


def dispute(reviews: Iterable[CalibrationReview]) -> int | None:
    """How much reviewers differ: 0 labels, 1 all unsure, 2 subtype or onset; None if they agree."""
    verdicts = list(reviews)
    labels = {review.human_anomaly_label for review in verdicts}
    if len(labels) > 1:
        return 0
    if labels == {None}:
        return 1
    details = {(review.human_subtype, review.human_onset) for review in verdicts}
    return 2 if len(details) > 1 else None


def reviewer_order(row: str, reviewer: str) -> bytes:
    """Sort key of a row's reviewers, who are shown as A, B, …: it does not reveal who they are."""
    return hashlib.sha256(f"{row}\0{reviewer}".encode()).digest()
