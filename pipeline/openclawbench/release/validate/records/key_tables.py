"""Tables by key in a temporary SQLite file: what validation knows of each record, without holding it in memory.

Keys come back in ascending order of (source_model, trajectory_id), as Python compares them.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from openclawbench.release.record_key import Key

V = TypeVar("V")
CACHE_KB = 16_000  # pages that SQLite keeps in memory
COLUMNS = "model TEXT, id TEXT, content BLOB, PRIMARY KEY (model, id)"


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database that need not outlive this validation: nothing is synced, nothing can be rolled back."""
    with closing(sqlite3.connect(path)) as connection:
        for setting in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "locking_mode = NORMAL",
            f"cache_size = -{CACHE_KB}",
        ):
            connection.execute(f"PRAGMA {setting}")
        yield connection
        connection.commit()


class KeyTable(Mapping[Key, V], Generic[V]):
    """A mapping from keys to values; a later value of a key replaces the former one."""

    def __init__(
        self, connection: sqlite3.Connection, name: str, encode: Callable[[V], bytes], decode: Callable[[bytes], V]
    ) -> None:
        self.connection, self.name, self.encode, self.decode = connection, name, encode, decode
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({COLUMNS}) WITHOUT ROWID")
        self.find = f"SELECT content FROM {name} WHERE model = ? AND id = ?"
        self.exists = f"SELECT 1 FROM {name} WHERE model = ? AND id = ?"
        self.put = f"INSERT OR REPLACE INTO {name} VALUES (?, ?, ?)"

    def __setitem__(self, key: Key, value: V) -> None:
        self.connection.execute(self.put, (*key, self.encode(value)))

    def __getitem__(self, key: Key) -> V:
        row = self.connection.execute(self.find, key).fetchone()
        if row is None:
            raise KeyError(key)
        return self.decode(row[0])

    def __contains__(self, key: object) -> bool:
        return self.connection.execute(self.exists, key).fetchone() is not None  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Key]:
        yield from self.connection.execute(f"SELECT model, id FROM {self.name} ORDER BY model, id")

    def __len__(self) -> int:
        return int(self.connection.execute(f"SELECT count(*) FROM {self.name}").fetchone()[0])

    def rows(self) -> Iterator[tuple[Key, V]]:
        """Every key with its value."""
        for model, name, content in self.connection.execute(f"SELECT * FROM {self.name} ORDER BY model, id"):
            yield (model, name), self.decode(content)

    def of(self, keys: Iterable[Key]) -> dict[Key, V]:
        """The values of those keys that have one."""
        return {key: value for key in keys if (value := self.get(key)) is not None}

    def take_from(self, path: Path) -> None:
        """The rows of the same table in another file, which replace those that are here."""
        self.connection.commit()
        self.connection.execute("ATTACH ? AS other", (str(path),))
        self.connection.execute(f"INSERT OR REPLACE INTO {self.name} SELECT * FROM other.{self.name}")
        self.connection.commit()
        self.connection.execute("DETACH other")


class KeyCounts(KeyTable[int]):
    """How often each key was added."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        super().__init__(connection, name, lambda count: b"%d" % count, int)

    @classmethod
    def emptied(cls, connection: sqlite3.Connection, name: str) -> "KeyCounts":
        """The table of that name, without what another check has counted there."""
        counts = cls(connection, name)
        counts.clear()
        return counts

    def add(self, key: Key) -> int:
        """Count a key, and return how often it was counted before."""
        before = self.get(key, 0)
        self[key] = before + 1
        return before

    def update(self, keys: Iterable[Key]) -> None:
        """Count each of these keys."""
        for key in keys:
            self.add(key)

    def clear(self) -> None:
        """Forget every key."""
        self.connection.execute(f"DELETE FROM {self.name}")


def missing_keys(keys: Iterable[Key], others: Mapping[Key, object]) -> Iterator[Key]:
    """The keys that another table lacks, in their order."""
    return (key for key in keys if key not in others)


def side_by_side(first: Iterable[Key], other: Iterable[Key]) -> Iterator[tuple[Key, bool, bool]]:
    """Each key of two ascending iterables once, and which of them have it."""
    lefts, rights = iter(first), iter(other)
    left, right = next(lefts, None), next(rights, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left < right):
            assert left is not None
            yield left, True, False
            left = next(lefts, None)
        elif left is None or right < left:
            yield right, False, True
            right = next(rights, None)
        else:
            yield left, True, True
            left, right = next(lefts, None), next(rights, None)
