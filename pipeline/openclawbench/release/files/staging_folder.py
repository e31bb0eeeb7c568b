"""A release being written, beside the current one in the data folder."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from openclawbench.storage.data_folder import TEMPORARY, DataFolder, sha256_file
from openclawbench.storage.parquet_io import sync_folder


class StagingFolder:
    """A release being written beside the current one; it replaces that one as a whole, or not at all."""

    def __init__(self, data: DataFolder) -> None:
        self.target = data.release
        self.root = data.root / f"{TEMPORARY}release"
        self.scratch = data.root / f"{TEMPORARY}release-scratch"  # files that steps pass on
        for folder in (self.root, self.scratch):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.streams: dict[str, BinaryIO] = {}

    def path(self, name: str) -> Path:
        """Path of a file of the new release; its folder is created."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def append(self, name: str, line: bytes) -> None:
        """Add one line to a file."""
        if name not in self.streams:
            self.streams[name] = self.path(name).open("wb")
        self.streams[name].write(line + b"\n")

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file."""
        self.path(name).write_bytes(content)

    def close_files(self) -> None:
        """Close the files that lines were added to, so that they can be read; they get no further lines."""
        for stream in self.streams.values():
            stream.close()
        self.streams.clear()

    def checksums(self) -> Iterator[tuple[str, str]]:
        """(sha256, path) of every file, in the order of paths."""
        paths = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        with ThreadPoolExecutor() as threads:  # hashing releases the interpreter lock
            for path, digest in zip(paths, threads.map(sha256_file, paths), strict=True):
                yield digest, path.relative_to(self.root).as_posix()

    def publish(self) -> None:
        """Sync every file of the new release to the disk and put it in the place of the former one."""
        self.close_files()
        for path in sorted(self.root.rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        former = self.target.with_name(f"{TEMPORARY}former-release")
        shutil.rmtree(former, ignore_errors=True)
        shutil.rmtree(self.scratch)
        if self.target.exists():
            self.target.rename(former)
        self.root.rename(self.target)
        sync_folder(self.target.parent)
        shutil.rmtree(former, ignore_errors=True)
