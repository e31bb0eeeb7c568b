"""The data folder: the only module that writes under it. Parts are named by shard and key, written under a temporary
name, synced and renamed, so that a kill at any moment leaves whole files or none."""

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from openclawbench.errors import DataFolderLocked, UnreadableInput, UsageError
from openclawbench.storage import append_log, review_store
from openclawbench.storage import parquet_check as damaged
from openclawbench.storage.file_lock import file_lock
from openclawbench.storage.object_store import ObjectStore
from openclawbench.storage.parquet_io import sync_folder, write_parquet
from openclawbench.tables.inherited_columns import drop_inherited, origins_metadata, read_origin_keys, restore_inherited
from openclawbench.tables.record import Record
from openclawbench.tables.schema import StreamedTable, conform, empty, schema

TEMPORARY = ".tmp-"
SHARDS_FILE = "shards.json"  # in object storage: the number of shards of its parts


def temporary_name(name: str) -> str:
    """A name that no other process uses, on this machine or on another that shares the folder."""
    return f"{TEMPORARY}{uuid.uuid4().hex[:12]}-{name}"


def part_name(shard: int | str, key: str) -> str:
    """File name of a part."""
    return f"{shard:0>4}-{key}.parquet"


def write_atomic(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file whole or not at all."""
    with atomic_file(path) as file:
        for chunk in chunks:
            file.write(chunk)


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which is there whole or not at all: temporary name, fsync, rename, fsync of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name(path.name))
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sha256_file(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """A JSON file; null if it does not exist or is incomplete (it is then made again)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people to read, written whole."""
    write_atomic(path, [json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"])


def write_streamed(table: StreamedTable, record: type[Record], file: BinaryIO) -> None:
    """A very large table as Parquet, a row group a plan. (Polars' own sink has some hundred MB under way meanwhile.)"""
    import pyarrow.parquet as pq

    kinds = empty(record).to_arrow().schema
    with pq.ParquetWriter(file, kinds, compression="zstd", compression_level=1) as writer:
        for plan in table.plans:
            writer.write_table(conform(plan.collect(), record).to_arrow())


def table_name(record: type[Record]) -> str:
    """Folder name of a record's table: StepRisk -> step_risk."""
    name = record.__name__
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name)).replace("_b_", "_b")


