"""CSV has a column for each field of a nested value, and what a run ended for is called what it was."""

import csv
import io

import polars as pl
import pytest

from openclawbench.inspect.export.tables import encode
from openclawbench.rules.construct.trace import TraceRules

INSIDE = {"behaviour": "gave_up", "tokens": {"in": 3}, "errors": ["a", "b"]}
COLUMNS = {"run_end": "error", "aborted_last_run": False, "tool_calls": 1, "replies": 0, "longest_repeat": 1}
COLUMNS |= {"last_is_reply": False, "gave_up_words": False, "last_failed": False, "tool_errors": 0}


def test_fields_are_columns_and_lists_json() -> None:
    frame = pl.DataFrame([{"id": "x", "summary": INSIDE, "n": 1}, {"id": "y", "summary": None, "n": 2}])
    (content,) = encode(frame, "csv")
    assert content.decode().splitlines() == [
        "id,summary.behaviour,summary.tokens.in,summary.errors,n",
        'x,gave_up,3,"[""a"", ""b""]",1',
        "y,,,,2",
    ]


@pytest.mark.parametrize(("errors", "rule"), [(0, "run_failed"), (1, "provider_failed")])
def test_a_failed_run_is_the_providers_fault_only_where_it_failed(errors: int, rule: str) -> None:
    rules = TraceRules.load()
    result = pl.DataFrame([COLUMNS | {"provider_errors": errors}]).select(
        rules.decided("behaviour"), id=rules.decided("id")
    )
    assert result.row(0) == ("errored_out", rule)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "'", "\x1b["])
def test_no_cell_begins_as_a_formula_or_holds_a_control_character(start: str) -> None:
    """In a column, in a field of a struct, in a list, in a name of a column."""
    hostile = f"{start}1+cmd|' /C calc'!A0"
    frame = pl.DataFrame([{"id": hostile, "summary": {"behaviour": hostile}, "n": -1, hostile: [hostile]}])
    (content,) = encode(frame, "csv")
    header, row = csv.reader(io.StringIO(content.decode()))
    for cell in (*header, row[0], row[1], row[3]):
        assert cell[0] not in "=+-@\t\r\n＝\x1b", cell
        assert "\x1b" not in cell
    assert row[2] == "-1"
