"""The review records of one form in memory, kept up with the file: other processes append to it as well."""

import hashlib
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic

from pydantic import TypeAdapter

from openclawbench.audit.review_folder import line
from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.check import Checker, Form, Review, Row, RowFault, Signature
from openclawbench.audit.sheets.review_sheet import SheetRow
from openclawbench.base.canonical_json import canonical_json
from openclawbench.storage import append_log
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record

SUBMITTED = "submitted.jsonl"  # each form as it was sent; its digest is the record's sheet_sha256


@dataclass(frozen=True)
class SubmitResult(Generic[Review]):
    """What became of a submitted form."""

    review: Review | None  # None: a fault, or nothing was filled in
    fault: RowFault | None = None
    already: bool = False  # an identical verdict of this reviewer is on record
    replaces: bool = False  # an earlier verdict of this reviewer on this row, which stays


class ReviewLog(Generic[Row, Review]):
    """Review records of one form, read as far as they have been written."""

    def __init__(self, folder: DataFolder, form: Form[Row, Review]) -> None:
        self.folder, self.form = folder, form
        self.path = folder.review_file(form.file)
        self.reader: TypeAdapter[Review] = TypeAdapter(form.review)
        self.rules = AuditRules.load()
        self.lock = threading.RLock()  # pages are answered in threads
        self.forget()

    def forget(self) -> None:
        """Start anew: the file is shorter than what was read of it."""
        self.offset = 0
        self.stamp: tuple[int, int] | None = None
        self.reviews: list[Review] = []
        self.by_row: dict[tuple[str, str], list[Review]] = {}
        self.latest: dict[tuple[str, str, str, bool], Review] = {}  # of each reviewer on each row, adjudications apart

    def refresh(self) -> list[Review]:
        """Every record; those appended since the last call are read now. ValueError for a broken line."""
        with self.lock:
            return self.read_on()

    def read_on(self) -> list[Review]:
        """Read what was appended. The caller holds the lock."""
        try:
            state = self.path.stat()
        except FileNotFoundError:
            self.forget()
            return self.reviews
        stamp = state.st_size, state.st_ino
        if stamp == self.stamp:
            return self.reviews
        if state.st_size < self.offset or (self.stamp and state.st_ino != self.stamp[1]):
            self.forget()
        content = append_log.read_complete_lines(self.path, self.offset)
        for row in content.split(b"\n"):
            if row:
                self.take(self.reader.validate_json(row))
        self.offset += len(content)
        self.stamp = stamp
        return self.reviews

    def take(self, review: Review) -> None:
        """Add a record to what is in memory."""
        self.reviews.append(review)
        place = place_of(review)
        self.by_row.setdefault(place[:2], []).append(review)
        self.latest[place] = review

    def of(self, sample: str, row: str) -> list[Review]:
        """The records of one row, in the order of import."""
        self.refresh()
        return list(self.by_row.get((sample, row), []))

    def submit(self, drawn: Row, answers: dict[str, str], reviewer: str) -> SubmitResult[Review]:
        """Check a form and append it as a record, on disk before this returns.

        The form is kept as it was sent; the record, which has all its answers, is what is synced. A verdict that says
        the same as this reviewer's last one on the row is not added again. Raises DataFolderLocked, and OSError if
        the disk is full; then nothing was added.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        place = {"sample": getattr(drawn, "sample"), "row": getattr(drawn, "row")}  # noqa: B009
        content = canonical_json({**place, "reviewer": reviewer, "reviewed_at": now, "answers": answers}).encode()
        sheet = hashlib.sha256(content).hexdigest()
        checker = Checker(self.form, Signature(reviewer, now), sheet, self.rules)
        review = checker.review(SheetRow(0, {**place, **answers}, is_text=False), drawn)
        if review is None or isinstance(review, RowFault):
            return SubmitResult(None, review)
        with self.folder.reviewing():
            self.refresh()
            former = self.latest.get(place_of(review))
            if former and content_of(former) == content_of(review):
                return SubmitResult(former, already=True)
            self.folder.append_review(SUBMITTED, [content + b"\n"], sync=False)
            self.folder.append_review(self.form.file, [line(review)])
            self.refresh()
        return SubmitResult(review, replaces=former is not None)


def place_of(review: Record) -> tuple[str, str, str, bool]:
    """Sample, row and reviewer of a record, and whether it is an adjudication."""
    values = (getattr(review, name) for name in ("sample", "row", "reviewer"))
    sample, row, reviewer = values
    return sample, row, reviewer, bool(getattr(review, "adjudication", False))


def content_of(review: Record) -> str:
    """A review as canonical JSON, without its time and the digest of its sheet."""
    return canonical_json(review.model_dump(exclude={"sheet_sha256", "reviewed_at"}))


def answers_of(review: Record, names: tuple[str, ...]) -> dict[str, Any]:
    """The answers of a record as a form has them: for a correction."""
    values = review.model_dump()
    return {name: values.get(name) for name in names}
