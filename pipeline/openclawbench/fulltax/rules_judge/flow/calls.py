"""What a call is about: its arguments, the paths in them, and what it writes."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from openclawbench.records.packet import EvidenceStep

PATH = re.compile(
    r"(?<![\w/.@:-])"
    r"(?:(?:~?/)?(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,5}(?![\w/(])|(?:[\w.@-]+/)+[\w.@-]+(?![\w/(]))"
)
SCRIPT = re.compile(
    r"(?:^|[;&|]\s*+)(?:(?:ba|z)?sh|python3?|node|ruby|perl|make -f)?\s*((?:[\w.-]+/)*[\w-]+\.(?:sh|py|js|rb|pl))\b"
)
NUMBERED = re.compile(r"(.*?)(\d{1,3})([^/\d]*)")
CONTENTS = ("content", "newText", "new_string", "new_str", "text", "patch", "input", "body", "message")
KEPT = 1024  # calls whose parsed arguments and paths are kept: most sessions have fewer
WORDS = ("command", "cmd", "script", "path", "file_path", "filePath", "url", "query", "pattern")


def arguments(step: EvidenceStep) -> dict[str, Any]:
    """The arguments of a call; empty if they are not a JSON object."""
    return parsed(step.action_text or "") if step.action_kind == "tool_call" else {}


@lru_cache(maxsize=KEPT)
def parsed(text: str) -> dict[str, Any]:
    """The JSON object of a call's text. Nobody changes it: every mechanism asks for it again."""
    start = text.find("{")
    try:
        value = json.loads(text[start:]) if start >= 0 else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def shell_command(step: EvidenceStep) -> str:
    """The command line of a call; empty if it has none."""
    return command_of(step.action_text or "") if step.action_kind == "tool_call" else ""


@lru_cache(maxsize=KEPT)
def command_of(text: str) -> str:
    """The command line in a call's text."""
    known = parsed(text)
    return next((known[name] for name in ("command", "cmd", "script") if isinstance(known.get(name), str)), "")


def named_in(step: EvidenceStep) -> str:
    """What a call looks at or runs: its command, path, address or query."""
    text = step.action_text or ""
    return named_in_text(text) if step.action_kind == "tool_call" else text


@lru_cache(maxsize=KEPT)
def named_in_text(text: str) -> str:
    """What a call's text names."""
    known = parsed(text)
    return " ".join(str(known[name]) for name in WORDS if known.get(name) is not None) or text


def written(step: EvidenceStep) -> str:
    """What a call writes by its arguments; empty for a command."""
    return written_in(step.action_text or "") if step.side_effect and step.action_kind == "tool_call" else ""


@lru_cache(maxsize=KEPT)
def written_in(text: str) -> str:
    """What the text of a call writes; empty for a command."""
    return "" if command_of(text) else "\n".join(contents(parsed(text)))


def contents(value: Any, name: str = "") -> Iterator[str]:
    """Texts of arguments that hold content, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from contents(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from contents(inner, name)
    elif isinstance(value, str) and name in CONTENTS:
        yield value


@lru_cache(maxsize=KEPT)
def paths(text: str) -> frozenset[str]:
    """Paths in a text, as they are written."""
    return frozenset(match[0].removeprefix("./") for match in PATH.finditer(text))


def only_path(step: EvidenceStep) -> str:
    """The path that a call names; empty if it names none, or several."""
    named = paths(named_in(step))
    return next(iter(named)) if len(named) == 1 else ""


@lru_cache(maxsize=KEPT)
def scripts(command: str) -> frozenset[str]:
    """File names of the scripts that a command runs."""
    return frozenset(last_part(name) for name in SCRIPT.findall(command)) if command else frozenset()


def last_part(path: str) -> str:
    """The file name of a path."""
    return path.rstrip("/").rpartition("/")[2]
