"""Times as people and programs write them: ISO 8601."""

from datetime import UTC, date, datetime


def is_time(text: str) -> bool:
    """True for an ISO 8601 date, or date and time."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def day_of(text: str) -> date:
    """The day of an ISO 8601 date, or date and time, in UTC where it says a zone and the calendar has that day.
    ValueError for another text."""
    when = datetime.fromisoformat(text)
    try:
        return (when if when.tzinfo is None else when.astimezone(UTC)).date()
    except OverflowError:  # the first or last day that there is
        return when.date()
