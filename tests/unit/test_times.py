"""What is a time, and which day it is."""

from datetime import date

import pytest

from openclawbench.base.dates import day_of, is_time


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-21", date(2026, 11, 21)),
        ("2026-11-21T12:00:00Z", date(2026, 11, 21)),
        ("2026-11-21T23:30:00-05:00", date(2026, 11, 22)),
        ("0001-01-01T00:00:00+05:00", date(1, 1, 1)),  # the day before is in no calendar
        ("9999-12-31T23:00:00-05:00", date(9999, 12, 31)),
    ],
)
def test_a_time_has_a_day(text: str, day: date) -> None:
    assert is_time(text)
    assert day_of(text) == day


@pytest.mark.parametrize("text", ["", "yesterday", "21.11.2026", "2026-13-01"])
def test_what_is_no_time_has_none(text: str) -> None:
    assert not is_time(text)
    with pytest.raises(ValueError, match=r"isoformat|month"):
        day_of(text)
