"""Very large files: mapped into memory instead of read, and released to the system after reading.

What is mapped is a copy of the file without a name: a file that its writer cuts short while it is mapped would end the
program. Where the file system can, the copy takes no room.
"""

import contextlib
import hashlib
import mmap
import os
import tempfile
from collections.abc import Iterator
from weakref import WeakValueDictionary

CHUNK = 4 << 20
MAPPED: WeakValueDictionary[int, mmap.mmap] = WeakValueDictionary()  # by the address at which they are


def map_file(handle: int, size: int) -> mmap.mmap | None:
    """The bytes of an open file as they are now; None if they cannot be copied (no room, no such system call)."""
    try:
        with tempfile.TemporaryFile() as copy:
            while (at := copy.seek(0, os.SEEK_END)) < size and os.sendfile(copy.fileno(), handle, at, size - at):
                pass
            mapping = mmap.mmap(copy.fileno(), size, prot=mmap.PROT_READ) if at >= size else None
    except OSError:
        return None
    if mapping is not None:
        MAPPED[address_of(mapping)] = mapping
    return mapping


def address_of(content: mmap.mmap | memoryview) -> int:
    """The address of bytes in memory."""
    import pyarrow as pa

    address: int = pa.py_buffer(content).address
    return address


def sha256_of(content: bytes | mmap.mmap) -> str:
    """The SHA-256 digest of bytes. Of mapped bytes, few are in memory at a time."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    digest, view = hashlib.sha256(), memoryview(content)
    releaser = PageReleaser(view)
    for at in range(0, len(view), CHUNK):
        releaser.release_to(at)
        digest.update(view[at : at + CHUNK])
    return digest.hexdigest()


def chunks(handle: int) -> Iterator[bytes]:
    """An open file's bytes from its beginning, a few at a time."""
    at = 0
    while data := os.pread(handle, CHUNK, at):
        yield data
        at += len(data)


class PageReleaser:
    """Releases the pages of mapped bytes that a reader has passed. Does nothing for bytes that are not mapped."""

    def __init__(self, content: bytes | memoryview) -> None:
        self.pages = MAPPED.get(address_of(content)) if isinstance(content, memoryview) else None
        self.given_back = 0

    def release_to(self, offset: int) -> None:
        """Note that the reader needs nothing before this offset any more."""
        if self.pages is not None and offset - self.given_back >= CHUNK:
            end = offset - offset % mmap.PAGESIZE
            self.give_back(self.given_back, end)
            self.given_back = end

    def start_again(self) -> None:
        """Note that the reader starts again at the beginning, and release all pages."""
        if self.pages is not None:
            self.give_back(0, len(self.pages))
        self.given_back = 0

    def give_back(self, start: int, end: int) -> None:
        """Release the memory of these bytes. The system loads them again when they are read."""
        with contextlib.suppress(OSError):  # it stays in memory then
            self.pages.madvise(mmap.MADV_DONTNEED, start, end - start)  # type: ignore[union-attr]
