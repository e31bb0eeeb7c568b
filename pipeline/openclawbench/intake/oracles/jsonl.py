"""The oracle JSONL of this program: one OracleRecord per line, joined by native-session basename."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from openclawbench.base.dates import is_time
from openclawbench.records.oracle import Evaluator, OracleRecord

STATUSES = ("scored", "infra_error", "not_scored", "unscorable")
UNSCORED = f"a status that has none ({', '.join(STATUSES[1:])})"
DEFAULTS = dict.fromkeys(OracleRecord.model_fields) | {"flags": [], "status": "scored"}


@dataclass(frozen=True)
class OracleLine:
    """A line of an oracle file: its record, or the reason why it has none."""

    line: int
    record: OracleRecord | None
    reason: str | None
    message: str | None


def read_oracle(lines: Iterable[tuple[int, bytes]], name: str) -> Iterator[OracleLine]:
    """The record of each line, as `numbered_lines` gives them. Absent fields are null; `success` counts only where
    `status` is scored.

    A broken line is a row with a reason, never an exception: the rest goes on.
    """
    for number, data in lines:
        try:
            record = OracleRecord.model_validate(DEFAULTS | decode(data), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            yield fault(name, number, "oracle_malformed", f"{place}: {first['msg']}")
            continue
        except ValueError as error:
            yield fault(name, number, "oracle_broken_json", str(error))
            continue
        if record.score is not None and not math.isfinite(record.score):
            yield fault(name, number, "oracle_malformed", f"score: {record.score} is not a number; write one, or null")
        elif record.evaluated_at is not None and not is_time(record.evaluated_at):
            what = f"evaluated_at: {record.evaluated_at!r} is not a time; write it as 2026-11-21T12:00:00Z, or null"
            yield fault(name, number, "oracle_malformed", what)
        elif record.status not in STATUSES:
            yield fault(name, number, "oracle_unknown_status", f"status {record.status!r} is not one of {STATUSES}")
        elif not record.native_session_basename and not record.session_id:
            yield fault(name, number, "oracle_names_no_session", "neither native_session_basename nor session_id")
        elif record.status == "scored" and record.success is None:
            what = f"status is scored, as it is where none is given, but success is null; say success, or {UNSCORED}"
            yield fault(name, number, "oracle_scored_without_success", what)
        elif record.status != "scored" and record.success is not None:
            yield fault(name, number, "oracle_contradicts_itself", f"success is set but status is {record.status}")
        else:
            yield OracleLine(number, record, None, None)


def decode(data: bytes) -> dict[str, object]:
    """One oracle record as a dict with a whole evaluator. ValueError if it is not a JSON object."""
    value = json.loads(data.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    evaluator = value.get("evaluator") or {}
    if isinstance(evaluator, dict):
        value["evaluator"] = dict.fromkeys(Evaluator.model_fields) | evaluator
    return value


def fault(name: str, line: int, reason: str, what: str) -> OracleLine:
    """A line that gives no record."""
    return OracleLine(line, None, reason, f"{name}: line {line}: {what}. Correct the line and run again.")
