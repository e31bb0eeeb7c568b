"""A filled sheet -> review records, for every kind of review: each row is checked against the sample that was drawn,
good ones are kept. What a kind asks and how its answers are read is a Form."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from openclawbench.audit.settings import AuditRules, ShownTexts
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.review_sheet import Filled
from openclawbench.base.dates import is_time
from openclawbench.tables.record import Record

Row = TypeVar("Row", bound=Record)  # of a sample, as drawn
Review = TypeVar("Review", bound=Record)
ROW = "row"
IDENTITY = ("sample", ROW)  # a sheet may leave `sample` out where the row's id says it
SIGNATURE = ("reviewer", "reviewed_at")


@dataclass(frozen=True)
class Wrong:
    """Why an answer cannot be taken over."""

    reason: str
    message: str


@dataclass(frozen=True)
class Fault:
    """Why a row is not taken over."""

    line: int | None  # null: the row is not in the file
    reason: str
    message: str
    row: str  # its id, as the sheet says it
    spreadsheet_row: int | None  # null: the sheet is JSONL, or the row is not in the file

    @property
    def named(self) -> str:
        """The row as a reviewer finds it in the sheet; empty where it is not in there."""
        if self.line is None:
            return ""
        place = "" if self.spreadsheet_row is None else f", spreadsheet row {self.spreadsheet_row}"
        return f" (row {self.row or 'without an id'}{place})"


def fault(row: Filled, reason: str, message: str) -> Fault:
    """A fault of a row that is in the sheet."""
    return Fault(row.line, reason, message, written(row, "row"), row.spreadsheet_row)


Answers = dict[str, str]  # name of an answer -> what is written, line ends evened out, blanks at the ends left out
Read = dict[str, Any] | Wrong | None  # the review's own fields; null where nothing is filled in


@dataclass(frozen=True)
class Form(Generic[Row, Review]):
    """One kind of review."""

    name: str  # of its sheets: events | calibration
    prefix: str  # of its samples' ids
    file: str  # of its records, in review/
    row: type[Row]
    review: type[Review]
    sample: type[Record]  # what is kept of how a sample was drawn
    answers: tuple[str, ...]  # columns to fill in, in order; SIGNATURE stands among them
    needed: tuple[str, ...]  # of these, columns that a sheet must have
    read: Callable[[Answers, Row, AuditRules], Read]
    shown: Callable[[Row], Record]  # a row as the sheet shows it: nothing that a reviewer must not see
    texts: Callable[[AuditRules], ShownTexts]
    where: Callable[[Row], str]  # a row in words
    settles: str | None = None  # the answer whose yes says that a row settles another review; null: it has none


@dataclass
class Checked(Generic[Review]):
    """What a sheet came to: rows = reviews + not_reviewed + at_fault. Rows of the sample that are not in the sheet are
    faults too, and no rows of it: missing."""

    reviews: list[Review] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    not_reviewed: int = 0
    rows: int = 0

    @property
    def missing(self) -> int:
        """Rows of the sample that are not in the sheet."""
        return sum(one.line is None for one in self.faults)

    @property
    def at_fault(self) -> int:
        """Rows of the sheet that are not taken over."""
        return len(self.faults) - self.missing


@dataclass(frozen=True)
class Signed:
    """Who reviewed and when, for rows that do not say it themselves."""

    reviewer: str | None
    reviewed_at: str | None


def check(
    form: Form[Row, Review],
    rows: Sequence[Filled],
    samples: dict[str, dict[str, Row]],
    signed: Signed,
    sheet: str,
    rules: AuditRules,
) -> Checked[Review]:
    """Every row of a sheet, checked. samples: sample id -> row id -> row, as drawn; sheet: sha256 of the file."""
    done, checker = Checked[Review](rows=len(rows)), Checker(form, signed, sheet, rules)
    places = [identity(row, samples) for row in rows]
    repeated = Counter(places)
    for row, place in zip(rows, places, strict=True):
        found = unusable(row, place, form, samples, repeated[place]) or checker.review(row, samples[place[0]][place[1]])
        if isinstance(found, Fault):
            done.faults.append(found)
        elif found is None:
            done.not_reviewed += 1
        else:
            done.reviews.append(found)
    if settles_only(form, rows, rules):
        return done
    lost = "".join(f"; the sheet is not read from line {row.line} on" for row in rows if row.last_line is not None)
    nowhere = {row_id for sample_id, row_id in places if sample_id not in samples}  # at fault, so not missing too
    for sample_id in dict.fromkeys(one for one, _ in places if one in samples):
        for row_id, drawn in samples[sample_id].items():
            if (sample_id, row_id) not in repeated and row_id not in nowhere:
                message = f"row {row_id} ({form.where(drawn)}) is not in the sheet{lost}"
                done.faults.append(Fault(None, "missing_row", message, row_id, None))
    return done


def unusable(
    row: Filled, place: tuple[str, str], form: Form[Row, Review], samples: dict[str, dict[str, Row]], times: int
) -> Fault | None:
    """Why a row of a sheet is no single row of a drawn sample; null where it is one."""
    sample_id, row_id = place
    if row.broken:
        return fault(row, "broken_row", f"{row.broken}; correct the line")
    if lacking := [name for name in form.needed if name not in row.values]:
        return fault(row, "no_column", f"has no {', '.join(lacking)}")
    if not sample_id and IDENTITY[0] not in row.values:
        return fault(row, "no_sample", f"no sample, or not one alone, has a row {row_id!r}; keep the column sample")
    if sample_id not in samples:
        return fault(row, "unknown_sample", f"no sample {sample_id!r} was drawn in this data folder")
    if row_id not in samples[sample_id]:
        return fault(row, "unknown_row", f"sample {sample_id} has no row {row_id!r}")
    return fault(row, "duplicate_row", f"row {row_id} is in the sheet {times} times") if times > 1 else None


def settles_only(form: Form[Row, Review], rows: Sequence[Filled], rules: AuditRules) -> bool:
    """True where every filled row settles another review: such a sheet need not hold the rows that nobody disputes."""
    names = [name for name in form.answers if name not in SIGNATURE]
    answered = [row for row in rows if any(written(row, name) for name in names)]
    column = form.settles
    if column is None or not answered:
        return False
    return all(written(row, column).lower() in rules.answers.supported for row in answered)


class Checker(Generic[Row, Review]):
    """Checks single rows."""

    def __init__(self, form: Form[Row, Review], signed: Signed, sheet: str, rules: AuditRules) -> None:
        self.form, self.signed, self.sheet, self.rules = form, signed, sheet, rules
        self.cells = Cells(rules, form.texts(rules))

    def review(self, row: Filled, drawn: Row) -> Review | Fault | None:
        """The review of a row of the sample; null where nothing is filled in."""
        if edited := self.edited(row, self.form.shown(drawn)):
            first, last = self.form.answers[0], self.form.answers[-1]
            message = f"{', '.join(edited)} is not what was sampled; only {first} … {last} may be filled in"
            return fault(row, "edited_evidence", message)
        answers = {name: written(row, name) for name in self.form.answers}
        found = self.form.read(answers, drawn, self.rules)
        if found is None:
            return None
        if isinstance(found, Wrong):
            return fault(row, found.reason, found.message)
        who = " ".join((answers["reviewer"] or self.signed.reviewer or "").split())
        when = answers["reviewed_at"] or self.signed.reviewed_at or ""
        if not who:
            message = "says not who reviewed; fill in reviewer, or name one with --reviewer"
            return fault(row, "no_reviewer", message)
        if not is_time(when):
            message = f"reviewed_at is {when!r}; write it as 2026-11-21, or give --reviewed-at"
            return fault(row, "no_date", message)
        same = {
            name: getattr(drawn, name) for name in self.form.review.model_fields if name in self.form.row.model_fields
        }
        signature = {"reviewer": who, "reviewed_at": when, "sheet_sha256": self.sheet}
        return self.form.review.model_validate(same | found | signature)

    def edited(self, row: Filled, shown: Record) -> list[str]:
        """Columns of the sample that the sheet has, and has changed."""
        return [
            name
            for name, value in shown.model_dump().items()
            if name in row.values and name not in IDENTITY and not self.same(row, name, value)
        ]

    def same(self, row: Filled, name: str, value: Any) -> bool:
        """True where a column still holds what was sampled."""
        found = row.values[name]
        return self.cells.same(str(found), value) if row.is_text else found == value


def identity(row: Filled, samples: dict[str, dict[str, Row]]) -> tuple[str, str]:
    """(sample, row) of a row; of one that has no column `sample`, the only drawn sample with a row of that id."""
    sample, one = (written(row, name) for name in IDENTITY)
    if IDENTITY[0] not in row.values:
        having = [name for name, drawn in samples.items() if one in drawn]
        sample = having[0] if len(having) == 1 else ""
    return sample, one


def written(row: Filled, name: str) -> str:
    """An answer as text, empty where nothing is written."""
    value = row.values.get(name)
    return "" if value is None else str(value).replace("\r\n", "\n").strip()
