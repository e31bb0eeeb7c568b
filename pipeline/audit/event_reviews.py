"""A filled event sheet -> review records: each row is checked against the sample that was drawn, good ones are kept."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, get_args

from pipeline.audit.cells import Cells
from pipeline.audit.settings import AuditRules
from pipeline.audit.sheet import Filled
from pipeline.records.review import ErrorType, EventReview, EventSampleRow

ANSWERS = ("is_supported", "error_type", "review_comment", "reviewer", "reviewed_at")  # T33's fields; who, when
IDENTITY = ("sample", "row")


@dataclass(frozen=True)
class Fault:
    """Why a row is not taken over."""

    line: int | None  # null: the row is not in the file
    reason: str
    message: str


@dataclass
class Checked:
    """What a sheet came to: rows = reviews + not_reviewed + rows at fault; a missing row is at fault too."""

    reviews: list[EventReview] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    not_reviewed: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Signed:
    """Who reviewed and when, for rows that do not say it themselves."""

    reviewer: str | None
    reviewed_at: str | None


def check(
    rows: Sequence[Filled], samples: dict[str, dict[str, EventSampleRow]], signed: Signed, sheet: str, rules: AuditRules
) -> Checked:
    """Every row of a sheet, checked. samples: sample id -> row id -> row, as drawn; sheet: sha256 of the file."""
    done, checker = Checked(rows=len(rows)), Checker(samples, signed, sheet, rules)
    places = [checker.identity(row) for row in rows]
    repeated = Counter(places)
    for row, place in zip(rows, places, strict=True):
        sample_id, row_id = place
        if sample_id not in samples:
            fault = Fault(row.line, "unknown_sample", f"no sample {sample_id!r} was drawn in this data folder")
        elif row_id not in samples[sample_id]:
            fault = Fault(row.line, "unknown_row", f"sample {sample_id} has no row {row_id!r}")
        elif repeated[place] > 1:
            fault = Fault(row.line, "duplicate_row", f"row {row_id} is in the sheet {repeated[place]} times")
        else:
            found = checker.review(row, samples[sample_id][row_id])
            if isinstance(found, EventReview):
                done.reviews.append(found)
            elif found is None:
                done.not_reviewed += 1
            else:
                done.faults.append(found)
            continue
        done.faults.append(fault)
    for sample_id in dict.fromkeys(one for one, _ in places if one in samples):
        for row_id, drawn in samples[sample_id].items():
            if (sample_id, row_id) not in repeated:
                where = f"{drawn.source_model}/{drawn.trajectory_id} step {drawn.step_id}"
                done.faults.append(Fault(None, "missing_row", f"row {row_id} ({where}) is not in the sheet"))
    return done


class Checker:
    """Checks single rows."""

    def __init__(
        self, samples: dict[str, dict[str, EventSampleRow]], signed: Signed, sheet: str, rules: AuditRules
    ) -> None:
        self.samples, self.signed, self.sheet = samples, signed, sheet
        self.cells, self.words = Cells(rules), rules.answers

    def identity(self, row: Filled) -> tuple[str, str]:
        """(sample, row) of a row."""
        sample, one = (self.text(row, name) for name in IDENTITY)
        return sample, one

    def text(self, row: Filled, name: str) -> str:
        """An answer as text, empty where nothing is written."""
        value = row.values.get(name)
        return "" if value is None else str(value).replace("\r\n", "\n").strip()

    def review(self, row: Filled, drawn: EventSampleRow) -> EventReview | Fault | None:
        """The review of a row of the sample; null where nothing is filled in."""
        if edited := self.edited(row, drawn):
            return Fault(
                row.line,
                "edited_evidence",
                f"{', '.join(edited)} is not what was sampled; only {ANSWERS[0]} … {ANSWERS[-1]} may be filled in",
            )
        verdict, error_type = self.text(row, "is_supported").lower(), self.text(row, "error_type").lower()
        comment = self.text(row, "review_comment")
        if not (verdict or error_type or comment):
            return None
        if verdict not in {*self.words.supported, *self.words.unsupported}:
            return Fault(row.line, "wrong_verdict", f"is_supported is {verdict!r}; write yes or no")
        supported = verdict in self.words.supported
        if wrong := self.wrong_type(supported, error_type):
            return Fault(row.line, "wrong_error_type", wrong)
        reviewer = self.text(row, "reviewer") or self.signed.reviewer or ""
        when = self.text(row, "reviewed_at") or self.signed.reviewed_at or ""
        if not reviewer:
            return Fault(
                row.line, "no_reviewer", "says not who reviewed; fill in reviewer, or name one with --reviewer"
            )
        if not is_date(when):
            return Fault(row.line, "no_date", f"reviewed_at is {when!r}; write it as 2026-11-21, or give --reviewed-at")
        same = {name: getattr(drawn, name) for name in EventReview.model_fields if name in EventSampleRow.model_fields}
        return EventReview.model_validate(
            same
            | {"is_supported": supported, "error_type": error_type or None, "review_comment": comment or None}
            | {"reviewer": reviewer, "reviewed_at": when, "sheet_sha256": self.sheet}
        )

    def edited(self, row: Filled, drawn: EventSampleRow) -> list[str]:
        """Columns of the sample that the sheet has, and has changed."""
        return [
            name
            for name, value in drawn.model_dump().items()
            if name in row.values and name not in IDENTITY and not self.same(row, name, value)
        ]

    def same(self, row: Filled, name: str, value: Any) -> bool:
        """True where a column still holds what was sampled."""
        found = row.values[name]
        return self.cells.same(str(found), value) if row.is_text else found == value

    def wrong_type(self, supported: bool, error_type: str) -> str | None:
        """What is wrong with an error type beside a verdict."""
        known = ", ".join(get_args(ErrorType))
        if supported:
            return f"error_type is {error_type!r} beside a supported descriptor; leave it empty" if error_type else None
        return None if error_type in get_args(ErrorType) else f"error_type is {error_type!r}; use one of: {known}"


def is_date(text: str) -> bool:
    """True for an ISO 8601 date, or date and time."""
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            read(text)
        except ValueError:
            continue
        return True
    return False
