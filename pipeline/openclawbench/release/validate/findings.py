"""Findings: what is wrong with a release, collected with file and line and reported together (own choice)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

KEPT = 20  # findings of a check that are kept; the others are only counted
WHAT_TO_DO = {  # check -> what its findings mean and what to do
    "derived": "The stages give another value for the released texts and answers. Release again.",
    "splits": "The stage split gives other label files for the released records. Release again; never edit them.",
    "record_index": "A record's line is not the one that was released. Download the file again, or release again.",
    "rules": "Rules, their digests and their copies must agree. Release again; never edit rules in a release.",
    "listing": "jsonl_files.json must list the files of the model's tables. Download both again, or release again.",
    "inputs": "Each record has one input; each input has a record or a reason. Release again from all raw files.",
    "checksum": "The file differs from the one that was published. Download it again.",
    "file_missing": "The copy is incomplete. Download the file again, or release again.",
    "file_not_listed": "The file does not come from this release. Remove it, or release again.",
    "json": "The file is damaged or was edited. Download it again.",
    "schema": "The line does not have the published format. Download the file again, or release again.",
    "rewrite": "What is broken in the files above keeps the release from being written again. Mend it first.",
    "human": "A verdict must be as reviewers gave it, beside its record. Release again from the reviews.",
    "file_unknown": "The file is in no release of this content. Remove it, or release again.",
    "tiers": "Each record must be in the file of its tier, unchanged. Download the file again, or release again.",
    "positives": "The file must repeat the anomalous records of the master table. Release again.",
    "parquet": "Parquet and JSONL must hold the same rows. Download both again, or release again.",
    "statistics": "A published number does not follow from the released records. Release again.",
    "numbers": "A published number does not follow from the released records. Release again.",
    "identities": "Published figures contradict each other. Release again; never edit statistics.json.",
    "datapackage": "The provenance must describe this release. Release again; never edit datapackage.json.",
    "croissant": "The Croissant file must describe this release. Release again; never edit croissant.json.",
    "pictures": "A picture must show the published numbers. Release again, or download it again.",
    "card": "The card must describe this release. Release again; never edit the card by hand.",
    "text_key": "A key is published: revoke it, remove it from the source, and release again.",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `line` counts from 1; None if the finding is about the whole file."""

    check: str
    file: str
    line: int | None
    message: str


@dataclass
class Findings:
    """All findings. Counts are exact; of each check only KEPT findings are kept, so that memory is bounded."""

    kept: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)  # what was checked: files, lines, quotes …
    reported: list[dict[str, Any]] = field(default_factory=list)  # no faults: finds in text, by kind
    notes: list[str] = field(default_factory=list)  # no faults: what could not be compared, and why

    def add(self, check: str, file: str, message: str, line: int | None = None) -> None:
        """Count a finding, and keep it while the check has fewer than KEPT."""
        self.counts[check] += 1
        if self.counts[check] <= KEPT:
            self.kept.append(Finding(check, file, line, message))

    def absorb(self, other: "Findings") -> None:
        """What another part of the validation found, as if it had been found here."""
        kept = Counter(finding.check for finding in other.kept)
        for finding in other.kept:
            self.add(finding.check, finding.file, finding.message, finding.line)
        self.counts.update(other.counts - kept)
        self.checked.update(other.checked)
        self.reported += other.reported
        self.notes += other.notes

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.counts

    def as_data(self) -> dict[str, Any]:
        """Plain data for --json."""
        return {
            "valid": self.ok,
            "checked": dict(self.checked),
            "counts": dict(self.counts),
            "reported": self.reported,
            "notes": self.notes,
            "findings": [vars(finding) for finding in self.kept],
            "what_to_do": self.what_to_do(),
        }

    def what_to_do(self) -> dict[str, str]:
        """WHAT_TO_DO of the checks that have findings."""
        return {check: advice for check, advice in WHAT_TO_DO.items() if self.counts[check]}
