"""Records of a very long session by their offsets: each is decoded when it is read, and is not kept."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from openclawbench.sources.io.jsonl import RawLine, readable
from openclawbench.sources.io.mmap_files import PageReleaser


class Spans:
    """Where records are. Numbers in arrays, 25 bytes a record: objects would pin ten times as much."""

    def __init__(self, content: memoryview, rows: Iterable[RawLine], decode: Callable[[bytes], Any]) -> None:
        self.content = content
        self.releaser = PageReleaser(content)
        self.decode = decode
        self.lines, self.offsets, self.lengths, self.escaped = array("q"), array("q"), array("q"), array("b")
        for row in rows:
            self.lines.append(row.line)
            self.offsets.append(row.offset)
            self.lengths.append(row.length)
            self.escaped.append(row.escaped)

    def row(self, index: int) -> RawLine:
        """A record, decoded. Raises ValueError or RecursionError if it is not valid JSON."""
        offset, length = self.offsets[index], self.lengths[index]
        data = readable(bytes(self.content[offset : offset + length]))
        return RawLine(self.lines[index], offset, length, bool(self.escaped[index]), self.decode(data))

    def rows(self, indices: Iterable[int]) -> Iterator[RawLine]:
        """Records one by one."""
        self.releaser.start_again()
        for index in indices:
            self.releaser.release_to(self.offsets[index])
            yield self.row(index)


class LazyContent:
    """The content of a record, decoded when it is compared with another's. Only records with the same id or parent
    are."""

    def __init__(self, spans: Spans, index: int, content_of: Callable[[Any], Any]) -> None:
        self.spans = spans
        self.index = index
        self.content_of = content_of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyContent) and bool(self.read() == other.read())

    __hash__ = None  # type: ignore[assignment]

    def read(self) -> Any:
        """What the record says."""
        return self.content_of(self.spans.row(self.index).value)
