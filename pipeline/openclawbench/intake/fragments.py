"""Files without a header beside an archived session of their name: a program that was still at work when the session
was reset appended its last records to a new file of the old name."""

import json
from collections.abc import Collection, Iterable, Iterator

import msgspec

from openclawbench.base.session_names import basename, is_plain
from openclawbench.intake.lineage import family_identity
from openclawbench.intake.raw_entry import RawEntry
from openclawbench.sources.base import FAMILY, FRAGMENT
from openclawbench.storage.spilled_values import SpilledList

Place = tuple[str, str]  # source model, path without what follows the basename


def with_fragments(entries: Collection[RawEntry]) -> Collection[RawEntry]:
    """Entries, of which those that may be such a file are read together with the latest session of their name."""
    candidates = {place_of(entry) for entry in entries if may_be_fragment(entry)}
    if not candidates:
        return entries
    latest: dict[Place, tuple[str, str]] = {}  # -> path and identity
    for entry in entries:
        place = place_of(entry)
        if place in candidates and entry.session_id is not None and entry.member is None:
            latest[place] = max(latest.get(place, ("", "")), (entry.path, family_identity(entry)))
    return SpilledList(linked(entries, latest)) if latest else entries


def linked(entries: Iterable[RawEntry], latest: dict[Place, tuple[str, str]]) -> Iterator[RawEntry]:
    """The entries, with the family of those that may be the end of another file's session."""
    for entry in entries:
        if not may_be_fragment(entry) or place_of(entry) not in latest:
            yield entry
            continue
        context = json.loads(entry.context) if entry.context else {}
        context |= {FAMILY: latest[place_of(entry)][1], FRAGMENT: True}
        yield msgspec.structs.replace(entry, context=json.dumps(context, sort_keys=True, ensure_ascii=True))


def may_be_fragment(entry: RawEntry) -> bool:
    """True for a file that is named as a session and begins as no format does."""
    is_file = entry.member is None and entry.adapter is None and entry.sha256 is not None and entry.error is None
    return is_file and ".jsonl" in entry.path and is_plain(entry.path)


def place_of(entry: RawEntry) -> Place:
    """Where a file lies, by the name of its session."""
    return entry.source_model, f"{entry.path.rpartition('/')[0]}/{basename(entry.path)}"
