"""The bytes of a raw file: whole, mapped where they are very many, or only looked at; and why they can't be had."""

import hashlib
import os
from mmap import mmap

from openclawbench.intake.raw_folder import Stamp, stamp_of_status
from openclawbench.sources.io.compression import MAGIC_BYTES, BrokenPacking, decompressed, is_packed
from openclawbench.sources.io.mmap_files import chunks, mapped
from openclawbench.sources.openclaw.sqlite import MAGIC
from openclawbench.sources.registry import HEAD_BYTES, FirstRecord, first_of_long
from openclawbench.tables.schema import LARGE_BYTES


def read_content(path: str) -> bytes | None:
    """A file's bytes, decompressed; null for an SQLite database. OSError or ValueError where they can't be had."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        database = os.pread(handle, len(MAGIC), 0) == MAGIC
        return None if database else decompressed(all_bytes(handle, os.fstat(handle).st_size))
    finally:
        os.close(handle)


def read_long(path: str, size: int) -> tuple[FirstRecord, str] | None:
    """The first record and the digest of a very large file, which is never wholly in memory; null for what has to be
    looked at as a whole. OSError where it can't be read."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        first = first_of_long(path, os.pread(handle, HEAD_BYTES, 0), size)
        if first is None:
            return None
        digest = hashlib.sha256()
        for data in chunks(handle):
            digest.update(data)
        return first, digest.hexdigest()
    finally:
        os.close(handle)


def whole_content(path: str) -> tuple[bytes | mmap, Stamp]:
    """A file's bytes again, decompressed, and its stamp after they were read; those of a very large one are mapped.
    OSError or ValueError where they can't be had."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(handle).st_size
        content: bytes | mmap | None = None
        if size >= LARGE_BYTES and not is_packed(os.pread(handle, MAGIC_BYTES, 0)):
            content = mapped(handle, size)
        if content is None:
            content = decompressed(all_bytes(handle, size))
        return content, stamp_of_status(os.fstat(handle))
    finally:
        os.close(handle)


def all_bytes(handle: int, size: int) -> bytes:
    """What an open file of this size holds. Python's own file objects take five times as long for a small one."""
    content = os.read(handle, size)
    if len(content) == size:
        return content
    with open(handle, "rb", buffering=0, closefd=False) as file:  # a very large one, or one that has just been cut
        return content + file.readall()


def reason_of(error: OSError | ValueError) -> str:
    """Why a file can't be read, in a few words; of broken compressed data also what to do."""
    if isinstance(error, BrokenPacking):
        return f"{error}. Put the file back whole, or remove it."
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
