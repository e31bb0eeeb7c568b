"""The saved scan: Parquet files with a row for each raw file, so that a run writes what has changed and no more.

`work/scan.parquet` has every file as it was when this table was written, in the order of paths;
`work/scan_changes.parquet` has those that were found new, changed or gone since. When they are many, both become one
table again. Columns: path; stamp (size, times, inode; null if there is none); content (a ScannedFile as MessagePack;
null for a file that is gone).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import polars as pl

from openclawbench.intake.raw_entry import ScannedFile, is_encodable
from openclawbench.intake.raw_folder import Stamp
from openclawbench.storage.data_folder import DataFolder, atomic_file
from openclawbench.storage.parquet_check import UNREADABLE

TABLE, CHANGES = "scan.parquet", "scan_changes.parquet"
FORMER = "scan.json"  # written by earlier versions
ROWS = 8192  # in memory at a time
MOST_CHANGED = 0.1  # largest share of the table's rows that may be in the changes (own choice)
SCAN_OF, TABLE_ID = "scan_of", "table_id"  # metadata: raw folder and version of the program; which table changes are of
COLUMNS = pl.Schema({"path": pl.String(), "stamp": pl.List(pl.Int64()), "content": pl.Binary()})
ENCODE, DECODE = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(ScannedFile).decode
Row = tuple[str, Stamp | None, bytes | None]
File = tuple[str, ScannedFile, ScannedFile | None]  # path, what is there now, what was there in the last scan


class SavedScan:
    """The last scan, compared with the files that are there now. It is empty if it is of another raw folder or program
    (`scan_of`), or cannot be read. `stamps`: of the files, in the order of paths."""

    def __init__(self, data: DataFolder, scan_of: str, stamps: dict[str, Stamp | None]) -> None:
        self.data, self.scan_of, self.stamps = data, scan_of, stamps
        self.table, self.changes = data.shared_file(TABLE), data.shared_file(CHANGES)
        self.table_id, self.height = "", 0
        self.changed: dict[str, Row] = {}  # rows of the changes
        self.unchanged: set[str] = set()  # files that have the stamp of the last scan
        self.gone: set[str] = set()
        self.present = 0  # files of the last scan that are there
        try:
            metadata = pl.read_parquet_metadata(self.table)
            if metadata.get(SCAN_OF) == scan_of:
                self.read(metadata[TABLE_ID])
        except UNREADABLE:  # not there, or damaged: every file is scanned again
            self.changed, self.unchanged, self.gone, self.present = {}, set(), set(), 0

    def read(self, table_id: str) -> None:
        """Compare the last scan with the files. Every column is read, so that damage shows here."""
        with suppress(*UNREADABLE):
            if pl.read_parquet_metadata(self.changes).get(TABLE_ID) == table_id:
                self.changed = {row[0]: row for row in rows_of(self.changes)}
        for row in rows_of(self.table):
            self.height += 1
            if row[0] not in self.changed:
                self.compare(row)
        for row in self.changed.values():
            if row[2] is not None:
                self.compare(row)
        self.table_id = table_id

    def compare(self, row: Row) -> None:
        """Note whether the file of a row is as it was, or gone."""
        path, stamp, _ = row
        if path not in self.stamps:
            self.gone.add(path)
            return
        self.present += 1
        if self.stamps[path] == stamp:
            self.unchanged.add(path)

    @property
    def same_names(self) -> bool:
        """True if no file has come or gone."""
        return not self.gone and self.present == len(self.stamps)

    def files(self) -> Iterator[tuple[str, ScannedFile | None]]:
        """Each file that is there now, in order, as it was in the last scan."""
        rows = rows_of(self.table) if self.table_id else iter(())
        row = next(rows, None)
        for path in self.stamps:
            while row is not None and order(row[0]) < order(path):
                row = next(rows, None)
            if path in self.changed:
                yield path, scanned_file(self.changed[path][2])
            else:
                yield path, scanned_file(row[2]) if row is not None and row[0] == path else None

    def saving(self, files: Iterable[File]) -> Iterator[File]:
        """The same files. After the last of them they are saved."""
        different = len(self.stamps) - len(self.unchanged) + len(self.gone) + len(self.changed)
        if not self.table_id or different > MOST_CHANGED * self.height:
            yield from self.rewriting(files)
            return
        rows = self.changed | {path: (path, None, None) for path in self.gone}
        for path, scanned, former in files:
            if scanned != former and is_encodable(path):
                rows[path] = (path, scanned.stamp, ENCODE(scanned))
            yield path, scanned, former
        if rows != self.changed:
            with writer(self.changes, self.scan_of, self.table_id) as add:
                for path in sorted(rows, key=order):
                    add(rows[path])
            self.data.share(self.changes)

    def rewriting(self, files: Iterable[File]) -> Iterator[File]:
        """The same files; a new table is written as they come."""
        with writer(self.table, self.scan_of) as add:
            for path, scanned, former in files:
                if is_encodable(path):
                    add((path, scanned.stamp, ENCODE(scanned)))
                yield path, scanned, former
        self.data.share(self.table)
        for name in (CHANGES, FORMER):
            (self.data.work / name).unlink(missing_ok=True)


@contextmanager
def writer(path: Path, scan_of: str, table_id: str | None = None) -> Iterator[Callable[[Row], None]]:
    """Gives the function that adds rows to a table; in the end the table replaces the file.

    `table_id`: None for the digest of the rows."""
    import pyarrow.parquet as pq

    kinds = pl.DataFrame(schema=COLUMNS).to_arrow().schema.with_metadata({SCAN_OF: scan_of})
    waiting: list[Row] = []
    digest = hashlib.sha256()

    with atomic_file(path) as file, pq.ParquetWriter(file, kinds, compression="zstd", compression_level=1) as table:

        def write() -> None:
            table.write_table(pl.DataFrame(waiting, COLUMNS, orient="row").to_arrow().cast(kinds))
            digest.update(msgspec.msgpack.encode(waiting))
            waiting.clear()

        def add(row: Row) -> None:
            waiting.append(row)
            if len(waiting) == ROWS:
                write()

        yield add
        write()
        table.add_key_value_metadata({TABLE_ID: table_id or digest.hexdigest()})


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a table, some in memory at a time."""
    table, start = pl.scan_parquet(path, glob=False), 0
    while (frame := table.slice(start, ROWS).collect()).height:
        yield from frame.iter_rows()
        start += ROWS


def scanned_file(content: bytes | None) -> ScannedFile | None:
    """A file of the last scan; None if it is missing or cannot be read."""
    try:
        return None if content is None else DECODE(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def order(path: str) -> str:
    """The sort key of a path: folder by folder, a folder's name before those that are longer."""
    return path.replace("/", "\0")
