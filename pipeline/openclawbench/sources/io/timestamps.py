"""Times of raw records as UTC ISO-8601 with milliseconds."""

import re
from datetime import UTC, datetime
from typing import Any

# As OpenClaw writes times: certainly valid, and already in the form that is wanted.
WRITTEN = re.compile(
    r"(?!0000)[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?!02)(?:0[1-9]|1[0-2])-(?:29|30)"
    r"|(?:0[13578]|1[02])-31)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z"
)
is_written = WRITTEN.fullmatch


def iso_time(value: Any) -> str | None:
    """A record's time as UTC ISO-8601 with milliseconds, from ISO text or epoch milliseconds; else None."""
    if type(value) is str and is_written(value):
        return value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000, UTC)
        elif isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
