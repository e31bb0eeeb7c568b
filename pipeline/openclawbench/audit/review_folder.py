"""What lies in review/: samples as drawn, sheets to fill in, and review records, which are only ever added to.

Human verdicts stand here, beside the labels that they are about. A release takes them along in a file of its own
(calibration/released_verdicts.py); no label, no split and no work table is made from them.
"""

from datetime import date
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.check import Form, Review, Row
from openclawbench.audit.sheets.review_sheet import as_csv, as_jsonl
from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.dates import day_of
from openclawbench.errors import UnreadableInput
from openclawbench.storage import review_store
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record

Kind = TypeVar("Kind", bound=Record)


class Added(NamedTuple):
    """What came of adding review records."""

    records: int
    replaced: int  # of these, those that take the place of an earlier one of the same reviewer on the same row


def line(record: Record) -> bytes:
    """A record as a line."""
    return canonical_json(record.model_dump()).encode() + b"\n"


def save_sample(
    data: DataFolder, form: Form[Row, Review], name: str, sample: Record, rows: list[Row], guide: bytes | None = None
) -> list[Path]:
    """The sample as drawn, and its sheets (and their guide); returns them. `name`: the sample's id. Raises UsageError
    rather than write over a filled sheet."""
    rules = AuditRules.load()
    shown, files = [form.shown(row) for row in rows], {}
    files[f"{form.name}-{name}.csv"] = as_csv(shown, form.answers, Cells(rules, form.texts(rules)))
    files[f"{form.name}-{name}.jsonl"] = as_jsonl(shown, form.answers)
    if guide is not None:
        files[f"{form.name}-{name}.guide.md"] = guide
    data.write_review(f"samples/{name}.rows.jsonl", b"".join(map(line, rows)))
    data.write_review(f"samples/{name}.json", line(sample))
    for sheet, content in files.items():
        data.write_review(sheet, content)
    return [data.review_file(sheet) for sheet in files]


def drawn_rows(data: DataFolder, form: Form[Row, Review]) -> dict[str, dict[str, Row]]:
    """Sample id -> row id -> row, of every sample of this kind drawn in this folder. Raises UnreadableInput."""
    found: dict[str, dict[str, Row]] = {}
    for path in data.review_files(f"samples/{form.prefix}*.rows.jsonl"):
        for row in records(path, form.row):
            sample, one = (getattr(row, name) for name in ("sample", "row"))
            found.setdefault(sample, {})[one] = row
    return found


def drawn_samples(data: DataFolder, form: Form[Row, Review], kind: type[Kind]) -> dict[str, Kind]:
    """Sample id -> what it was drawn from. Raises UnreadableInput."""
    paths = data.review_files(f"samples/{form.prefix}*.json")
    return {path.stem: one for path in paths for one in records(path, kind)}


def reviews(data: DataFolder, form: Form[Row, Review]) -> list[Review]:
    """Every review record of this kind, by the day of `reviewed_at`, within a day in the order in which they came:
    the last of a reviewer on a row counts. Raises UnreadableInput."""
    path = data.review_file(form.file)
    found = records(path, form.review) if path.exists() else []
    try:
        return sorted(found, key=day)
    except ValueError as error:
        raise UnreadableInput(f"{path}: reviewed_at: {error}. Restore the file.") from error


def day(review: Record) -> date:
    """The day on which a review was given."""
    return day_of(getattr(review, "reviewed_at"))  # noqa: B009 -- every form's reviews have it


def add_reviews(data: DataFolder, form: Form[Row, Review], new: list[Review]) -> Added:
    """Add the records that say something new; returns how many. The same verdict of the same reviewer, given at the
    same time, is not added twice; another one is, and what stood before stays. `replaced`: those that are of no
    earlier day than what they stand in the place of; one of an earlier day is added and does not count."""
    rows = {row_of(one) for one in new}
    before = [one for one in reviews(data, form) if row_of(one) in rows]
    said, who = {spoken(one) for one in before}, {whose(one): day(one) for one in before}
    fresh = [one for one in new if spoken(one) not in said]
    if fresh:
        data.append_review(form.file, map(line, fresh))
    return Added(len(fresh), sum(who.get(whose(one), date.max) <= day(one) for one in fresh))


def row_of(review: Record) -> tuple[str, str]:
    """The row of a sample that a review is of."""
    return getattr(review, "sample"), getattr(review, "row")  # noqa: B009 -- every form's reviews have them


def whose(review: Record) -> str:
    """The row, the reviewer, and whether it settles: of records with the same, the last counts."""
    return canonical_json(review.model_dump(include={"sample", "row", "reviewer", "adjudication"}))


def spoken(review: Record) -> str:
    """What a review says, whatever sheet it came in."""
    return canonical_json(review.model_dump(exclude={"sheet_sha256"}))


def records(path: Path, kind: type[Kind]) -> list[Kind]:
    """The records of a file. Raises UnreadableInput with file and line."""
    reader = TypeAdapter(kind)
    found = []
    for number, one in enumerate(review_store.read(path).split(b"\n"), start=1):
        if one:
            try:
                found.append(reader.validate_json(one))
            except ValidationError as error:
                said = error.errors()[0]["msg"]
                raise UnreadableInput(f"{path}:{number}: is no {kind.__name__}: {said}. Restore the file.") from error
    return found
