"""What of a record is kept in memory while its neighbours are read: digests, and the columns that are counted."""

import hashlib
from dataclasses import dataclass
from typing import Any

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import Master, PositiveStructured
from openclawbench.records.tiers import STATUS_OF
from openclawbench.release.validate.files.lines import Line
from openclawbench.release.writer.render import POSITIVES_FILES


@dataclass(frozen=True)
class Slim:
    """A record of the master table; about 1 KB."""

    tier: str
    digest: bytes  # of its line
    positive: bytes | None  # of the line it owes to the positives of its label_status
    stages: dict[str, bytes | None]  # stage -> digest of its parsed answer
    basis: dict[str, Any]  # a LabelBasis row


def slim(line: Line[Master], basis: dict[str, Any]) -> Slim:
    """The slim form of a record and its line. `basis`: its LabelBasis row."""
    row, value = line.record, line.value
    owes = bool(row.is_anomalous) and STATUS_OF.get(row.quality_tier) in POSITIVES_FILES
    return Slim(
        tier=row.quality_tier,
        digest=hashlib.sha256(line.raw).digest(),
        positive=digest({name: value[name] for name in PositiveStructured.model_fields}) if owes else None,
        stages={name: None if answer is None else digest(answer) for name, answer in value["stages"].items()},
        basis=basis,
    )


def digest(value: Any) -> bytes:
    """sha256 of plain data in the form in which a release writes it."""
    return hashlib.sha256(canonical_json(value).encode()).digest()
