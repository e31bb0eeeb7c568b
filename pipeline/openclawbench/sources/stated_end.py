"""How a call ended, by the fields that the writers of other formats than OpenClaw put beside a result: the one place
that knows their names."""

from collections.abc import Iterator, Mapping
from typing import Any

from openclawbench.sources.io.json_values import count_of

ERROR_FLAGS = ("isError", "is_error", "tool_result_is_error", "tool_use_is_error")
SUCCESS_FLAGS = ("success", "succeeded", "ok")
EXIT_CODES = ("exitCode", "exit_code", "returncode", "return_code")
TIMED_OUT = ("timedOut", "timed_out")
INTERRUPTED = ("interrupted", "aborted", "cancelled")
STATUS = ("status", "state")
# Objects that hold such fields: Claude Code's and Codex's results in Harbor's documents, mini-swe-agent's messages.
WITHIN = ("metadata", "tool_metadata", "tool_result_metadata", "tool_use_result", "extra", "additional_kwargs")
DEEPEST = 4


def stated_end(*records: Any) -> tuple[bool | None, dict[str, Any]]:
    """(whether the call failed, details under the names that OpenClaw's have: exitCode, timedOut, status).

    Of several records beside a result the first that says something counts. None where none of them says whether it
    failed: an absent `is_error` says nothing. An exit code is no flag: what 1 means depends on the command.
    """
    error: bool | None = None
    details: dict[str, Any] = {}
    for record in records:
        for fields in objects_in(record, DEEPEST):
            error = flag_in(fields) if error is None else error
            for name, value in details_in(fields).items():
                details.setdefault(name, value)
    return error, details


def objects_in(record: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """A record, and the objects in it that say more of the same result."""
    if not isinstance(record, dict) or depth == 0:
        return
    yield record
    for name in WITHIN:
        yield from objects_in(record.get(name), depth - 1)


def flag_in(fields: Mapping[str, Any]) -> bool | None:
    """Whether the call failed, by these fields alone; None if they do not say it."""
    for name in ERROR_FLAGS:
        if isinstance(fields.get(name), bool):
            return bool(fields[name])
    error = fields.get("error")
    if isinstance(error, bool):
        return error
    if error not in (None, "", [], {}):
        return True
    return next((not fields[name] for name in SUCCESS_FLAGS if isinstance(fields.get(name), bool)), None)


def details_in(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What these fields say in more words, by the names of a result's details."""
    codes = (count_of(fields.get(name)) for name in EXIT_CODES)
    values: dict[str, Any] = {
        "exitCode": next((code for code in codes if code is not None), None),
        "timedOut": True if any(fields.get(name) is True for name in TIMED_OUT) else None,
        "status": next((fields[name] for name in STATUS if isinstance(fields.get(name), str)), None),
    }
    if any(fields.get(name) is True for name in INTERRUPTED):
        values["status"] = "aborted"
    return {name: value for name, value in values.items() if value is not None}
