"""Values that may be too many for memory. The first of them are held; the others are in temporary files without a name,
which are gone with the process."""

import contextlib
import os
import pickle
import sqlite3
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO, Generic, TypeVar

VALUES_HELD = 8192  # of a list, or of all groups together, before they are written
KEYS_HELD = 100_000  # of a multimap: 30 MB
CACHE_KB = 32_768  # of a multimap's database

Value = TypeVar("Value")
Name = tuple[str, str]  # source model, and a name within it
Place = tuple[int, int]  # offset and length in the file


def close_quietly(file: BinaryIO) -> None:
    """Close a file that nobody reads any more; what it still had to write may find no room."""
    with contextlib.suppress(OSError):
        file.close()


class PickleFile:
    """Values, pickled one after the other in a file that is closed when this object is gone. `file`: None for a
    temporary one without a name, which is made for the first value."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.file: BinaryIO | None = None
        self.end = 0
        if file is not None:
            self.use(file)

    def use(self, file: BinaryIO) -> BinaryIO:
        """Use this file for the values that are written from now on."""
        self.file = file
        weakref.finalize(self, close_quietly, file)
        return file

    def write(self, value: Any) -> Place:
        """Append a value; returns where it is. OSError if it cannot be written."""
        file = self.file or self.use(tempfile.TemporaryFile())  # noqa: SIM115 (see the class)
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        try:
            file.write(content)
            file.flush()
        except OSError as error:
            raise OSError(f"{tempfile.gettempdir()}, the folder for temporary files: {error.strerror}") from error
        place = self.end, len(content)
        self.end += len(content)
        return place

    def packed(self, place: Place) -> bytes:
        """The pickled value at a place."""
        assert self.file is not None
        offset, length = place
        return os.pread(self.file.fileno(), length, offset)

    def read(self, place: Place) -> Any:
        """The value at a place, made anew each time."""
        return pickle.loads(self.packed(place))


class SpilledList(Collection[Value]):
    """Values in the order in which they were added. They can be iterated over any number of times."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self.written = PickleFile()
        self.places: list[Place] = []
        self.held: list[Value] = []
        self.length = 0
        for value in values:
            self.append(value)

    def append(self, value: Value) -> None:
        """Add a value."""
        self.held.append(value)
        self.length += 1
        if len(self.held) == VALUES_HELD:
            self.places.append(self.written.write(self.held))
            self.held = []

    def __iter__(self) -> Iterator[Value]:
        for place in self.places:
            yield from self.written.read(place)
        yield from self.held

    def __len__(self) -> int:
        return self.length

    def __contains__(self, value: object) -> bool:
        return any(value == own for own in self)


class SpilledGroups(Generic[Value]):
    """Group (a shard) -> its values in the order in which they were added. Groups are in the order of their first
    value."""

    def __init__(self) -> None:
        self.written = PickleFile()
        self.places: dict[int, list[Place]] = {}
        self.held: dict[int, list[Value]] = {}
        self.values_held = 0

    def add(self, group: int, value: Value) -> None:
        """Add a value to a group."""
        self.places.setdefault(group, [])
        self.held.setdefault(group, []).append(value)
        self.values_held += 1
        if self.values_held == VALUES_HELD:
            for of_group, values in self.held.items():
                self.places[of_group].append(self.written.write(values))
            self.held, self.values_held = {}, 0

    def __iter__(self) -> Iterator[int]:
        return iter(self.places)

    def __getitem__(self, group: int) -> list[Value]:
        """The values of a group, which are in memory together."""
        values: list[Value] = []
        for place in self.places[group]:
            values += self.written.read(place)
        return values + self.held.get(group, [])


class Multimap(Generic[Value]):
    """(source model, name) -> its distinct values, text or whole numbers, in the order in which they were added.

    Nearly every key has one value, and tuples take a third of the memory of sets. From KEYS_HELD keys on, all of them
    are in a database, where a look takes some 10 µs.
    """

    def __init__(self) -> None:
        self.held: dict[Name, tuple[Value, ...]] = {}
        self.database: sqlite3.Connection | None = None

    def add(self, key: Name, value: Value) -> bool:
        """Add a value to a key. False if the key has it already. OSError if it cannot be written."""
        if self.database is not None:
            with disk_errors():
                row = stored_key(key), stored(value)
                return self.database.execute("INSERT OR IGNORE INTO pairs VALUES (?, ?)", row).rowcount == 1
        values = self.held.get(key, ())
        if value in values:
            return False
        self.held[key] = (*values, value)
        if len(self.held) == KEYS_HELD:
            self.spill()
        return True

    def get(self, key: Name) -> tuple[Value, ...]:
        """The values of a key; empty if it has none."""
        if self.database is None:
            return self.held.get(key, ())
        with disk_errors():
            rows = self.database.execute("SELECT value FROM pairs WHERE key = ? ORDER BY rowid", (stored_key(key),))
            return tuple(restored(value) for (value,) in rows)

    def __contains__(self, key: Name) -> bool:
        return bool(self.get(key))

    def spill(self) -> None:
        """Move every key to a temporary database."""
        with disk_errors():
            self.database = unnamed_database()
            weakref.finalize(self, self.database.close)
            for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KB}"):
                self.database.execute(f"PRAGMA {setting}")
            self.database.execute("CREATE TABLE pairs (key BLOB, value, UNIQUE (key, value))")
            self.database.execute("BEGIN")
            pairs = ((stored_key(key), stored(value)) for key, values in self.held.items() for value in values)
            self.database.executemany("INSERT INTO pairs VALUES (?, ?)", pairs)
        self.held = {}


def unnamed_database() -> sqlite3.Connection:
    """A database in a file without a name, in the folder of other temporary files. SQLite's own are elsewhere."""
    with tempfile.NamedTemporaryFile() as file:
        database = sqlite3.connect(file.name, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA user_version = 1")  # opens the file, which is gone with its name
    return database


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """An error of a temporary database as the OSError that it comes from: no room, or no folder to write to."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(f"{tempfile.gettempdir()}, the folder for temporary files: {error}") from error


def stored_key(key: Name) -> bytes:
    """A key as bytes; the length of its first part keeps the parts apart."""
    return f"{len(key[0])}:{key[0]}{key[1]}".encode("utf-8", "surrogatepass")


def stored(value: object) -> object:
    """A value as a database holds it: text as bytes, since it may hold lone surrogates."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def restored(value: Value) -> Value:
    """A value as it was added."""
    text: Value = value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value  # type: ignore[assignment]
    return text
