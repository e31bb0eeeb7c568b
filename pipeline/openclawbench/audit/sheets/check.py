"""From a filled sheet to review records: check each row against the drawn sample, and keep the valid ones.

A Form describes one kind of review: its columns and how its answers are read.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from openclawbench.audit.settings import AuditRules, ShownTexts
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.review_sheet import SheetRow
from openclawbench.base.dates import is_time
from openclawbench.tables.record import Record

Row = TypeVar("Row", bound=Record)  # of a sample, as drawn
Review = TypeVar("Review", bound=Record)
ROW = "row"
IDENTITY = ("sample", ROW)  # a sheet may leave out `sample` if the row's id determines it
SIGNATURE = ("reviewer", "reviewed_at")


@dataclass(frozen=True)
class InvalidAnswer:
    """Why an answer cannot be imported."""

    reason: str
    message: str


@dataclass(frozen=True)
class RowFault:
    """Why a row is not imported."""

    line: int | None  # None: the row is not in the file
    reason: str
    message: str
    row: str  # its id in the sheet
    spreadsheet_row: int | None  # None: the sheet is JSONL, or the row is not in the file

    @property
    def location(self) -> str:
        """Where a reviewer finds the row in the sheet; empty if it is not there."""
        if self.line is None:
            return ""
        place = "" if self.spreadsheet_row is None else f", spreadsheet row {self.spreadsheet_row}"
        return f" (row {self.row or 'without an id'}{place})"


def fault(row: SheetRow, reason: str, message: str) -> RowFault:
    """A fault of a row that is in the sheet."""
    return RowFault(row.line, reason, message, answer_text(row, "row"), row.spreadsheet_row)


Answers = dict[str, str]  # name of an answer -> its text, stripped, with \n as line end
Read = dict[str, Any] | InvalidAnswer | None  # the review's own fields; None if nothing is filled in


@dataclass(frozen=True)
class Form(Generic[Row, Review]):
    """One kind of review."""

    name: str  # of its sheets: events | calibration
    prefix: str  # of its samples' ids
    file: str  # of its records, in review/
    row: type[Row]
    review: type[Review]
    sample: type[Record]  # the record of how a sample was drawn
    answers: tuple[str, ...]  # columns to fill in, in order, including SIGNATURE
    needed: tuple[str, ...]  # columns that a sheet must have
    read: Callable[[Answers, Row, AuditRules], Read]
    shown: Callable[[Row], Record]  # a row as the sheet shows it, without what must stay hidden
    texts: Callable[[AuditRules], ShownTexts]
    where: Callable[[Row], str]  # the place of a row, in words
    settles: str | None = None  # the answer that marks a row as an adjudication


@dataclass
class CheckedSheet(Generic[Review]):
    """The result of checking a sheet: rows = reviews + not_reviewed + at_fault. Rows of the sample that the sheet lacks
    (`missing`) are faults as well, but not rows."""

    reviews: list[Review] = field(default_factory=list)
    faults: list[RowFault] = field(default_factory=list)
    not_reviewed: int = 0
    rows: int = 0

    @property
    def missing(self) -> int:
        """Number of rows of the sample that are not in the sheet."""
        return sum(fault.line is None for fault in self.faults)

    @property
    def at_fault(self) -> int:
        """Number of rows of the sheet that are not imported."""
        return len(self.faults) - self.missing


@dataclass(frozen=True)
class Signature:
    """Reviewer and date for rows that do not give them."""

    reviewer: str | None
    reviewed_at: str | None


def check(
    form: Form[Row, Review],
    rows: Sequence[SheetRow],
    samples: dict[str, dict[str, Row]],
    signed: Signature,
    sheet: str,
    rules: AuditRules,
) -> CheckedSheet[Review]:
    """Check every row of a sheet. samples: sample id -> row id -> drawn row; sheet: sha256 of the file."""
    result, checker = CheckedSheet[Review](rows=len(rows)), Checker(form, signed, sheet, rules)
    identities = [identity(row, samples) for row in rows]
    repeated = Counter(identities)
    for row, (sample_id, row_id) in zip(rows, identities, strict=True):
        outcome: Review | RowFault | None = find_row_fault(
            row, sample_id, row_id, form, samples, repeated[sample_id, row_id]
        )
        outcome = outcome or checker.review(row, samples[sample_id][row_id])
        if isinstance(outcome, RowFault):
            result.faults.append(outcome)
        elif outcome is None:
            result.not_reviewed += 1
        else:
            result.reviews.append(outcome)
    if only_adjudicates(form, rows, rules):
        return result
    unread = "".join(f"; the sheet is not read from line {row.line} on" for row in rows if row.last_line is not None)
    of_unknown_sample = {row_id for sample_id, row_id in identities if sample_id not in samples}  # faults already
    for sample_id in dict.fromkeys(sample_id for sample_id, _ in identities if sample_id in samples):
        for row_id, sample_row in samples[sample_id].items():
            if (sample_id, row_id) not in repeated and row_id not in of_unknown_sample:
                message = f"row {row_id} ({form.where(sample_row)}) is not in the sheet{unread}"
                result.faults.append(RowFault(None, "missing_row", message, row_id, None))
    return result


def find_row_fault(
    row: SheetRow,
    sample_id: str,
    row_id: str,
    form: Form[Row, Review],
    samples: dict[str, dict[str, Row]],
    occurrences: int,
) -> RowFault | None:
    """Why a row of a sheet does not identify one row of a drawn sample; None if it does."""
    if row.broken:
        return fault(row, "broken_row", f"{row.broken}; correct the line")
    if missing := [name for name in form.needed if name not in row.values]:
        return fault(row, "no_column", f"has no {', '.join(missing)}")
    if not sample_id and IDENTITY[0] not in row.values:
        return fault(row, "no_sample", f"no sample, or more than one, has a row {row_id!r}; keep the column sample")
    if sample_id not in samples:
        return fault(row, "unknown_sample", f"no sample {sample_id!r} was drawn in this data folder")
    if row_id not in samples[sample_id]:
        return fault(row, "unknown_row", f"sample {sample_id} has no row {row_id!r}")
    return fault(row, "duplicate_row", f"row {row_id} is in the sheet {occurrences} times") if occurrences > 1 else None


def only_adjudicates(form: Form[Row, Review], rows: Sequence[SheetRow], rules: AuditRules) -> bool:
    """True if every filled row is an adjudication: such a sheet may leave out undisputed rows."""
    names = [name for name in form.answers if name not in SIGNATURE]
    answered = [row for row in rows if any(answer_text(row, name) for name in names)]
    column = form.settles
    if column is None or not answered:
        return False
    return all(answer_text(row, column).lower() in rules.answers.supported for row in answered)


class Checker(Generic[Row, Review]):
    """Checks rows that identify a row of a drawn sample."""

    def __init__(self, form: Form[Row, Review], signed: Signature, sheet: str, rules: AuditRules) -> None:
        self.form, self.signed, self.sheet, self.rules = form, signed, sheet, rules
        self.cells = Cells(rules, form.texts(rules))

    def review(self, row: SheetRow, drawn: Row) -> Review | RowFault | None:
        """The review in a row, or its fault; None if nothing is filled in."""
        if edited := self.edited(row, self.form.shown(drawn)):
            first, last = self.form.answers[0], self.form.answers[-1]
            message = f"{', '.join(edited)} is not what was sampled; fill in only {first} … {last}"
            return fault(row, "edited_evidence", message)
        answers = {name: answer_text(row, name) for name in self.form.answers}
        answers_read = self.form.read(answers, drawn, self.rules)
        if answers_read is None:
            return None
        if isinstance(answers_read, InvalidAnswer):
            return fault(row, answers_read.reason, answers_read.message)
        reviewer = " ".join((answers["reviewer"] or self.signed.reviewer or "").split())
        reviewed_at = answers["reviewed_at"] or self.signed.reviewed_at or ""
        if not reviewer:
            return fault(row, "no_reviewer", "has no reviewer; fill in reviewer, or name one with --reviewer")
        if not is_time(reviewed_at):
            message = f"reviewed_at is {reviewed_at!r}; write it as 2026-11-21, or give --reviewed-at"
            return fault(row, "no_date", message)
        copied = {
            name: getattr(drawn, name) for name in self.form.review.model_fields if name in self.form.row.model_fields
        }
        signature = {"reviewer": reviewer, "reviewed_at": reviewed_at, "sheet_sha256": self.sheet}
        return self.form.review.model_validate(copied | answers_read | signature)

    def edited(self, row: SheetRow, shown: Record) -> list[str]:
        """Columns of the sample that differ in the sheet."""
        return [
            name
            for name, value in shown.model_dump().items()
            if name in row.values and name not in IDENTITY and not self.same(row, name, value)
        ]

    def same(self, row: SheetRow, name: str, value: Any) -> bool:
        """True if a column still holds the sampled value."""
        content = row.values[name]
        return self.cells.same(str(content), value) if row.is_text else content == value


def identity(row: SheetRow, samples: dict[str, dict[str, Row]]) -> tuple[str, str]:
    """(sample, row) of a row. Without a column `sample` it is the only drawn sample with a row of that id."""
    sample, row_id = (answer_text(row, name) for name in IDENTITY)
    if IDENTITY[0] not in row.values:
        matching = [name for name, drawn in samples.items() if row_id in drawn]
        sample = matching[0] if len(matching) == 1 else ""
    return sample, row_id


def answer_text(row: SheetRow, name: str) -> str:
    """An answer as text; empty if nothing is written."""
    value = row.values.get(name)
    return "" if value is None else str(value).replace("\r\n", "\n").strip()
