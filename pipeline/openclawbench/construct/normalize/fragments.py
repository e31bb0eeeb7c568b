"""A file without a header whose first record hangs on a record of a session beside it: it is the end of that session,
and is read as if its lines stood there."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl

from openclawbench.base.session_names import basename
from openclawbench.construct.normalize.session_file import SessionFile, refuse
from openclawbench.sources.base import FRAGMENT
from openclawbench.sources.io.jsonl import pieces
from openclawbench.tables.bytes_column import LARGE_BYTES

JOINED = "joined"  # reason of such a file


class Linked(msgspec.Struct, gc=False):
    """A record; only its place in the tree is read."""

    type: Any = None
    id: Any = None
    parentId: Any = None


LINKED = msgspec.json.Decoder(Linked)


@dataclass
class Fragments:
    """Which files of a shard are the ends of which, by their places in it."""

    session_of: dict[int, int] = field(default_factory=dict)  # end -> the file that it continues
    end_of: dict[int, int] = field(default_factory=dict)

    def content(self, at: int, contents: pl.Series) -> bytes:
        """The bytes of a file that has its end elsewhere, with those of its end."""
        return joined(contents[at][0], contents[self.end_of[at]][0])

    def point_to(self, at: int, table: pl.DataFrame, file: SessionFile) -> None:
        """Let the pointers of what was read of the end name the file where it is, and its place there."""
        before, path = joined(table["content"][at][0], b""), table["path"][self.end_of[at]]
        lines = before.count(b"\n")
        for step in file.session.steps if file.session else ():
            for raw in step["raw"]:
                if raw["offset"] >= len(before):
                    raw |= {"file": path, "line": raw["line"] - lines, "offset": raw["offset"] - len(before)}

    def note(self, files: list[SessionFile]) -> None:
        """Note the files that were read as the ends of others. Their records are counted there."""
        for at, session_at in self.session_of.items():
            file, other = files[at], files[session_at]
            if other.session is not None:
                sentence = f"{file.path}: read as the end of {other.path}, which holds the parent of its first record."
                file.disposition, file.records_in = "sidecar", 0
                refuse(file, JOINED, None, sentence)


def find_fragments(table: pl.DataFrame) -> Fragments:
    """The ends among the files of a shard. `table`: SourceFile."""
    fragments = Fragments()
    marked = table["context"].str.contains(f'"{FRAGMENT}"', literal=True).fill_null(False)
    for at in marked.arg_true():
        end = content_of(table, at)
        parent = next((record.parentId for record in records_of(end)), None)
        if not isinstance(parent, str):
            continue
        model, place = table["source_model"][at], place_of(table["path"][at])
        for other in sorted(range(table.height), key=lambda row: str(table["path"][row]), reverse=True):
            is_session = table["adapter"][other] is not None and table["member"][other] is None
            if is_session and (table["source_model"][other], place_of(table["path"][other])) == (model, place):
                content = content_of(table, other)
                if other not in fragments.end_of and any(record.id == parent for record in records_of(content)):
                    fragments.session_of[at], fragments.end_of[other] = other, at
                    break
    return fragments


def content_of(table: pl.DataFrame, at: int) -> bytes:
    """The bytes of a file; none of a very large one, which is not joined."""
    cell = table["content"][at]
    content: bytes = b"" if cell is None else cell[0]
    return content if len(content) < LARGE_BYTES else b""


def records_of(content: bytes) -> list[Linked]:
    """The records of a file, headers left out; none if one of them cannot be read."""
    try:
        records = [LINKED.decode(data) for _, _, data in pieces(content)]
    except (msgspec.DecodeError, RecursionError):
        return []
    return [record for record in records if record.type != "session"]


def joined(content: bytes, end: bytes) -> bytes:
    """A session's file and the end of it, one after the other."""
    return content + (b"" if content.endswith(b"\n") else b"\n") + end


def place_of(path: str) -> str:
    """Where a file lies, by the name of its session."""
    return f"{path.rpartition('/')[0]}/{basename(path)}"
