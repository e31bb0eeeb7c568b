"""What every source adapter returns: one session as steps, user turns and counts, before it has a trajectory id."""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol, overload

from openclawbench.rules.normalize import NormalizeRules
from openclawbench.sources.io.jsonl import Fault, RawLine
from openclawbench.sources.io.packed_steps import PackedSteps

# Keys of contexts: what tells a session from another of equal bytes, by what lies beside it; paths of the files that it
# names as sessions of its sub-agents; identity of the session that it lies inside.
IDENTITY, CHILDREN, PARENT = "identity", "children", "parent_identity"


class RecordDigests(Sequence[bytes]):
    """One digest a record of a JSONL session, in order; reckoned when first asked for, which only copies need.

    Until then `content` gives the bytes, and may be set to what reads them again. `what_lasts` makes the digests of
    what stays when the program that wrote the file repairs it, if it does.
    """

    def __init__(
        self,
        content: bytes | memoryview,
        lines: list[RawLine],
        what_lasts: Callable[[Iterable[bytes]], list[bytes]] | None = None,
    ) -> None:
        self.content: Callable[[], bytes | memoryview] = lambda: content
        self.what_lasts = what_lasts
        self.offsets = array("q", [line.offset for line in lines])
        self.lengths = array("q", [line.length for line in lines])

    def __len__(self) -> int:
        return len(self.offsets)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        return self.digests[index]

    @cached_property
    def digests(self) -> list[bytes]:
        return [digest(record) for record in self.records()]

    @cached_property
    def canonical(self) -> list[bytes]:
        """The same of what the records say, whatever the order of their keys and the blanks between them."""
        return [digest(canonical_record(record)) for record in self.records()]

    @cached_property
    def lasting(self) -> list[bytes]:
        """The same of what a repair of the file changes nothing in."""
        try:
            return self.canonical if self.what_lasts is None else self.what_lasts(self.records())
        except RecursionError:  # a value that is too deep to be written anew
            return self.canonical

    def records(self) -> Iterator[bytes]:
        """The bytes of the records, in order."""
        content = self.content()
        for at, length in zip(self.offsets, self.lengths, strict=True):
            yield bytes(content[at : at + length])


def digest(record: bytes) -> bytes:
    """Digest of a record's bytes."""
    return blake2b(record, digest_size=16).digest()


def canonical_record(record: bytes) -> bytes:
    """A record's JSON without blanks and with its keys in order; its bytes as they are where it is not plain JSON."""
    try:
        return json.dumps(json.loads(record), sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return record


@dataclass
class ParsedSession:
    """A session on its active branch. Rows are plain dicts of the records' columns without the trajectory key.

    `records_in` = raw records (JSON texts, torn lines included); `record_counts` says where each went and sums to it.
    `record_digests` has one digest a whole record, in order: two files of one identity are copies where one's list is
    a prefix of the other's. `outcome` is an OracleRecord's fields where the source itself carries an outcome: context
    for fusion, never a label. `completeness` is partial | complete for records that say so (aec TrialRecord).
    """

    source_format: str
    session_id: str | None
    session_version: str | None
    identity: str = ""
    models: list[str] = field(default_factory=list)
    truncated: bool = False
    order_ambiguous: bool = False
    several_sessions: bool = False
    head_drop: bool = False
    escaped_fields: list[str] = field(default_factory=list)
    unknown_blocks: Counter[str] = field(default_factory=Counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    packed_steps: PackedSteps | None = None  # all steps of a very long session; `steps` is empty then
    user_turns: list[dict[str, Any]] = field(default_factory=list)
    abandoned_steps: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)  # RunSummary
    context: dict[str, Any] = field(default_factory=dict)  # RunContext: what lay beside the session
    outcome: dict[str, Any] | None = None
    other_outcomes: list[dict[str, Any]] = field(
        default_factory=list
    )  # that say something else: of evaluations, of copies
    task: dict[str, Any] = field(default_factory=dict)  # subset, task_id, attempt, where the source itself names them
    completeness: str | None = None
    records_in: int = 0
    record_counts: Counter[str] = field(default_factory=Counter)
    record_digests: Sequence[bytes] = ()
    warnings: list[Fault] = field(default_factory=list)

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """Every outcome that this session and its copies carry, those that say the same once."""
        return ([] if self.outcome is None else [self.outcome]) + self.other_outcomes

    def fill_from(self, copy: "ParsedSession") -> None:
        """Take over what lay beside a copy of this session, where nothing beside this one said it."""
        told = {name: value for name, value in copy.context.items() if value is not None}
        self.context = told | {name: value for name, value in self.context.items() if value is not None}
        for one in copy.outcomes:
            if self.outcome is None:
                self.outcome = one
            elif verdict(one) not in map(verdict, self.outcomes):
                self.other_outcomes.append(one)
        self.task = self.task or copy.task
        self.completeness = self.completeness or copy.completeness
        self.head_drop |= copy.head_drop


def verdict(outcome: dict[str, Any]) -> tuple[Any, ...]:
    """What an outcome says, whoever says it."""
    return outcome.get("status"), outcome.get("success"), outcome.get("task_id")


@dataclass(frozen=True)
class Member:
    """Where one session's bytes are in its file."""

    name: str
    line: int  # 1-based
    offset: int
    length: int


class Source(Protocol):
    """A raw format. `detect` looks at the first record only, never at a file's name."""

    name: str

    def detect(self, first: Any) -> bool:
        """True where the first record (a decoded JSON value) is of this format."""
        ...

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """(session id or null, what makes two files the same session). `head` is the first record's bytes."""
        ...

    def companions(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """Files beside `path` that say something about its session: name -> path, out of `paths` (all raw files).

        The intake reads them: JSON files as their value, others as text, absent or broken ones as null.
        """
        ...

    def context(self, first: Any, path: str, found: dict[str, Any]) -> dict[str, Any]:
        """What of the companions' contents concerns this session, small and JSON: it is part of the shard's key."""
        ...

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        """The session. Raises MalformedSession with line and reason where the file can't be read without loss.

        `context` is what context() made of the files beside it; empty where there was nothing.
        """
        ...


class MalformedSession(Exception):
    """A file that is a session of this format but cannot be read without loss, or carries no steps."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
