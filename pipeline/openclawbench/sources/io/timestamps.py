"""Times of raw records as UTC ISO-8601 with milliseconds. A time is absolute, or it is unknown: a clock without a zone
says nothing of when something happened, and no run of an agent is of 1970."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from openclawbench.sources.io.jsonl import Fault

# As OpenClaw writes times: certainly valid, and already in the form that is wanted.
WRITTEN = re.compile(
    r"20[0-9]{2}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?!02)(?:0[1-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
)
is_written = WRITTEN.fullmatch
NUMBER = re.compile(r"[0-9]{9,20}(?:\.[0-9]+)?")
# Since 1970. The years of the four are far apart: a number is of the unit in which it lies between these.
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC).timestamp(), datetime(2100, 1, 1, tzinfo=UTC).timestamp()
UNITS = (1, 10**3, 10**6, 10**9)  # of a second: seconds, milliseconds, microseconds, nanoseconds
NO_ZONE, UNREADABLE = "time_without_zone", "unreadable_time"
SENTENCES = {
    NO_ZONE: "has no zone, so that it says nothing of when it was; it is left out",
    UNREADABLE: "is no time between 2000 and 2100; it is left out",
}


def iso_time(value: Any) -> str | None:
    """A record's time as UTC ISO-8601 with milliseconds; None if it is not known. `value`: ISO text with a zone, or
    seconds, milliseconds, microseconds or nanoseconds since 1970, as a number or its digits."""
    if type(value) is str and is_written(value):
        return value
    moment = moment_of(value)
    if moment is None or moment.tzinfo is None:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(value: Any) -> datetime | None:
    """The time that a value is, in UTC; without a zone where it names none; None if it is no time."""
    try:
        if isinstance(value, str):
            if NUMBER.fullmatch(value):
                return since_1970(int(value) if value.isdigit() else float(value))
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                return moment
            return moment.astimezone(UTC) if FIRST <= moment.timestamp() < LAST else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return since_1970(value)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def since_1970(number: float) -> datetime | None:
    """The time that a number of units since 1970 means; None if it means none."""
    unit = next((unit for unit in UNITS if FIRST <= number / unit < LAST), None)
    return None if unit is None else datetime.fromtimestamp(number / unit, UTC)


def read_times(values: Iterable[tuple[Any, int]]) -> tuple[list[str], list[Fault]]:
    """The times of a session's records, and a warning for each that is given and left out. `values`: what stands where
    a record has its time, and the record's line."""
    times, faults = [], []
    for value, line in values:
        if (time := iso_time(value)) is not None:
            times.append(time)
        elif value is not None and value != "":
            faults.append(time_fault(value, line))
    return times, faults


def time_fault(value: Any, line: int) -> Fault:
    """Why a time is left out."""
    reason = UNREADABLE if moment_of(value) is None else NO_ZONE
    return Fault(reason, line, f"line {line}: the time {str(value)[:40]!r} {SENTENCES[reason]}")
