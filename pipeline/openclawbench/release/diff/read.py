"""A release as a sorted stream of lines, and two streams side by side; one line of each is in memory at a time.

This is not the reader of `validate`, which requires the present schema: the two releases may be years apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from openclawbench.errors import UnreadableInput
from openclawbench.release.files.jsonl_files import open_lines, place_of, released
from openclawbench.release.files.names import MASTER_FILE, ROOT, models_of
from openclawbench.release.record_key import Key
from openclawbench.release.release_folder import refuse_other_folder


class Keyed(Protocol):
    """An object with a key."""

    @property
    def key(self) -> Key: ...


One = TypeVar("One", bound=Keyed)


class Stamps(msgspec.Struct):
    """The provenance of a record."""

    judge: str | None = None
    judge_model: str | None = None
    rules_version: str | None = None
    schema_version: str | None = None
    prompt_versions: dict[str, str | None] = {}


class Head(msgspec.Struct):
    """The parts that are read of every line; a label row has no provenance."""

    source_model: str
    trajectory_id: str
    provenance: Stamps = msgspec.field(default_factory=Stamps)


@dataclass(frozen=True)
class ReleaseLine:
    """A line of a release file; its full content is parsed on demand."""

    path: Path
    number: int  # from 1
    raw: bytes
    head: Head

    @property
    def key(self) -> Key:
        return self.head.source_model, self.head.trajectory_id

    def row(self) -> dict[str, Any]:
        """The line as plain data. Raises UnreadableInput if it is not a JSON object."""
        try:
            return msgspec.json.decode(self.raw, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise unreadable(self.path, self.number, f"is not a record: {error}") from error

    def record(self) -> dict[str, Any]:
        """A line of a master table. Raises UnreadableInput if it lacks a field that every schema version has."""
        record = self.row()
        missing = [name for name in NEEDED if name not in record]
        missing += [] if missing else [name for name in STAMPED if name not in record["provenance"]]
        if missing:
            raise unreadable(self.path, self.number, f"has no {missing[0]}")
        return record


HEAD = msgspec.json.Decoder(Head)
NEEDED = ("steps", "user_turns", "is_anomalous", "anomaly_type_l2", "quality_tier", "provenance")
STAMPED = ("rules_version", "schema_version", "judge", "judge_model", "prompt_versions", "packet_sha256")


def models(root: Path) -> list[str]:
    """Source models of a release, sorted. Raises UsageError if the folder is not a release."""
    refuse_other_folder(root)
    return models_of(root)


def records(root: Path) -> Iterator[ReleaseLine]:
    """Lines of all master tables, sorted by key."""
    for model in models(root):
        yield from lines(root / ROOT / model / MASTER_FILE)


def lines(path: Path) -> Iterator[ReleaseLine]:
    """Lines of one file. Raises UnreadableInput with the line number if a line is not valid or not in order."""
    if not released(path):
        raise UnreadableInput(f"{path}: every release has this file. Check the release with `openclawbench validate`.")
    former: Key | None = None
    for number, raw in whole_lines(path):
        try:
            line = ReleaseLine(path, number, raw, HEAD.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable(path, number, f"is not a record: {error}") from error
        if former is not None and line.key <= former:
            raise unreadable(path, number, "stands twice or out of order")
        former = line.key
        yield line


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of one file. Raises UnreadableInput if compressed data are damaged."""
    number = 0
    with open_lines(path) as file:
        try:
            for number, raw in enumerate(file, start=1):
                yield number, raw
        except OSError as error:
            raise unreadable(path, number + 1, f"cannot be read: {error}") from error


def join_streams(first: Iterator[One], second: Iterator[One]) -> Iterator[tuple[One | None, One | None]]:
    """Two sorted streams side by side; None if a stream does not have the key."""
    left, right = next(first, None), next(second, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left.key < right.key):
            yield left, None
            left = next(first, None)
        elif left is None or right.key < left.key:
            yield None, right
            right = next(second, None)
        else:
            yield left, right
            left, right = next(first, None), next(second, None)


def unreadable(path: Path, number: int, fault: str) -> UnreadableInput:
    """The error for a line."""
    file, line = place_of(path, number)
    return UnreadableInput(f"{file}: line {line}: {fault}. Check the release with `openclawbench validate`.")
