"""`openclawbench diff RELEASE_A RELEASE_B`: two releases read side by side, what differs counted by cause."""

import filecmp
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from openclawbench.release.diff.causes import KEY, SESSION, Prompts, causes, content_digest, only_stamps
from openclawbench.release.diff.fields import changed_fields
from openclawbench.release.diff.read import ReleaseLine, join_streams, models, records
from openclawbench.release.diff.splits import split_moves
from openclawbench.release.diff.tally import Tally
from openclawbench.release.provenance import NAME as PACKAGE
from openclawbench.release.record_key import Key

VERSIONS = ("rules_version", "schema_version", "judge", "judge_model")


class RuleDigest(msgspec.Struct):
    """A rule file in a data package."""

    file: str
    sha256: str


class PromptDigest(msgspec.Struct):
    """A prompt in a data package."""

    stage: str
    version: str
    sha256: str


class Origin(msgspec.Struct):
    """The parts of a data package's provenance that are compared. Its inputs, one per session, are not kept."""

    rules: list[RuleDigest]
    prompts: list[PromptDigest]


class Package(msgspec.Struct):
    """The parts of a data package that are compared."""

    provenance: Origin


PACKAGED = msgspec.json.Decoder(Package)
FROM_TO = ("label_from", "label_to", "tier_from", "tier_to")


@dataclass
class Diff:
    """Counts the differences while the records are read."""

    limit: int
    prompts: Prompts
    counts: Counter[str] = field(default_factory=Counter)
    versions: tuple[dict[str, Counter[str]], dict[str, Counter[str]]] = field(default_factory=lambda: ({}, {}))
    only_in: tuple[dict[bytes, list[Key]], dict[bytes, list[Key]]] = field(default_factory=lambda: ({}, {}))

    def __post_init__(self) -> None:
        self.changed = Tally(("cause",), self.limit)
        self.added = Tally(("cause",), self.limit)
        self.removed = Tally(("cause",), self.limit)
        self.called = Tally(("model_from", "model_to"), self.limit)
        self.flips = Tally(FROM_TO, self.limit)
        self.tiers = Tally(("tier_from", "tier_to"), self.limit)
        self.fields = Tally(("field",), self.limit)

    def take(self, before: ReleaseLine | None, after: ReleaseLine | None) -> None:
        """Count a record that one or both of the releases have."""
        for place, line in enumerate((before, after)):
            if line is not None:
                self.counts["a" if place == 0 else "b"] += 1
                self.note_versions(place, line)
        if before is not None and after is not None:
            self.compare(before, after)
            return
        for place, line in enumerate((before, after)):
            if line is not None:
                self.only_in[place].setdefault(content_digest(line.record()), []).append(line.key)

    def note_versions(self, place: int, line: ReleaseLine) -> None:
        """Count the versions and judges that made the record."""
        stamps, versions = line.head.provenance, self.versions[place]
        for name in VERSIONS:
            versions.setdefault(name, Counter())[getattr(stamps, name) or "none"] += 1
        for stage, version in stamps.prompt_versions.items():
            if version is not None:
                versions.setdefault(f"prompt {stage}", Counter())[version] += 1

    def compare(self, before: ReleaseLine, after: ReleaseLine) -> None:
        """Count a record that both have."""
        if before.raw == after.raw:
            self.counts["same"] += 1
            return
        old, new = before.record(), after.record()
        fields = changed_fields(old, new)
        why = causes(old, new, fields, self.prompts)
        for name in fields:
            self.fields.add((name,), after.key, why)
        if only_stamps(fields):
            self.counts["restamped"] += 1
            return
        self.changed.add((" + ".join(why),), after.key, why)
        labels, tiers = (label_of(old), label_of(new)), (old["quality_tier"], new["quality_tier"])
        if labels[0] != labels[1]:
            self.flips.add((*labels, *tiers), after.key, why)
        if tiers[0] != tiers[1]:
            self.tiers.add(tiers, after.key, why)

    def settle(self) -> None:
        """Count the records that only one release has: the same session under another key, or an added or removed
        one."""
        removed, added = self.only_in
        for digest in sorted(removed.keys() & added.keys()):
            for old, new in zip(removed[digest], added[digest], strict=False):
                self.called.add((old[0], new[0]), new, [KEY])
            paired = min(len(removed[digest]), len(added[digest]))
            removed[digest], added[digest] = removed[digest][paired:], added[digest][paired:]
        for tally, keys in ((self.removed, removed), (self.added, added)):
            for key in sorted(key for keys_of_side in keys.values() for key in keys_of_side):
                tally.add((SESSION,), key, [SESSION])


