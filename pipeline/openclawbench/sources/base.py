"""The base class of source adapters, and what they return: a session before it has a trajectory id."""

import json
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, overload

import msgspec

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.json_ranges import element_ranges
from openclawbench.sources.io.json_values import without_blanks
from openclawbench.sources.io.jsonl import Fault, RawFile, RawLine, read_lines, readable
from openclawbench.sources.io.step_spool import SpooledSteps

# Keys of contexts: what tells a session from another of equal bytes, by what lies beside it; paths of the files that it
# names as sessions of its sub-agents; identity of the session that it lies inside; of the one that it continues; of the
# first of all that were continued so, which are read together; ids of the records of the one that it continues; whether
# it may be the end of a session beside it.
IDENTITY, CHILDREN, PARENT = "identity", "children", "parent_identity"
CONTINUES, FAMILY, KNOWN, FRAGMENT = "continues", "family", "known_records", "fragment"
TEXT = "text:"  # keys of sidecars that begin so stand for the file's text, and not for its JSON value
SHARE = "share"  # whose records a session has, among those of several in its bytes


class Told(NamedTuple):
    """What a record tells, whatever the file in which it stands. `key`: equal for the same message, result or turn."""

    key: bytes
    kind: str  # model | result | user | program (a turn that the program wrote) | other
    at: int  # place of the record in its file
    id: str | None
    time: str | None
    size: int = 0  # of a result, to tell the fuller of two


@dataclass
class History:
    """What a file tells of its session: on its active branch in order, and at all; when its last record was written."""

    active: list[Told]
    known: set[bytes]
    end: str


class RecordDigests(Sequence[bytes]):
    """One digest per record of a JSONL session, in order. They are computed on first use, and only copies need them.

    Until then `content` gives the bytes, and may be set to what reads them again. `history_of` says what the records
    tell, for a program that writes its files anew.
    """

    def __init__(
        self,
        content: bytes | memoryview,
        lines: list[RawLine],
        history_of: Callable[[Iterable[bytes]], History] | None = None,
    ) -> None:
        self.content: Callable[[], bytes | memoryview] = lambda: content
        self.history_of = history_of
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
        """Digests of the records' canonical JSON: the order of keys and white space do not count."""
        return [digest(canonical_record(record)) for record in self.records()]

    @cached_property
    def history(self) -> History | None:
        """What the records tell; None where the format says nothing of that, or a value is too deep to be compared."""
        try:
            return None if self.history_of is None else self.history_of(self.records())
        except RecursionError:
            return None

    def records(self) -> Iterator[bytes]:
        """The bytes of the records, in order."""
        content = self.content()
        for at, length in zip(self.offsets, self.lengths, strict=True):
            yield bytes(content[at : at + length])


def digest(record: bytes) -> bytes:
    """Digest of a record's bytes."""
    return blake2b(record, digest_size=16).digest()


