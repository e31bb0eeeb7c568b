"""Compare two releases: bytes, except that Parquet files are compared by schema and rows, and that digests of files
and of the program's code are left out."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

DIGEST_LISTS = frozenset({"CHECKSUMS.sha256"})
DIGESTS_WITHIN = {  # file -> paths of digests and sizes of other files, and of the program's code
    "datapackage.json": frozenset({"resources.hash", "resources.bytes", "provenance.program_sha256"}),
    "croissant.json": frozenset({"distribution.sha256"}),
}
NOT_THERE = object()
SHOWN_LINES = 12
SHOWN_CHARACTERS = 120
Fields = frozenset[str]


def different_releases(first: Path, second: Path, left_out: Fields = frozenset()) -> list[str]:
    """What differs between the releases in two folders, one line each; empty where they are the same.

    A folder is a release, a data folder with a release, or a folder of such folders. `left_out` names fields of JSON
    and Parquet, by name or dotted path, that are not compared. Raises SystemExit where a folder holds no release.
    """
    firsts, seconds = releases_in(first), releases_in(second)
    lines = []
    for name in sorted(firsts.keys() | seconds.keys()):
        if name not in firsts or name not in seconds:
            lines.append(f"{name}: only in {first if name in firsts else second}")
            continue
        differences = different_files(firsts[name], seconds[name], left_out)
        lines += [f"{name}/{line}" if name else line for line in differences]
    return lines


def releases_in(folder: Path) -> dict[str, Path]:
    """Name of a data folder below `folder` -> its release; the name is empty where `folder` is the only one."""
    if (folder / "CHECKSUMS.sha256").is_file():
        return {"": folder}
    if (folder / "release").is_dir():
        return {"": folder / "release"}
    releases = {path.parent.name: path for path in folder.glob("*/release")}
    if not releases:
        raise SystemExit(f"{folder}: no release there")
    return releases


def different_files(first: Path, second: Path, left_out: Fields) -> Iterator[str]:
    """What differs between two releases."""
    firsts, seconds = files_of(first), files_of(second)
    for name in sorted(firsts.keys() | seconds.keys()):
        if name not in firsts or name not in seconds:
            yield f"{name}: only in {first if name in firsts else second}"
        else:
            for line in difference(name, firsts[name], seconds[name], left_out):
                yield f"{name}: {line}"


def files_of(release: Path) -> dict[str, Path]:
    """Path within the release -> file; without lists of digests."""
    files = {path.relative_to(release).as_posix(): path for path in release.rglob("*") if path.is_file()}
    return {name: path for name, path in files.items() if name not in DIGEST_LISTS}


def difference(name: str, first: Path, second: Path, left_out: Fields) -> list[str]:
    """What differs between two files of a release."""
    if name.endswith(".parquet"):
        return different_tables(first, second, left_out)
    if (before := first.read_bytes()) == (after := second.read_bytes()):
        return []
    left_out |= DIGESTS_WITHIN.get(name, frozenset())
    if name.endswith(".jsonl"):
        rows, others = ([json.loads(line) for line in text.split(b"\n") if line] for text in (before, after))
        return different_rows(rows, others, left_out) or layout(left_out)
    if name.endswith(".json"):
        return different_rows([json.loads(before)], [json.loads(after)], left_out) or layout(left_out)
    if name.endswith((".md", ".toml", ".txt")):
        return different_text(before.decode(), after.decode())
    return [f"{len(before)} and {len(after)} bytes, not the same"]


def layout(left_out: Fields) -> list[str]:
    """What to say of JSON whose bytes differ and whose values do not."""
    return [] if left_out else ["the same values in other bytes"]


def different_tables(first: Path, second: Path, left_out: Fields) -> list[str]:
    """What differs between two Parquet files in schema, metadata of the schema, and rows."""
    before, after = pq.read_table(first), pq.read_table(second)
    if not before.schema.equals(after.schema, check_metadata=True):
        texts = (schema.to_string(truncate_metadata=False) for schema in (before.schema, after.schema))
        return different_text(*texts)
    if before.equals(after):
        return []
    return different_rows(before.to_pylist(), after.to_pylist(), left_out)


def different_rows(before: list[Any], after: list[Any], left_out: Fields) -> list[str]:
    """In how many rows each field differs, with its values in the first of them; rows are compared by their place."""
    lines = [] if len(before) == len(after) else [f"{len(before)} and {len(after)} rows"]
    rows: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for number, (row, other) in enumerate(zip(before, after, strict=False), start=1):
        changes = {path: (was, is_now) for path, was, is_now in different_fields(row, other, left_out)}
        rows.update(changes.keys())
        for path, (was, is_now) in changes.items():
            example = f"row {number}{named(row)}: {shown(was)} -> {shown(is_now)}"
            examples.setdefault(path, example)
    lines += [f"{path or 'the value'} in {rows[path]} of {len(before)} rows; {text}" for path, text in examples.items()]
    return lines


def different_fields(before: Any, after: Any, left_out: Fields, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(dotted path, value, other value) of what differs; entries of lists have the path of their list."""
    if path and (path in left_out or path.rsplit(".", 1)[-1] in left_out):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            here = f"{path}.{name}" if path else name
            yield from different_fields(before.get(name, NOT_THERE), after.get(name, NOT_THERE), left_out, here)
        if list(before) != list(after) and before.keys() == after.keys():
            yield f"{path} (order of names)", list(before), list(after)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for entry, other in zip(before, after, strict=True):
            yield from different_fields(entry, other, left_out, path)
    elif type(before) is not type(after) or before != after:
        yield path, before, after


def different_text(before: str, after: str) -> list[str]:
    """The first lines that differ."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    more = [f"… {len(changed) - SHOWN_LINES} more lines"] if len(changed) > SHOWN_LINES else []
    return [*map(cut, changed[:SHOWN_LINES]), *more]


def named(row: Any) -> str:
    """How a person finds a row again."""
    return f" ({row['trajectory_id']})" if isinstance(row, dict) and "trajectory_id" in row else ""


def shown(value: Any) -> str:
    return "nothing" if value is NOT_THERE else cut(json.dumps(value, ensure_ascii=False, default=str))


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} …"
