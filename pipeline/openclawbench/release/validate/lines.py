"""Lines of a JSONL file: each is valid by its JSON Schema and its record, in canonical form, with a unique key."""

import contextlib
import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import jsonschema_rs
import msgspec
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as SchemaError
from pydantic import ValidationError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.json_schema import json_schema
from openclawbench.release.files.jsonl_files import in_batches, open_lines, released
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.compare import too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.tables.record import Record

R = TypeVar("R", bound=Record)
LINES_AT_ONCE = 512  # that are worked on together: a stage that is carried out again costs the same for any few
BYTES_AT_ONCE = 8_000_000  # of these, about: plain data and tables take many times as much


@dataclass(frozen=True)
class Line:
    """A line with its plain data."""

    number: int  # from 1
    raw: bytes  # without the newline
    value: dict[str, Any]  # as plain data

    @property
    def key(self) -> Key:
        """(source_model, trajectory_id)."""
        return key_of(self.value)


@dataclass(frozen=True)
class ValidLine(Line, Generic[R]):
    """A valid line."""

    record: R


@cache
def validator(record: type[Record]) -> Draft202012Validator:
    """The validator of a record's published schema, which says what is wrong."""
    return Draft202012Validator(json_schema(record))


@cache
def quick_validator(record: type[Record]) -> jsonschema_rs.Draft202012Validator:
    """The same, compiled: it says whether anything is wrong in a two-hundredth of the time."""
    return jsonschema_rs.Draft202012Validator(json_schema(record))


def schema_error_of(value: Any, record: type[Record]) -> SchemaError | None:
    """What the published schema refuses in a value; None if it accepts it. It is in no cycle of references."""
    try:
        if quick_validator(record).is_valid(value):
            return None
    except ValueError:  # nested too deep for it
        pass
    error = next(validator(record).iter_errors(value), None)
    if error is not None:
        unlink_alternatives(error)
    return error


def unlink_alternatives(error: SchemaError) -> None:
    """Take from the errors of alternatives (anyOf) the reference back to the error of the whole: while the collector is
    off, such a cycle would keep the value of every refused line."""
    for alternative in error.context:
        alternative.parent = None
        unlink_alternatives(alternative)


def read_lines(root: Path, name: str, record: type[R], findings: Findings, unique: bool) -> Iterator[ValidLine[R]]:
    """The valid lines of a file, one at a time; a finding for each other line.

    While keys ascend, as a release writes them, only the last is remembered. From the first one on that does not, all
    are, and those before it are read again.
    """
    last: Key | None = None
    keys: set[Key] | None = None
    for number, raw in raw_lines(root, name, findings):
        line = read_line(name, number, raw, record, findings)
        if line is None:
            continue
        if unique and keys is None and last is not None and line.key < last:
            keys = keys_before(root, name, record, number)
        if unique and (line.key == last if keys is None else line.key in keys):
            findings.add("key_unique", name, f"{'/'.join(line.key)} is here a second time", number)
        if keys is not None:
            keys.add(line.key)
        last = line.key
        yield line


def keys_before(root: Path, name: str, record: type[R], number: int) -> set[Key]:
    """The keys of the valid lines before line `number`."""
    keys: set[Key] = set()
    for line in read_lines(root, name, record, Findings(), unique=False):
        if line.number >= number:
            break
        keys.add(line.key)
    return keys


def in_key_order(lines: Iterable[ValidLine[R]], name: str, check: str, findings: Findings) -> Iterator[ValidLine[R]]:
    """The lines, with a finding named `check` for each whose key comes before the previous one."""
    previous: Key | None = None
    for line in lines:
        if previous is not None and line.key < previous:
            findings.add(check, name, f"{line.key[1]} comes after {previous[1]}: lines must be sorted", line.number)
        previous = line.key
        yield line


def checked_together(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines in lists that are worked on together: of few lines if these are long."""
    return in_batches(lines, lambda line: len(line.raw), BYTES_AT_ONCE, LINES_AT_ONCE)


def of_known_records(
    lines: Iterable[ValidLine[R]], records: Container[Key], name: str, check: str, findings: Findings
) -> Iterator[ValidLine[R]]:
    """The lines of records in the master table; a finding named `check` for each other line."""
    for line in lines:
        if line.key in records:
            yield line
        else:
            findings.add(check, name, f"{line.key[1]} is not in the master table", line.number)


def tolerant_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of a file, up to where it can be read; none if it does not exist."""
    if released(path):
        with open_lines(path) as file, contextlib.suppress(OSError):
            yield from enumerate(file, start=1)


def raw_lines(root: Path, name: str, findings: Findings) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line without its newline) of a file; a finding if the file is missing or cut."""
    if not released(root / name):
        findings.add("file_missing", name, "is missing: every release has this file")
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


def plain_data(raw: bytes) -> Any:
    """JSON text as plain data. Raises UnicodeDecodeError, ValueError or RecursionError."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(raw)  # in half of the time; it refuses NaN and halves of characters, and says less
    return json.loads(raw.decode("utf-8"))


def read_value(name: str, number: int, raw: bytes, findings: Findings) -> Any:
    """A line as plain data; None with a finding if it is not JSON text of a value."""
    try:
        value = plain_data(raw)
    except UnicodeDecodeError as error:
        findings.add("json", name, f"is not UTF-8 (byte {error.start + 1} of the line)", number)
        return None
    except (ValueError, RecursionError) as error:
        findings.add("json", name, f"is not valid JSON: {error}", number)
        return None
    if value is None:
        findings.add("schema", name, "is null, not an object", number)
    return value


def read_line(name: str, number: int, raw: bytes, record: type[R], findings: Findings) -> ValidLine[R] | None:
    """One line, or None with a finding. The JSON Schema and the record must agree on whether it is valid."""
    value = read_value(name, number, raw, findings)
    if value is None:
        return None
    schema_error = schema_error_of(value, record)
    try:
        parsed = record.model_validate_json(raw, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)  # there may be millions
        first = faults[0]
        where = ".".join(map(str, first["loc"]))
        findings.add("schema", name, f"{where or 'the line'}: {first['msg']}", number)
        if schema_error is None:
            findings.add("schemas_disagree", name, f"{where}: the published JSON Schema accepts it", number)
        return None
    if (place := too_large(value)) is not None:
        findings.add("schema", name, f"{place} is a number that does not fit in 64 bits", number)
        return None
    if schema_error is not None:
        where = ".".join(map(str, schema_error.absolute_path))
        findings.add("schemas_disagree", name, f"{where or 'the line'}: only the JSON Schema refuses it", number)
        return None
    if canonical_json(value).encode() != raw:
        findings.add("canonical", name, "is not in canonical JSON form, in which a release writes every line", number)
    return ValidLine(number, raw, value, parsed)