def canonical_record(record: bytes) -> bytes:
    """A record's JSON, however it is spelled: its keys in order, nothing that is null or empty. Its bytes as they are
    where it is not plain JSON."""
    try:
        return json.dumps(without_blanks(json.loads(record)), sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return record


@dataclass
class ParsedSession:
    """A session on its active branch. Rows are plain dicts of the records' columns without the trajectory key.

    `records_in` = raw records (JSON texts, torn lines included); `record_counts` says where each went and sums to it.
    `record_digests` has one digest per whole record, in order: two files of one identity are copies where one's list is
    a prefix of the other's. `outcome` is an OracleRecord's fields where the source itself carries an outcome: context
    for fusion, never a label. `completeness` is partial | complete for records that say so (aec TrialRecord).
    """

    source_format: str
    session_id: str | None
    session_version: str | None
    identity: str = ""
    models: list[str] = field(default_factory=list)
    harness: dict[str, Any] = field(default_factory=dict)  # Harness
    truncated: bool = False
    order_ambiguous: bool = False
    several_sessions: bool = False
    head_drop: bool = False
    copied_records: int = 0  # of the session that it continues, with which the file begins
    escaped_fields: list[str] = field(default_factory=list)
    unknown_blocks: Counter[str] = field(default_factory=Counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    spooled_steps: SpooledSteps | None = None  # all steps of a very long session; `steps` is empty then
    user_turns: list[dict[str, Any]] = field(default_factory=list)
    abandoned_steps: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)  # RunSummary
    context: dict[str, Any] = field(default_factory=dict)  # RunContext: what lay beside the session
    benchmark: dict[str, Any] | None = None  # BenchmarkRow, where the session is one
    outcome: dict[str, Any] | None = None
    # Outcomes of further evaluations and of copies that differ from `outcome`.
    other_outcomes: list[dict[str, Any]] = field(default_factory=list)
    task: dict[str, Any] = field(default_factory=dict)  # subset, task_id, attempt, where the source itself names them
    completeness: str | None = None
    records_in: int = 0
    record_counts: Counter[str] = field(default_factory=Counter)
    record_digests: Sequence[bytes] = ()
    warnings: list[Fault] = field(default_factory=list)

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """The outcomes of this session and its copies, without duplicates."""
        return ([] if self.outcome is None else [self.outcome]) + self.other_outcomes

    def fill_from(self, copy: "ParsedSession") -> None:
        """Fill in the context, outcomes and task of a copy of this session where this one has none."""
        known_values = {name: value for name, value in copy.context.items() if value is not None}
        self.context = known_values | {name: value for name, value in self.context.items() if value is not None}
        for outcome in copy.outcomes:
            if self.outcome is None:
                self.outcome = outcome
            elif duplicate_key(outcome) not in map(duplicate_key, self.outcomes):
                self.other_outcomes.append(outcome)
        self.task = self.task or copy.task
        self.harness = self.harness or copy.harness
        self.completeness = self.completeness or copy.completeness
        self.head_drop |= copy.head_drop


def duplicate_key(outcome: dict[str, Any]) -> tuple[Any, ...]:
    """Status, success and task of an outcome, without the evaluator: outcomes are duplicates if these are equal."""
    return outcome.get("status"), outcome.get("success"), outcome.get("task_id")


@dataclass(frozen=True)
class Member:
    """Where one session's bytes are in its file."""

    name: str
    line: int  # 1-based
    offset: int
    length: int
    share: str | None = None  # whose records among those of several sessions, where they are mixed


class Source(ABC):
    """A raw format: an adapter is a subclass, and one instance of it is in `registry.FORMATS`.

    An adapter implements `detect`, `identity` and `parse`; every other hook has a default that fits a format of one
    session a file with nothing beside it. Hooks are pure: they open no file and keep no state. They are called through
    `adapter_calls`, which turns an unexpected error into a fault of that one file, and checks the record accounting.
    docs/develop/add_a_format.md is the recipe.
    """

    name: ClassVar[str]
    """Unique among the adapters. It is used in the scan and in error messages."""

    source_format: ClassVar[str | None] = None
    """What `Trajectory.source_format` says; null: the name. Several adapters may read parts of one format."""

    identity_lines: ClassVar[int] = 1
    """Lines at the beginning of a JSONL file that `identity` receives as `head`."""

    records_are_lines: ClassVar[bool] = True
    """True if a line that is not blank is at least one record, which lets the caller check `records_in` against the
    file. False for formats of one JSON document."""

    only_in_rows: ClassVar[bool] = False
    """True for documents that say too little of themselves to be told from other files: they are sessions only as a
    value of a row that says how the run ended."""

    reads_long: ClassVar[bool] = False
    """True if `parse_long` reads a very long session without its bytes being wholly in memory."""

    @property
    def format_name(self) -> str:
        """The format as tables and messages name it."""
        return self.source_format or self.name

    @abstractmethod
    def detect(self, first: Any) -> bool:
        """Whether a file is of this format. `first`: the first record as a decoded JSON value (the first line, or the
        whole document); None if it is not JSON.

        Called once for each file, in the order of FORMATS, until one adapter says yes. A file's name is not evidence.
        """

    @abstractmethod
    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        """(session id or None, identity). Two files of equal identity are candidates for copies of one session; the
        identity also decides the shard, so that they meet. `head`: the first `identity_lines` lines, or the document.

        Called once for each file that `detect` claims.
        """

    @abstractmethod
    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        """The session. `content`: the decompressed bytes; `context`: what `read_context` returned, empty if that was
        nothing, and keys of the intake (`CHILDREN`, `PARENT`, `IDENTITY`, `CONTINUES`, `KNOWN`).

        `records_in` counts every record, and `record_counts` says where each went, under a name for what is not used.
        The caller compares both and quarantines the file where they differ. Raises MalformedSession, with line and
        reason, where the file cannot be read without loss. Called by normalize, once for each session.
        """

    def explain_rejection(self, first: Any) -> str | None:
        """What a first record lacks to be of this format, as the beginning of a sentence; None (the default) where it
        does not resemble the format. Called for files that no adapter claims; the message to the user quotes it."""
        return None

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        """Files beside `path` that say something about its session: key -> path, out of `paths` (all raw files). None
        by default.

        Called for each claimed file. The intake reads these files, and reads the session again when one changes.
        """
        return {}

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        """What of the sidecars concerns this session, small and JSON, without secrets: `parse` receives it, and it is
        part of the shard's key. Empty by default.

        `sidecars`: key of `find_sidecars` -> value of the file: JSON as decoded, other files as text, null for what
        cannot be read. Called once for each claimed file.
        """
        return {}

    def describe_use(self, first: Any, path: str, sidecars: dict[str, Any], context: dict[str, Any]) -> dict[str, str]:
        """What `read_context` took of each sidecar, in words: key -> `task and outcome of the trial`. Called after it,
        with what it returned; the sidecar's row in the file report quotes it. Empty by default."""
        return {}

    def find_members(self, content: bytes) -> list[Member] | None:
        """Where the sessions of a file that holds several are; None (the default) where the file is one session.

        Every part is listed, also one that is not a session, so that it is accounted for. Each part is then identified
        and parsed as a file of its own. Called once for each claimed file.
        """
        return None

    def find_embedded(self, first: Any, content: bytes) -> list[Member]:
        """Where sessions inside a session are, which are read as sessions of their own beside it (sub-agents). None by
        default. Called once for each claimed file of one session, and for each session that is found so."""
        return []

    def skip_reason(self, record: Any) -> str | None:
        """Reason code for a part of `find_members` that no adapter claims and that is known not to be a session; None
        (the default) where a person has to look at it. `record`: its first record."""
        return None

    def parse_clean_utf8(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        """As `parse`, for content that is known to be UTF-8 without surrogate escapes. For adapters that gain by not
        looking; the default calls `parse`."""
        return self.parse(content, context, rules)

    def parse_long(self, content: memoryview, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession | None:
        """As `parse`, for a very long session in little memory; None if it has to be read by `parse`, which then
        says what is wrong with it. Called only where `reads_long` is true."""
        return None


class MalformedSession(Exception):
    """A file that is a session of this format but cannot be read without loss, or carries no steps."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def read_session_lines(
    content: bytes,
    decode: Callable[[bytes], Any],
    quick: msgspec.json.Decoder[Any] | None = None,
    is_clean_utf8: bool = False,
) -> RawFile:
    """The records of a JSONL session, as io.jsonl.read_lines() reads them. Raises MalformedSession for a broken line
    before the last one, because a step may be lost with it."""
    raw = read_lines(content, decode, quick, is_clean_utf8)
    if raw.fatal is not None:
        raise MalformedSession(raw.fatal)
    return raw


def read_document_rows(content: bytes, key: str | None, decode: Callable[[bytes], Any] = json.loads) -> list[RawLine]:
    """The records of a session that is one JSON document: the elements of the array that `key` of its object holds,
    or of the array that it is (`key` None), each with its place. Empty if there is no such array. Raises
    MalformedSession with the line where `decode` raises ValueError or RecursionError, and where the brackets of the
    document do not fit."""
    try:
        ranges = element_ranges(content, key)
    except ValueError as error:
        raise MalformedSession(Fault("broken_json", 1, f"line 1: not one JSON document: {error}")) from error
    rows = []
    line, counted = 1, 0
    for offset, end in ranges:
        line += content.count(b"\n", counted, offset)
        counted = offset
        data = content[offset:end]
        clean = readable(data)
        try:
            rows.append(RawLine(line, offset, len(data), clean is not data, decode(clean)))
        except (ValueError, RecursionError) as error:
            raise MalformedSession(Fault("unexpected_shape", line, f"line {line}: {error}")) from error
    return rows
