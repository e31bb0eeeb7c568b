"""What lies in review/: samples as drawn, sheets to fill in, and review records, which are only ever added to."""

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from pipeline.audit.cells import Cells
from pipeline.audit.event_reviews import ANSWERS
from pipeline.audit.settings import AuditRules
from pipeline.audit.sheet import as_csv, as_jsonl
from pipeline.canonical import canonical_json
from pipeline.errors import UnreadableInput
from pipeline.records.base import Record
from pipeline.records.review import EventReview, EventSample, EventSampleRow
from pipeline.store import DataFolder

REVIEWS = "event_reviews.jsonl"
SAMPLES = "samples/*.rows.jsonl"
Kind = TypeVar("Kind", bound=Record)


def line(record: Record) -> bytes:
    """A record as a line."""
    return canonical_json(record.model_dump()).encode() + b"\n"


def save_sample(data: DataFolder, sample: EventSample, rows: list[EventSampleRow]) -> list[Path]:
    """The sample as drawn, and its sheets; returns the sheets. Raises WrongUse rather than write over a filled one."""
    name, sheets = sample.sample, {}
    sheets[f"events-{name}.csv"] = as_csv(rows, ANSWERS, Cells(AuditRules.load()))
    sheets[f"events-{name}.jsonl"] = as_jsonl(rows, ANSWERS)
    data.write_review(f"samples/{name}.rows.jsonl", b"".join(map(line, rows)))
    data.write_review(f"samples/{name}.json", line(sample))
    for sheet, content in sheets.items():
        data.write_review(sheet, content)
    return [data.review_file(sheet) for sheet in sheets]


def drawn_rows(data: DataFolder) -> dict[str, dict[str, EventSampleRow]]:
    """Sample id -> row id -> row, of every sample drawn in this folder. Raises UnreadableInput."""
    found: dict[str, dict[str, EventSampleRow]] = {}
    for path in data.review_files(SAMPLES):
        for row in records(path, EventSampleRow):
            found.setdefault(row.sample, {})[row.row] = row
    return found


def drawn_samples(data: DataFolder) -> dict[str, EventSample]:
    """Sample id -> what it was drawn from. Raises UnreadableInput."""
    found = [one for path in data.review_files("samples/*.json") for one in records(path, EventSample)]
    return {one.sample: one for one in found}


def reviews(data: DataFolder) -> list[EventReview]:
    """Every review record, in the order in which they came. Raises UnreadableInput."""
    path = data.review_file(REVIEWS)
    return records(path, EventReview) if path.exists() else []


def add_reviews(data: DataFolder, new: list[EventReview]) -> int:
    """Add the records that say something new; returns how many. The same verdict of the same reviewer, given at the
    same time, is not added twice; a later one is, and what stood before stays."""
    said = {spoken(one) for one in reviews(data)}
    fresh = [one for one in new if spoken(one) not in said]
    if fresh:
        data.append_review(REVIEWS, map(line, fresh))
    return len(fresh)


def spoken(review: EventReview) -> str:
    """What a review says, whatever sheet it came in."""
    return canonical_json(review.model_dump(exclude={"sheet_sha256"}))


def records(path: Path, kind: type[Kind]) -> list[Kind]:
    """The records of a file. Raises UnreadableInput with file and line."""
    reader = TypeAdapter(kind)
    found = []
    for number, one in enumerate(path.read_bytes().split(b"\n"), start=1):
        if one:
            try:
                found.append(reader.validate_json(one))
            except ValidationError as error:
                said = error.errors()[0]["msg"]
                raise UnreadableInput(f"{path}:{number}: is no {kind.__name__}: {said}. Restore the file.") from error
    return found
