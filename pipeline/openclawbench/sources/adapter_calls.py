"""Every call of an adapter: its unexpected errors become faults of one file, and its record accounting is checked.

An adapter that raises something unexpected, loses a record, or gives a column a value of another type has a defect. It
costs the file, with a message that names the adapter, the place in its code and the line of the file; the other files
are read.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec
import polars as pl

from openclawbench.records.session import RunSummary, Step, UserTurn
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import MalformedSession, ParsedSession, Source
from openclawbench.sources.io.jsonl import Fault, number_of_lines, pieces
from openclawbench.tables.record import Record
from openclawbench.tables.schema import schema

ADAPTER_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError),
    *(StopIteration, TypeError, ValueError, msgspec.MsgspecError, pl.exceptions.PolarsError),
)
ADAPTER_ERROR, RECORDS_LOST = "adapter_error", "records_lost"  # reason codes
WHAT_TO_DO = (
    "This is a defect of the adapter: report it, and take the file out of the raw folder until the adapter is fixed, "
    "or fix the adapter (docs/develop/add_a_format.md)"
)
SEARCHED_BYTES = 8 << 20  # in a larger file the failing line is not searched for
PYTHON_TYPES = {pl.String: str, pl.Int64: int, pl.Boolean: bool}
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


class AdapterFailure(ValueError):
    """A hook of an adapter raised an unexpected error. The message ends with what to do."""


def call_hook(
    source: Source, hook: Callable[Arguments, Returned], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Returned:
    """Call a hook other than `parse` and return its result. Raises AdapterFailure for an unexpected error."""
    try:
        return hook(*arguments, **options)
    except ADAPTER_ERRORS as error:
        raise AdapterFailure(f"{failure_of(source, error)}. {WHAT_TO_DO}.") from error


def parse_session(
    source: Source, content: bytes, context: dict[str, Any], rules: NormalizeRules, is_clean_utf8: bool = False
) -> ParsedSession:
    """The session of a file, with every record accounted for. Raises MalformedSession if the adapter refuses it
    (reason `adapter_error`: it raised something unexpected, or gave a value of a wrong type; `records_lost`: its counts
    do not add up), and RecursionError for a value that is nested too deeply."""
    parse = source.parse_clean_utf8 if is_clean_utf8 else source.parse
    try:
        session = parse(content, context, rules)
    except RecursionError:
        raise
    except ADAPTER_ERRORS as error:
        reason, problem = ADAPTER_ERROR, failure_of(source, error)
    else:
        lost, wrong = lost_records(source, session, content), wrong_type(source, session)
        if lost is None and wrong is None:
            return session
        reason, problem = (ADAPTER_ERROR, wrong) if wrong else (RECORDS_LOST, str(lost))
    line = first_failing_line(source, content, context, rules)
    raise MalformedSession(Fault(reason, line, f"line {line}: {problem}. {WHAT_TO_DO}"))


def parse_long_session(
    source: Source, content: memoryview, context: dict[str, Any], rules: NormalizeRules
) -> ParsedSession | None:
    """The session of a very large file; None if the caller must use `parse_session`, which also reports faults."""
    try:
        session = source.parse_long(content, context, rules)
    except ADAPTER_ERRORS:
        return None
    return session if session is None or lost_records(source, session, content) is None else None


def lost_records(source: Source, session: ParsedSession, content: bytes | memoryview) -> str | None:
    """The fault in a session's record accounting, in words; None if every record is counted."""
    counted, read = session.record_counts.total(), session.records_in
    if counted != read:
        return f"the adapter `{source.name}` reads {read} records and accounts for {counted} (record_counts)"
    if not source.records_are_lines:
        return None
    if isinstance(content, bytes) and read >= content.count(b"\n") + (not content.endswith(b"\n")):
        return None  # the usual case: blank lines need not be counted
    lines = number_of_lines(content)
    return None if read >= lines else f"the adapter `{source.name}` reads {read} records of {lines} lines (records_in)"


class ColumnTypes:
    """The Python types of the plain columns of a record. Each shape of row (names and types) is checked once."""

    def __init__(self, record: type[Record]) -> None:
        kinds = {name: PYTHON_TYPES.get(type(kind)) for name, kind in schema(record).items()}
        self.types = {name: kind for name, kind in kinds.items() if kind is not None}
        self.accepted: set[tuple[Any, ...]] = set()  # names of a row and types of its values

    def find_wrong_type(self, rows: list[dict[str, Any]]) -> str | None:
        """The first value whose type its column cannot hold, in words; None if every value fits."""
        for row in rows:
            shape = (*row, *map(type, row.values()))
            if shape in self.accepted:
                continue
            for name, kind in self.types.items():
                if not isinstance(row.get(name), kind | None):
                    return f"{name} a value of the type {type(row[name]).__name__}; it holds {kind.__name__}"
            self.accepted.add(shape)
        return None


STEPS, USER_TURNS, RUN = ColumnTypes(Step), ColumnTypes(UserTurn), ColumnTypes(RunSummary)
TEXTS = ("session_id", "session_version", "completeness")  # fields of a session that are text or None


def wrong_type(source: Source, session: ParsedSession) -> str | None:
    """The first value of a session whose type its column cannot hold, in words; None if every value fits. Without this
    check the whole shard would fail, because its rows become one table."""
    for table, wrong in (
        ("steps", STEPS.find_wrong_type(session.steps)),
        ("user_turns", USER_TURNS.find_wrong_type(session.user_turns)),
        ("run", RUN.find_wrong_type([session.run] if session.run else [])),
        ("session", wrong_text(session)),
    ):
        if wrong:
            return f"the adapter `{source.name}` gives {table}.{wrong}"
    return None


def wrong_text(session: ParsedSession) -> str | None:
    """The first field of the session itself that must be text and is not, in words; None if all are text."""
    values = [(name, getattr(session, name)) for name in TEXTS] + [("models", model) for model in session.models]
    for name, value in values:
        if not isinstance(value, str) and (value is not None or name == "models"):
            return f"{name} a value of the type {type(value).__name__}; it holds str"
    return None


def failure_of(source: Source, error: BaseException) -> str:
    """One sentence: the adapter that failed, the error, and the place in its code."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
    return f"the adapter `{source.name}` fails: {type(error).__name__}: {error} ({place})"


def first_failing_line(source: Source, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> int:
    """The first line with which the adapter fails, found by parsing beginnings of the file; 1 where a file is one
    document, or too large to be searched."""
    if not source.records_are_lines or len(content) > SEARCHED_BYTES:
        return 1
    ends = [(number, offset + len(data)) for number, offset, data in pieces(content)]
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if adapter_fails(source, content[: ends[middle][1]], context, rules):
            high = middle
        else:
            low = middle + 1
    return ends[low][0] if ends else 1


def adapter_fails(source: Source, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> bool:
    """True if the adapter fails with this beginning of a file; false where it reads or refuses it."""
    try:
        session = source.parse(content, context, rules)
        return bool(lost_records(source, session, content) or wrong_type(source, session))
    except (MalformedSession, RecursionError):
        return False
    except ADAPTER_ERRORS:
        return True