class DataFolder:
    """`--data DIR`: raw/ oracle/ work/ ledger/ review/ release/ below one root.

    With `remote` the parts of tables are in object storage, and work/ holds those that this machine made or read: they
    are named by their key, so a copy is never out of date.
    """

    def __init__(self, root: Path, remote: ObjectStore | None = None) -> None:
        self.root = root
        self.remote = remote
        self.work = root / "work"
        self.release = root / "release"
        self.ledger = root / "ledger"

    @property
    def layout_file(self) -> Path:
        return self.work / "layout.json"

    def layout(self) -> dict[str, Any]:
        """Number of shards (fixed for the life of the folder) and the last paths of the inputs; empty when new."""
        content = read_json(self.layout_file)
        return content if isinstance(content, dict) else {}

    def fixed_shards(self, count: int, save: bool) -> int:
        """The number of shards of the parts in object storage; if none is fixed yet, this number, which `save` fixes
        for all machines."""
        if self.remote is None:
            return count
        with contextlib.suppress(FileNotFoundError):
            return int(json.loads(self.remote.read(SHARDS_FILE))["shards"])
        if not save or self.remote.create(SHARDS_FILE, json.dumps({"shards": count}).encode()):
            return count
        return self.fixed_shards(count, save)

    def save_layout(self, layout: dict[str, Any]) -> None:
        if layout != self.layout():
            write_json(self.layout_file, layout)

    def table(self, record: type[Record]) -> Path:
        """Folder of a table's parts on this machine."""
        return self.work / table_name(record)

    def parts(self, record: type[Record], parts: Mapping[int | str, str]) -> dict[int | str, Path]:
        """Shard -> path of its part: work/<table>/<shard>-<key>.parquet. Parts that are only in object storage are
        fetched, several at a time. `parts`: shard -> key."""
        paths = {shard: self.table(record) / part_name(shard, key) for shard, key in parts.items()}
        self.fetch([*paths.values()])
        return paths

    def present(self, record: type[Record]) -> set[str]:
        """Names of the existing parts of a table, up to date or not."""
        if self.remote is not None:
            return self.remote.names(f"work/{table_name(record)}")
        try:
            with os.scandir(self.table(record)) as entries:
                return {entry.name for entry in entries if not entry.name.startswith(TEMPORARY)}
        except FileNotFoundError:
            return set()

    def write_part(
        self,
        record: type[Record],
        shard: int | str,
        key: str,
        frame: pl.DataFrame | StreamedTable,
        origins: Mapping[type[Record], str] | None = None,
    ) -> None:
        """Write one part durably. In object storage it exists once it has been put as a whole. `origins`: keys of the
        parts whose columns it inherits; without, it holds these columns itself."""
        path = self.table(record) / part_name(shard, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(temporary_name(path.name))
        try:
            with temporary.open("wb") as file:
                if isinstance(frame, StreamedTable):
                    write_streamed(frame, record, file)
                else:
                    written, metadata = frame, None
                    if origins and record.INHERITED:
                        written = drop_inherited(frame, record.INHERITED)
                        metadata = origins_metadata({origin.__name__: digests for origin, digests in origins.items()})
                    options = {"row_group_size": record.ROWS_AT_ONCE, "metadata": metadata}
                    # No query uses the least and the greatest value of a part, and they take a sixth of writing it.
                    write_parquet(written, path, file, compression_level=1, statistics=False, **options)
                file.flush()
                os.fsync(file.fileno())
            if self.remote is not None:
                self.remote.put(temporary, self.name(path))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    def name(self, path: Path) -> str:
        """The name of a file in object storage: its path below the data folder."""
        return path.relative_to(self.root).as_posix()

    def fetch(self, paths: list[Path]) -> None:
        """Fetch the parts that this machine does not have; a part that exists nowhere fails when it is opened."""
        if self.remote is None or not (wanted := [path for path in paths if not path.exists()]):
            return
        held = [path.with_name(temporary_name(path.name)) for path in wanted]
        for folder in {path.parent for path in held}:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            self.remote.fetch([self.name(path) for path in wanted], held)
            for temporary, path in zip(held, wanted, strict=True):
                temporary.replace(path)
        finally:
            for temporary in held:
                temporary.unlink(missing_ok=True)

    def scan(self, record: type[Record], parts: dict[int | str, str], paths: str | None = None) -> pl.LazyFrame:
        """The table made of these parts (shard -> key), in the order of shards; an empty table without parts.

        `paths` names a further column with the path of a row's part.
        """
        damaged.READ[self.root] = None
        if record.INHERITED is None or not parts:
            return self.written(record, parts, paths)
        self.fetch([self.table(record) / part_name(shard, key) for shard, key in parts.items()])
        origins = self.origins(record, parts)
        ordered = sorted(parts.items(), key=lambda item: str(item[0]))
        return pl.concat(self.complete_part(record, {shard: key}, origins.get(shard), paths) for shard, key in ordered)

    def complete_part(
        self,
        record: type[Record],
        part: dict[int | str, str],
        origins: dict[type[Record], str] | None,
        paths: str | None,
    ) -> pl.LazyFrame:
        """One part, with the columns that it inherits from others."""
        written, (shard,) = self.written(record, part, paths), part
        if record.INHERITED is None or origins is None:
            return written
        lent = [self.scan(origin, {shard: key}) for origin, key in origins.items()]
        return restore_inherited(written, lent, record.INHERITED)

    def origins(self, record: type[Record], parts: dict[int | str, str]) -> dict[int | str, dict[type[Record], str]]:
        """The keys of the parts from which each of these parts inherits columns, in the order in which they are joined.
        All of them are fetched. Raises UnreadableInput if one is gone."""
        if record.INHERITED is None:
            return {}
        named = {shard: read_origin_keys(self.table(record) / part_name(shard, key)) for shard, key in parts.items()}
        origins: dict[int | str, dict[type[Record], str]] = {shard: {} for shard, keys in named.items() if keys}
        for origin in record.INHERITED.origins:
            lent = {shard: named[shard][origin.__name__] for shard in origins}
            self.fetch([self.table(origin) / part_name(shard, key) for shard, key in lent.items()])
            for shard, key in lent.items():
                origins[shard][origin] = key
                if not (file := self.table(origin) / part_name(shard, key)).exists():
                    raise UnreadableInput(
                        f"{file}: is gone, and the {table_name(record)} has columns from there. Run "
                        f"`openclawbench run --data {self.root}`: what is gone is made again."
                    )
            self.origins(origin, lent)
        return origins

    def written(self, record: type[Record], parts: dict[int | str, str], paths: str | None = None) -> pl.LazyFrame:
        """The stored content of these parts: None if a value is inherited (`inherited_columns.py`)."""
        ordered = sorted(parts.items(), key=lambda item: str(item[0]))
        files = [self.table(record) / part_name(shard, key) for shard, key in ordered]
        self.fetch(files)
        return (
            pl.scan_parquet(files, glob=False, include_file_paths=paths)
            if files
            else pl.LazyFrame(schema=schema(record))
        )

    def rows(self, record: type[Record], parts: dict[int | str, str]) -> int:
        """The number of rows of these parts."""
        damaged.READ[self.root] = None
        return int(self.written(record, parts).select(pl.len()).collect().item())

    def sweep(self, record: type[Record], parts: dict[int | str, str]) -> None:
        """Remove parts that no shard has any more, and temporary files that a kill left behind."""
        alive = {part_name(shard, key) for shard, key in parts.items()}
        folder = self.table(record)
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path.name not in alive:
                path.unlink(missing_ok=True)
        if self.remote is not None and (dead := self.present(record) - alive):
            self.remote.remove(f"work/{table_name(record)}/{name}" for name in sorted(dead))

    def shared_file(self, name: str) -> Path:
        """A file of work/ that other machines may have put into object storage, fetched if this machine does not have
        it."""
        path = self.work / name
        if self.remote is not None and not path.exists():
            with contextlib.suppress(FileNotFoundError):
                write_atomic(path, [self.remote.read(self.name(path))])
        return path

    def share(self, path: Path) -> None:
        """Put a file of work/ into object storage for other machines."""
        if self.remote is not None:
            self.remote.put(path, self.name(path))

    def keep_copy(self, name: str, content: bytes) -> Path:
        """A file of work/ with this content, written if it differs."""
        path = self.work / name
        if not path.exists() or path.read_bytes() != content:
            write_atomic(path, [content])
        return path

    def report_folder(self, name: str) -> Path:
        return self.work / "reports" / name

    def write_report(self, name: str, files: dict[str, bytes]) -> Path:
        """Write a report's files (name -> bytes), each whole or not at all, and remove what else is in its folder."""
        folder = self.report_folder(name)
        for file, content in files.items():
            write_atomic(folder / file, [content])
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if path.name not in files:
                path.unlink()
        return folder

    def review_file(self, name: str) -> Path:
        return self.root / "review" / name

    def review_files(self, pattern: str) -> list[Path]:
        """Files below review/ in the order of names."""
        return sorted((self.root / "review").glob(pattern))

    def append_review(self, name: str, lines: Iterable[bytes], sync: bool = True) -> None:
        """Append lines to a file below review/; existing lines stay as they are and are not written again. Without
        `sync` a power failure may take them."""
        append_log.append(self.review_file(name), lines, sync)

    def reviewing(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of review/, which is independent of runs. Raises DataFolderLocked."""
        return review_store.reviewing(self.root / "review")

    def write_review(self, name: str, content: bytes) -> bool:
        """Write a new file below review/; false if it exists with this content. A file that a person may have filled in
        is never overwritten: raises UsageError if its content differs."""
        path = self.review_file(name)
        if not path.exists():
            write_atomic(path, [content])
            return True
        if path.read_bytes() != content:
            raise UsageError(f"{path}: is there already, and may be filled in. Move it away, or take another --seed.")
        return False

    def replace_review(self, name: str, content: bytes) -> None:
        """Write a file below review/ that no person fills in, whole or not at all."""
        write_atomic(self.review_file(name), [content])

    def failure_file(self, stage: str, shard: int | str) -> Path:
        return self.work / "failed" / f"{stage}-{shard}.json"

    def note_failure(self, stage: str, shard: int | str, key: str, error: str) -> None:
        """Note why a shard of a stage failed; the note is valid for this key only."""
        write_json(self.failure_file(stage, shard), {"stage": stage, "shard": shard, "key": key, "error": error})

    def forget_failure(self, stage: str, shard: int | str) -> None:
        """Remove the note of why a shard of a stage failed: the shard has been redone."""
        self.failure_file(stage, shard).unlink(missing_ok=True)

    def failures(self) -> list[dict[str, Any]]:
        """The notes on failed shards: {stage, shard, key, error}, in the order of names."""
        records = [read_json(path) for path in sorted((self.work / "failed").glob("*.json"))]
        return [record for record in records if isinstance(record, dict)]

    @property
    def running(self) -> Path:
        """Folder in which runs note what they are working on."""
        return self.work / "running"

    @property
    def code_file(self) -> Path:
        """File with the parsed modules of the program, so that the next command need not parse them again."""
        return self.work / "code.json"

    def manifest_file(self, stage: str) -> Path:
        return self.work / "manifests" / f"{stage}.json"

    @contextlib.contextmanager
    def locked(self, share: bool = False) -> Iterator[None]:
        """One run at a time writes to a data folder, or any number of runs over shards of it. DataFolderLocked."""
        held = DataFolderLocked(f"{self.root}: another run is writing here. Wait for it to end.")
        with file_lock(self.work / ".lock", self.root, held, UnreadableInput, "Name another --data.", shared=share):
            if not share:
                self.sweep_temporary()
            yield

    def sweep_temporary(self) -> None:
        """Remove incomplete files of a killed run and damaged parts; no other process writes while the folder is
        locked."""
        for part in damaged.torn(self.work):
            part.unlink()
        for folder in (self.work, self.work / "manifests", self.work / "failed"):
            for path in folder.glob(f"{TEMPORARY}*"):
                path.unlink()
        for path in self.root.glob(f"{TEMPORARY}*"):
            shutil.rmtree(path)
        shutil.rmtree(self.running, ignore_errors=True)