def diff(before: Path, after: Path, limit: int) -> dict[str, Any]:
    """Everything that differs, as plain data; `limit` examples of each row.

    Raises UsageError if a folder is not a release, and UnreadableInput if a line is not valid or lines are not sorted.
    """
    for root in (before, after):
        models(root)
    files = other_files(before, after)
    difference = Diff(limit, other_prompts(files["changed"]))
    for old, new in join_streams(records(before), records(after)):
        difference.take(old, new)
    difference.settle()
    names = ("a", "b", "same", "restamped")
    totals = {name: difference.counts[name] for name in names} | {
        "changed": difference.changed.total,
        "added": difference.added.total,
        "removed": difference.removed.total,
        "other_key": difference.called.total,
    }
    return {
        "releases": {
            name: {"path": str(root), "made_with": {field: dict(sorted(n.items())) for field, n in versions.items()}}
            for name, root, versions in (("a", before, difference.versions[0]), ("b", after, difference.versions[1]))
        },
        "identical": not any(files.values()),
        "records": totals,
        "changed": difference.changed.as_data(),
        "added": difference.added.as_data(),
        "removed": difference.removed.as_data(),
        "other_key": difference.called.as_data(),
        "label_flips": difference.flips.as_data(),
        "tier_moves": difference.tiers.as_data(),
        "split_moves": {cut: tally.as_data() for cut, tally in split_moves(before, after, limit).items()},
        "fields": difference.fields.as_data(),
        "files": files,
        "made_from": made_from_others(before, after),
    }


def made_from_others(before: Path, after: Path) -> dict[str, list[str]] | None:
    """Rule files and prompts (`<stage>/<version>`) that differ, by the data packages; None if one cannot be read."""
    try:
        origins = [PACKAGED.decode((root / PACKAGE).read_bytes()).provenance for root in (before, after)]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    rules = [{rule.file: rule.sha256 for rule in origin.rules} for origin in origins]
    prompts = [{f"{prompt.stage}/{prompt.version}": prompt.sha256 for prompt in origin.prompts} for origin in origins]
    pairs = {"rules": rules, "prompts": prompts}
    return {name: sorted({item[0] for item in old.items() ^ new.items()}) for name, (old, new) in pairs.items()}


def label_of(record: dict[str, Any]) -> str:
    """normal, the subtype, `anomalous` without a subtype, or `undecided`."""
    if record["is_anomalous"] is None:
        return "undecided"
    return str(record["anomaly_type_l2"] or "anomalous") if record["is_anomalous"] else "normal"


def other_files(before: Path, after: Path) -> dict[str, list[str]]:
    """Files that only one release has, and files whose bytes differ."""
    old, new = (
        {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()} for root in (before, after)
    )
    differ = [name for name in sorted(old & new) if not filecmp.cmp(before / name, after / name, shallow=False)]
    return {"added": sorted(new - old), "removed": sorted(old - new), "changed": differ}


def other_prompts(changed: list[str]) -> Prompts:
    """`<stage>/<version>`, as records name them, of the prompts whose texts (prompts/<stage>/<version>.md) differ."""
    names = [name for name in changed if name.startswith("prompts/") and name.endswith(".md")]
    return {name.removeprefix("prompts/").removesuffix(".md") for name in names}
