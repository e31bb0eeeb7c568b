"""Sessions that continue others: these are read first, and what was copied from them is theirs."""

import json
from collections import defaultdict
from typing import Any

import msgspec

from openclawbench.construct.normalize.session_file import SessionFile
from openclawbench.sources.base import CONTINUES, KNOWN, RecordDigests

Key = tuple[str, str]  # source model, identity


class Named(msgspec.Struct, gc=False):
    """A record; only its id is read."""

    id: Any = None


NAMED = msgspec.json.Decoder(Named)


class Continued:
    """Which sessions of a shard continue others, and the ids of the records of those that are continued."""

    def __init__(self, rows: list[tuple[str, str, str | None]]) -> None:
        """`rows`: source model, identity and context of each file."""
        self.former: list[Key | None] = [former_of(model, context) for model, _, context in rows]
        self.keys: list[Key] = [(model, identity) for model, identity, _ in rows]
        self.continued = {former for former in self.former if former is not None}
        self.known: dict[Key, set[str]] = defaultdict(set)

    def order(self) -> list[int]:
        """The places of the files, each behind those of the session that it continues."""
        order: list[int] = []
        waiting = list(range(len(self.keys)))
        while waiting:
            keys = {self.keys[at] for at in waiting}
            ready = [at for at in waiting if self.former[at] not in keys or self.former[at] == self.keys[at]]
            order += ready or waiting  # a circle: none can be first
            waiting = [at for at in waiting if at not in set(ready)] if ready else []
        return order

    def context_of(self, at: int, context: dict[str, Any]) -> dict[str, Any]:
        """The context of a file, with the ids of the records of the session that it continues."""
        former = self.former[at]
        return context if former is None or former not in self.known else context | {KNOWN: self.known[former]}

    def note(self, at: int, file: SessionFile) -> None:
        """Note the records of a session that another one continues."""
        digests = file.session.record_digests if file.session else None
        if self.keys[at] in self.continued and isinstance(digests, RecordDigests):
            ids = (id_in(record) for record in digests.records())
            self.known[self.keys[at]].update(name for name in ids if name is not None)

    def link(self, files: list[SessionFile]) -> None:
        """Name the trajectory that each one continues that begins with records of it. `files` have their ids."""
        ids: dict[Key, set[str]] = defaultdict(set)
        for file in files:
            if file.disposition == "trajectory" and file.trajectory_id is not None:
                ids[file.source_model, file.identity].add(file.trajectory_id)
        for file in files:
            former = ids.get((file.source_model, file.continues or ""), set())
            copied = file.session is not None and file.session.copied_records > 0
            file.continues = next(iter(former)) if copied and len(former) == 1 else None


def former_of(model: str, context: str | None) -> Key | None:
    """The session that a file continues."""
    if context is None or CONTINUES not in context:
        return None
    identity = json.loads(context).get(CONTINUES)
    return None if identity is None else (model, identity)


def id_in(record: bytes) -> str | None:
    """The id of a record."""
    try:
        name = NAMED.decode(record).id
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if name is None else str(name)
