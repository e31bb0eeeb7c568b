"""What is wrong with a release: collected with its place, reported together (own choice)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

KEPT = 20  # findings of one check that are kept whole; the others are counted
WHAT_TO_DO = {  # of checks whose finding names two values: which of them to believe
    "derived": "The stages, over the released texts and answers, give another value. Release again.",
    "splits": "The stage split, over the released records, cuts otherwise. Release again; edit no label file by hand.",
    "record_index": "A record's line is not the one that was released. Fetch the file again, or release again.",
    "rules": "Rules, digests and copies of them must be those in force. Release again; edit none of them in a release.",
    "inputs": "Records and inputs must be each other's. Release again from the whole raw folder.",
    "text_key": "A key is in the open: revoke it, take it out of the source, and release again.",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `line` counts from 1; null where the file as a whole is meant."""

    check: str
    file: str
    line: int | None
    message: str


@dataclass
class Findings:
    """All of them: counts are exact, the texts of each check are kept up to a limit, so that memory is bounded."""

    kept: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)  # what was looked at: files, lines, quotes …
    reported: list[dict[str, Any]] = field(default_factory=list)  # to know of, and no fault: finds in text, by kind

    def add(self, check: str, file: str, message: str, line: int | None = None) -> None:
        """Count a finding; keep it where the check has few."""
        self.counts[check] += 1
        if self.counts[check] <= KEPT:
            self.kept.append(Finding(check, file, line, message))

    @property
    def ok(self) -> bool:
        """True where nothing is wrong."""
        return not self.counts

    def as_data(self) -> dict[str, Any]:
        """Plain data for --json."""
        return {
            "valid": self.ok,
            "checked": dict(self.checked),
            "counts": dict(self.counts),
            "reported": self.reported,
            "findings": [vars(one) for one in self.kept],
            "what_to_do": self.what_to_do(),
        }

    def what_to_do(self) -> dict[str, str]:
        """What to do about the checks that found something, where it is not plain from the finding."""
        return {check: said for check, said in WHAT_TO_DO.items() if self.counts[check]}
