"""The fields of a record that differ: `steps[].event_type`, `provenance.rules_version`."""

from collections.abc import Iterator
from typing import Any

ABSENT = object()  # a field that one of the two schemas lacks; null is a value


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Paths of the fields that differ, each once, sorted. `steps[]` itself: another number of entries."""
    return sorted(set(differing_paths(before, after, "")))


def differing_paths(before: Any, after: Any, path: str) -> Iterator[str]:
    """Paths below `path`; entries of a list are compared by place."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            below = f"{path}.{name}" if path else name
            yield from differing_paths(before.get(name, ABSENT), after.get(name, ABSENT), below)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}[]"
        for old, new in zip(before, after, strict=False):
            yield from differing_paths(old, new, f"{path}[]")
    else:
        yield path
