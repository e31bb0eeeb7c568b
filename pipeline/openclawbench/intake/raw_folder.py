"""The raw folder: every file below it with a stamp that says whether it has changed, and the bytes of a file."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path

from openclawbench.sources.identification import HEAD_BYTES, FileFormat, identify_long
from openclawbench.sources.io.file_encodings import MAGIC_BYTES, BrokenCompression, decompressed, is_compressed
from openclawbench.sources.io.mmap_files import chunks, map_file
from openclawbench.sources.openclaw.session_index import is_index
from openclawbench.sources.openclaw.sqlite_store import MAGIC
from openclawbench.tables.bytes_column import LARGE_BYTES

NO_FOLDER = (
    "a folder that cannot be listed, a link that leads back or to the system's own files (/proc), or one of too many. "
    "Make it readable or remove it."
)
OF_THE_SYSTEM = ("dev", "proc", "sys")  # folders at the top whose files are no files: they lead back, and have no end
LINKS = 64  # to one folder that are followed: two in each lead to a million of what is twenty folders further
Stamp = list[int]


def files_below(top: str, every: bool = False) -> Iterator[tuple[str, Stamp | None]]:
    """(name, stamp) of every file below a folder, in links to folders too; also of what only looks like a session file
    or an index and cannot be read: a link to nothing, a pipe, a folder that cannot be listed, a link to one above.
    `every`: also of what cannot be read and does not look like one."""
    visits: Counter[str] = Counter()  # of real folders
    waiting: list[tuple[str, str, tuple[str, ...]]]
    waiting = [(top, "", (os.path.realpath(top),))]  # folder, its name as a prefix, where it and those above it are
    while waiting:
        folder, prefix, above = waiting.pop()
        visits[above[-1]] += 1
        try:
            with os.scandir(folder) as folder_entries:
                entries = list(folder_entries)
        except OSError:
            yield prefix.removesuffix("/") or ".", None
            continue
        for entry in entries:
            name, stamp = prefix + entry.name, stamp_of(entry)
            kind = None if stamp else mode_of(entry.path) or mode_seen(entry)
            if kind == stat.S_IFDIR:
                is_link = entry.is_symlink()
                real = os.path.realpath(entry.path) if is_link else f"{above[-1]}/{entry.name}"
                if not (is_link and (leads_back(real, above) or visits[real] >= LINKS)):
                    waiting.append((entry.path, f"{name}/", (*above, real)))
                    continue
            looks_like_one = every or ".jsonl" in entry.name or is_index(entry.name)
            if kind in (stat.S_IFDIR, stat.S_IFREG) or stamp is not None or looks_like_one:
                yield name, stamp


def leads_back(real: str, above: tuple[str, ...]) -> bool:
    """True for a folder that a link leads to if it is one of those above, holds one of them, or is the system's own."""
    return real.split("/")[1] in OF_THE_SYSTEM or any(
        f"{folder}/".startswith(f"{real.rstrip('/')}/") for folder in above
    )


def stamp_of(entry: os.DirEntry[str]) -> Stamp | None:
    """Size, times and inode; None for what is not a regular file (a folder, a dangling link, a pipe)."""
    try:
        status = entry.stat()
    except OSError:
        return None
    return stamp_of_status(status) if stat.S_ISREG(status.st_mode) else None


def stamp_of_status(status: os.stat_result) -> Stamp:
    """Size, times and inode of a file. Whatever writes to it changes one of them (the second time is the system's own,
    which no program sets); two writes within one tick of the system's clock to the same length would not show."""
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def why_unreadable(path: Path) -> str:
    """The reason why a path is not opened (a pipe would wait forever), and what to do."""
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            return NO_FOLDER
    except PermissionError:
        return "its folder may not be entered. Make it accessible and run again."
    except OSError:
        return "a link to nothing, or a file that has just gone. Remove it, or run again."
    return "neither a file nor a folder. Take it out of the raw folder."


def mode_of(path: str | Path) -> int | None:
    """The kind of file behind a path, as `stat` names it; None if it cannot be read."""
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except OSError:
        return None


def mode_seen(entry: os.DirEntry[str]) -> int | None:
    """The kind of an entry according to its folder, for entries without read permission; None for other kinds."""
    return (
        stat.S_IFDIR
        if entry.is_dir(follow_symlinks=False)
        else stat.S_IFREG
        if entry.is_file(follow_symlinks=False)
        else None
    )


def read_content(path: str) -> bytes | None:
    """A file's bytes, decompressed; None for an SQLite database. OSError or ValueError if they cannot be read."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        database = os.pread(handle, len(MAGIC), 0) == MAGIC
        return None if database else decompressed(all_bytes(handle, os.fstat(handle).st_size))
    finally:
        os.close(handle)


def read_long(path: str, size: int) -> tuple[FileFormat, str] | None:
    """Format and digest of a very large file, which is never wholly in memory; None for one that has to be
    read as a whole. OSError if it cannot be read."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        identified = identify_long(path, os.pread(handle, HEAD_BYTES, 0), size)
        if identified is None:
            return None
        digest = hashlib.sha256()
        for data in chunks(handle):
            digest.update(data)
        return identified, digest.hexdigest()
    finally:
        os.close(handle)


def whole_content(path: str) -> tuple[bytes | mmap, Stamp]:
    """A file's bytes again, decompressed, and its stamp after they were read; those of a very large one are mapped.
    OSError or ValueError if they cannot be read."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(handle).st_size
        content: bytes | mmap | None = None
        if size >= LARGE_BYTES and not is_compressed(os.pread(handle, MAGIC_BYTES, 0)):
            content = map_file(handle, size)
        if content is None:
            content = decompressed(all_bytes(handle, size))
        return content, stamp_of_status(os.fstat(handle))
    finally:
        os.close(handle)


def all_bytes(handle: int, size: int) -> bytes:
    """The content of an open file of this size. Python's own file objects take five times as long for a small one."""
    content = os.read(handle, size)
    if len(content) == size:
        return content
    with open(handle, "rb", buffering=0, closefd=False) as file:  # a very large one, or one that has just been cut
        return content + file.readall()


def reason_of(error: OSError | ValueError) -> str:
    """The reason why a file cannot be read, in a few words; for broken compressed data also what to do."""
    if isinstance(error, BrokenCompression):
        return f"{error}. Put the file back whole, or remove it."
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
