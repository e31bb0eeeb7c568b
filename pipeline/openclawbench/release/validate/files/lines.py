"""Lines of a JSONL file: JSON, the published JSON Schema and the record agree that each is one, keys are unique."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.json_schema import json_schema
from openclawbench.release.keys import Key
from openclawbench.release.validate.compare import too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.release.writer.files import open_lines, released
from openclawbench.tables.record import Keyed

One = TypeVar("One", bound=Keyed)


@dataclass(frozen=True)
class Line(Generic[One]):
    """A line that is what it should be."""

    number: int  # from 1
    raw: bytes  # without the newline
    value: dict[str, Any]  # as plain data
    record: One

    @property
    def key(self) -> Key:
        """(source_model, trajectory_id)."""
        return self.record.source_model, self.record.trajectory_id


@cache
def validator(record: type[Keyed]) -> Draft202012Validator:
    """The validator of a record's published schema."""
    return Draft202012Validator(json_schema(record))


def read_lines(root: Path, name: str, record: type[One], findings: Findings, unique: bool) -> Iterator[Line[One]]:
    """The good lines of a file, one in memory at a time; what is wrong with the others is a finding."""
    seen: set[Key] = set()
    for number, raw in raw_lines(root, name, findings):
        line = read_line(name, number, raw, record, findings)
        if line is None:
            continue
        if unique and line.key in seen:
            findings.add("key_unique", name, f"{'/'.join(line.key)} stands here a second time", number)
        seen.add(line.key)
        yield line


def raw_lines(root: Path, name: str, findings: Findings) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line without its newline) of a file; a finding where it is not there or cut."""
    if released(root / name) is None:
        findings.add("file_missing", name, "a release owes this file")
        return
    with open_lines(root / name) as file:
        for number, raw in enumerate(whole_lines(file, name, findings), start=1):
            if not raw.endswith(b"\n"):
                findings.add("json", name, "the last line does not end in a newline: the file may be cut", number)
            findings.checked["lines"] += 1
            yield number, raw.rstrip(b"\n")


def whole_lines(file: BinaryIO, name: str, findings: Findings) -> Iterator[bytes]:
    """Lines up to where the file can be read."""
    try:
        yield from file
    except OSError as error:
        findings.add("json", name, f"cannot be read to its end: {error}")


def read_line(name: str, number: int, raw: bytes, record: type[One], findings: Findings) -> Line[One] | None:
    """One line, or null with a finding. The JSON Schema and the record must say the same of it."""
    try:
        value: Any = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        findings.add("json", name, f"is not UTF-8 (byte {error.start + 1} of the line)", number)
        return None
    except (ValueError, RecursionError) as error:
        findings.add("json", name, f"is no JSON: {error}", number)
        return None
    said = next(validator(record).iter_errors(value), None)
    try:
        found = record.model_validate_json(raw, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        findings.add("schema", name, f"{where or 'the line'}: {first['msg']}", number)
        if said is None:
            findings.add("schemas_disagree", name, f"{where}: the published JSON Schema accepts it", number)
        return None
    if (place := too_large(value)) is not None:
        findings.add("schema", name, f"{place} is a number that no column holds", number)
        return None
    if said is not None:
        where = ".".join(map(str, said.absolute_path))
        findings.add("schemas_disagree", name, f"{where or 'the line'}: only the JSON Schema refuses it", number)
        return None
    if canonical_json(value).encode() != raw:
        findings.add("canonical", name, "is not in the form in which a release writes JSON", number)
    return Line(number, raw, value, found)
