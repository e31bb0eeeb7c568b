"""A tool result that is, as a whole, a report of how the call ended: `{"status": "rejected", "error_code": "x"}`."""

from typing import Any

import msgspec
import polars as pl

from openclawbench.rules.describe import ReportRules

REPORT = {"report_status": pl.String, "report_number": pl.Boolean, "report_error": pl.String, "report_code": pl.Boolean}
DECODE = msgspec.json.Decoder().decode


def reports(texts: pl.Series, rules: ReportRules) -> pl.DataFrame:
    """What each distinct text reports, one row a text that is a report.

    report_status: its status value, or a code of HTTP (report_number) as text; report_error: the message of one that
    says that it failed; report_code: it names an error code. A report is a short JSON object of the fields that the
    rules list and no others; a field that holds nothing does not count. Source: own choice (docs/why/decisions/).
    """
    distinct = texts.filter(texts.str.len_bytes() <= rules.longest).drop_nulls().unique(maintain_order=True)
    found = ((text, read_report(text, rules)) for text in distinct)
    rows = [(text, *row) for text, row in found if row]
    return pl.DataFrame(rows, schema={texts.name: pl.String, **REPORT}, orient="row")


def read_report(text: str, rules: ReportRules) -> tuple[Any, ...] | None:
    """Values of REPORT; None where the text is no report."""
    try:
        body = DECODE(text.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return None
    said = {name: value for name, value in body.items() if value not in (None, "", [], {})} if body else {}
    if not said or not said.keys() <= rules.known:
        return None
    word = next((str(said[one]) for one in rules.status if isinstance(said.get(one), str)), None)
    number = http_code(said, rules)
    code = next((str(said[one]) for one in rules.error if said.get(one)), None)
    refused = any(said.get(one) is False for one in rules.success)
    why = next((said[one] for one in rules.reason if isinstance(said.get(one), str)), None)
    error = (why or code or text) if refused or code else None
    return number or word, number is not None, error, code is not None


def http_code(said: dict[str, Any], rules: ReportRules) -> str | None:
    """The number of a failure in a status or a code field, as text."""
    values = (said[one] for one in (*rules.status, *rules.code) if one in said)
    numbers = (int(one) for one in values if isinstance(one, int) or (isinstance(one, str) and one.isdecimal()))
    return next((str(one) for one in numbers if rules.lowest_failure <= one < rules.lowest_failure + 200), None)
