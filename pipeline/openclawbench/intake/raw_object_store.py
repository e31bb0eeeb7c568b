"""Raw files in object storage: listed once, fetched several at a time; a store is copied to this machine first."""

import os
import tempfile
import weakref
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from openclawbench.base.session_names import packed_variants
from openclawbench.sources.io.file_encodings import decompressed
from openclawbench.sources.openclaw.sqlite_store import BESIDE, MAGIC, remove_folder
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.object_store import ObjectStore, Stamp

Raw = Path | ObjectStore
AT_ONCE, BYTES_AT_ONCE = 64, 64 << 20  # files, bytes that are fetched together


def list_objects(raw: ObjectStore) -> dict[str, Stamp]:
    """Name -> stamp of every file below the prefix."""
    return {name: stamp for name, stamp in raw.stamps().items() if name and not name.endswith("/")}


class Fetched:
    """The bytes of files that will be read in this order; a few are fetched together, in advance. One that is read out
    of order is fetched alone."""

    def __init__(self, raw: ObjectStore, names: Iterable[str], sizes: dict[str, int]) -> None:
        self.raw, self.sizes = raw, sizes
        self.order = list(dict.fromkeys(names))
        self.places = {name: place for place, name in enumerate(self.order)}
        self.held: dict[str, bytes | OSError] = {}

    def read(self, name: str) -> bytes:
        """A file's bytes as they are stored. OSError if they cannot be read."""
        if name not in self.held:
            self.held = self.raw.read_some(self.batch(name))
        content = self.held.pop(name)
        if isinstance(content, OSError):
            raise content
        return content

    def batch(self, name: str) -> list[str]:
        """The names to fetch together, beginning with this one."""
        start = self.places.get(name)
        if start is None:
            return [name]
        batch: list[str] = []
        size = 0
        for next_name in self.order[start : start + AT_ONCE]:
            size += self.sizes.get(next_name, 0)
            if batch and size > BYTES_AT_ONCE:
                break
            batch.append(next_name)
        return batch


def content_of(stored: bytes) -> bytes | None:
    """A file's bytes, decompressed; None for an SQLite database. ValueError if they cannot be read."""
    return None if stored.startswith(MAGIC) else decompressed(stored)


def local_file(raw: Raw, name: str) -> Path:
    """The local path of a file. A file in object storage is fetched once per process."""
    return Copy.of(raw, name, os.getpid()).file if isinstance(raw, ObjectStore) else raw / name


class Copy:
    """An SQLite store from object storage with its logs, in a folder of this process alone."""

    def __init__(self, raw: ObjectStore, name: str) -> None:
        folder = Path(tempfile.mkdtemp(prefix="openclawbench-"))
        weakref.finalize(self, remove_folder, folder, os.getpid())
        self.file = folder / name.rpartition("/")[2]
        companions = {f"{name}{suffix}": self.file.with_name(self.file.name + suffix) for suffix in BESIDE}
        stored_names = raw.names(name.rpartition("/")[0])
        wanted = {name: self.file, **{value: path for value, path in companions.items() if path.name in stored_names}}
        raw.fetch(wanted, wanted.values())

    @staticmethod
    @lru_cache(maxsize=1)
    def of(raw: ObjectStore, name: str, process: int) -> "Copy":
        """The last copy is kept, because its sessions are read one by one."""
        return Copy(raw, name)


def run_manifest_at(data: DataFolder, raw: Raw, name: str) -> list[Path]:
    """The run manifest, plain and compressed, as files to open; empty if the raw folder has no manifest. One in object
    storage is copied to work/."""
    variants = packed_variants(name)
    if not isinstance(raw, ObjectStore):
        return [raw / variant for variant in variants if (raw / variant).exists()]
    copies = []
    for variant in variants:
        try:
            copies.append(data.keep_copy(f"raw-{variant}", raw.read(variant)))
        except FileNotFoundError:
            continue
    return copies


def is_there(raw: Raw) -> bool:
    """True for a folder, or a prefix with something below it. StorageError if the store does not answer."""
    return raw.exists() if isinstance(raw, ObjectStore) else raw.is_dir()
