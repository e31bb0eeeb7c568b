"""The folder review/: drawn samples, sheets to fill in, and review records, which are append-only.

Human verdicts are kept apart from the labels that they are about. A release publishes them in a file of its own
(calibration/released_verdicts.py); no label, split or work table depends on them.
"""

from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from openclawbench.audit.settings import AuditRules
from openclawbench.audit.sheets.cells import Cells
from openclawbench.audit.sheets.check import Form, Review, Row
from openclawbench.audit.sheets.review_sheet import as_csv, as_jsonl
from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.dates import day_of
from openclawbench.errors import UnreadableInput
from openclawbench.release.privacy.gate import Gate
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.rules.loading.rule_file import NO_OVERRIDES, Overrides
from openclawbench.storage import append_log
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record

Kind = TypeVar("Kind", bound=Record)


class ReviewsAdded(NamedTuple):
    """The result of adding review records."""

    records: int
    replaced: int  # of these, those that replace one of the same reviewer on the same row


def line(record: Record) -> bytes:
    """A record as a line of JSONL."""
    return canonical_json(record.model_dump()).encode() + b"\n"


def save_sample(
    data: DataFolder,
    form: Form[Row, Review],
    name: str,
    sample: Record,
    rows: list[Row],
    guide: bytes | None = None,
    overrides: Overrides = NO_OVERRIDES,
) -> list[Path]:
    """Write the drawn sample, its sheets and their guide; returns the paths of the sheets and the guide. `name`: the
    sample's id; `overrides`: of the rules. Sheets go to reviewers: raises ReleaseBlocked if a row holds what a release
    must not hold, and redacts what a release redacts. Raises UsageError rather than overwrite a filled sheet."""
    rules = AuditRules.load()
    gate = Gate(PrivacyRules.load(overrides=overrides), f"audit sample {name}")
    rows = [type(row).model_validate(let_out) for row, let_out in zip(rows, gate.let_out(dumped(rows)), strict=True)]
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


def dumped(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows as plain data."""
    return [row.model_dump() for row in rows]


def drawn_rows(data: DataFolder, form: Form[Row, Review]) -> dict[str, dict[str, Row]]:
    """Sample id -> row id -> row, of every sample of this form in the data folder. Raises UnreadableInput."""
    samples: dict[str, dict[str, Row]] = {}
    for path in data.review_files(f"samples/{form.prefix}*.rows.jsonl"):
        for row in records(path, form.row):
            sample, row_id = (getattr(row, name) for name in ("sample", "row"))
            samples.setdefault(sample, {})[row_id] = row
    return samples


def drawn_samples(data: DataFolder, form: Form[Row, Review], kind: type[Kind]) -> dict[str, Kind]:
    """Sample id -> record of how it was drawn. Raises UnreadableInput."""
    paths = data.review_files(f"samples/{form.prefix}*.json")
    return {path.stem: record for path in paths for record in records(path, kind)}


def reviews(data: DataFolder, form: Form[Row, Review]) -> list[Review]:
    """Every review record of this form, by the day of `reviewed_at`, within a day in the order of import: the last of a
    reviewer on a row counts. Raises UnreadableInput."""
    path = data.review_file(form.file)
    records_read = records(path, form.review) if path.exists() else []
    try:
        return sorted(records_read, key=day)
    except ValueError as error:
        raise UnreadableInput(f"{path}: reviewed_at: {error}. Restore the file.") from error


def day(review: Record) -> date:
    """The day of a review."""
    return day_of(getattr(review, "reviewed_at"))  # noqa: B009 -- every form's reviews have it


def add_reviews(data: DataFolder, form: Form[Row, Review], new: list[Review]) -> ReviewsAdded:
    """Append the records that are new, and count them.

    An identical verdict of the same reviewer and time is not added twice. A different one is added, and the earlier
    record stays. `replaced` counts the added ones that are not older than the record they replace; an older one is
    added but does not count.
    """
    rows = {row_of(review) for review in new}
    earlier = [review for review in reviews(data, form) if row_of(review) in rows]
    contents, days = {content_of(review) for review in earlier}, {place_of(review): day(review) for review in earlier}
    added = [review for review in new if content_of(review) not in contents]
    if added:
        data.append_review(form.file, map(line, added))
    return ReviewsAdded(len(added), sum(days.get(place_of(review), date.max) <= day(review) for review in added))


def row_of(review: Record) -> tuple[str, str]:
    """(sample, row) of a review."""
    return getattr(review, "sample"), getattr(review, "row")  # noqa: B009 -- every form's reviews have them


def place_of(review: Record) -> str:
    """Row, reviewer, and whether it is an adjudication: of several such records the last counts."""
    return canonical_json(review.model_dump(include={"sample", "row", "reviewer", "adjudication"}))


def content_of(review: Record) -> str:
    """A review without the sheet that it came from."""
    return canonical_json(review.model_dump(exclude={"sheet_sha256"}))


def records(path: Path, kind: type[Kind]) -> list[Kind]:
    """The records of a file. Raises UnreadableInput with file and line."""
    reader = TypeAdapter(kind)
    records_read = []
    for number, content in enumerate(append_log.read_complete_lines(path).split(b"\n"), start=1):
        if content:
            try:
                records_read.append(reader.validate_json(content))
            except ValidationError as error:
                cause = error.errors()[0]["msg"]
                raise UnreadableInput(
                    f"{path}:{number}: is not a valid {kind.__name__}: {cause}. Restore the file."
                ) from error
    return records_read
