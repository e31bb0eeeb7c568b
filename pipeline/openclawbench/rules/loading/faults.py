"""What is wrong with a rule file, in one sentence: the lines, the key, the entry, the fault."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from openclawbench.rules.loading.toml_lines import line_of, lines_with
from openclawbench.rules.loading.validation import Unfit, literal_fault

Location = tuple[int | str, ...]
MESSAGES = {"extra_forbidden": "there is no such key", "missing": "is missing"}


def describe_fault(error: ValidationError, content: dict[str, Any], path: Path) -> str:
    """The first fault: line, key, the entry by id or name, what is wrong, and how many more faults there are."""
    faults = error.errors()
    # A misspelt key comes first: with it, only the missing key would be reported.
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    message = MESSAGES.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    if first["type"] == "literal_error":
        message = literal_fault(first)
    elif first["type"] == "extra_forbidden":
        message += suggestion(first["loc"], [fault["loc"] for fault in faults if fault["type"] == "missing"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    entry = entry_named(first["loc"], content)
    return f"{line_prefix(lines_of(first, path))}{key}: {entry}{message.rstrip('.')}{more}"


def suggestion(location: Location, missing: list[Location]) -> str:
    """`; did you mean "..."?` for an unknown key, if a missing key of the same table has nearly the same name."""
    same_table = [str(other[-1]) for other in missing if other[:-1] == location[:-1]]
    close = get_close_matches(str(location[-1]), same_table, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def lines_of(fault: ErrorDetails, path: Path) -> list[int]:
    """The lines of a fault in the file as it is now: several where their words contradict each other, none where the
    file does not have it (a setting decides it, or the file does not exist)."""
    unfit = fault.get("ctx", {}).get("error")
    lines = lines_of_words(unfit, path, fault["loc"]) if isinstance(unfit, Unfit) else []
    return lines or lines_at(path, fault["loc"])


def lines_at(path: Path, location: Location) -> list[int]:
    """The line of the file with the value at a location; none where the file does not have it."""
    line = line_of(read_text(path), location)
    return [] if line is None else [line]


def lines_of_words(unfit: Unfit, path: Path, within: Location = ()) -> list[int]:
    """The lines of the file with the words at fault."""
    return lines_with(read_text(path), unfit.words, unfit.keys, within)


def read_text(path: Path) -> str:
    """The text of a rule file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""


def line_prefix(lines: list[int]) -> str:
    """`line 12: ` or `lines 12 and 40: `; empty without lines."""
    if not lines:
        return ""
    *others, last = map(str, lines)
    return f"lines {', '.join(others)} and {last}: " if others else f"line {last}: "


def entry_named(location: Location, content: Any) -> str:
    """`in "name": ` where the location lies in an entry with an id or a name; empty elsewhere."""
    prefix = ""
    for part in location:
        try:
            content = content[part]
        except (LookupError, TypeError):
            break
        if isinstance(part, int) and isinstance(content, dict):
            name = content.get("id", content.get("name"))
            prefix = f'in "{name}": ' if isinstance(name, str) else prefix
    return prefix
