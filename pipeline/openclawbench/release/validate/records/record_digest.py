"""What validation keeps of each record: digests of its lines, and the columns of its label."""

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Any

import msgspec

from openclawbench.base.canonical_json import canonical_json
from openclawbench.release.validate.lines import Line
from openclawbench.release.validate.records.key_tables import KeyTable


@dataclass(frozen=True)
class RecordDigest:
    """A record of the master table; about 1 KB."""

    tier: str | None  # None: nobody judged it
    digest: bytes  # of its line
    stages: dict[str, bytes | None]  # stage -> digest of its parsed answer
    basis: dict[str, Any]  # a LabelBasis row


Records = KeyTable[RecordDigest]


def records_in(connection: sqlite3.Connection) -> Records:
    """The table of the records in a temporary database."""
    decoder = msgspec.msgpack.Decoder(tuple[str | None, bytes, dict[str, bytes | None], dict[str, Any]])
    encoder = msgspec.msgpack.Encoder()
    return KeyTable(
        connection,
        "records",
        lambda row: encoder.encode((row.tier, row.digest, row.stages, row.basis)),
        lambda content: RecordDigest(*decoder.decode(content)),
    )


def digest_record(line: Line, basis: dict[str, Any]) -> RecordDigest:
    """The digest of a record's line. `basis`: its LabelBasis row."""
    value = line.value
    return RecordDigest(
        tier=value["quality_tier"],
        digest=hashlib.sha256(line.raw).digest(),
        stages={name: None if answer is None else digest(answer) for name, answer in value["stages"].items()},
        basis=basis,
    )


def digest(value: Any) -> bytes:
    """sha256 of plain data as canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).digest()
