"""Trajectory ids: copies of a session become one trajectory; sessions that share an identity but differ stay apart."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from openclawbench.base.session_names import identity_digits
from openclawbench.construct.normalize.copies import (
    by_length,
    is_prefix,
    note_removed,
    record_digests,
    separate_copies,
    sort_key,
)
from openclawbench.construct.normalize.session_file import SessionFile, refuse, session_name
from openclawbench.records.oracle import SILENT_STATUSES
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.io.jsonl import Fault

SUFFIX_DIGITS = 4  # hex digits of an id's suffix; more if the id is taken


def name_trajectories(files: list[SessionFile], rules: NormalizeRules) -> None:
    """Give each session its trajectory id: `<session name>.<h8 of its identity>`.

    Of files with one identity, those that are states of one session (copies.py) are copies of the one that is the
    trajectory; the longest of all of them names it. Other files with that identity are divergent: each becomes a
    trajectory of its own, with a warning and an id from `divergent_ids`.
    """
    by_identity: dict[tuple[str, str], list[SessionFile]] = defaultdict(list)
    for file in files:
        assert file.session is not None
        by_identity[file.source_model, file.session.identity].append(file)
    for (_, identity), group in by_identity.items():
        originals, copies = separate_copies(group, rules) if len(group) > 1 else (group, [])
        for original in originals if copies else ():
            own = [original, *(copy for copy, of in copies if of is original)]
            original.aliases.add(session_name(original))
            original.name = session_name(min(own, key=by_length))
        originals.sort(key=sort_key)
        plain_ids = [f"{session_name(file)}.{identity_digits(identity)}" for file in originals]
        records = [record_digests(file) for file in originals]
        for file, trajectory_id in zip(originals, divergent_ids(plain_ids, records), strict=True):
            file.trajectory_id = trajectory_id
            if len(originals) > 1:
                note_divergence(file, originals)
        for copy, original in copies:
            original.aliases |= {session_name(copy), *copy.aliases}
            note_removed(original, copy)
            copy.disposition = "copy"
            copy.trajectory_id = original.trajectory_id
            which = "the longest one" if is_prefix(copy, original) else "the one that tells it to its latest end"
            sentence = f"{place_of(copy)}: a copy of {place_of(original)}; {which} is the trajectory."
            refuse(copy, "copy_of", None, sentence)
            merge_copy(original, copy)
    for file in files:
        if file.session is not None:
            file.session.record_digests = ()  # frees the file's bytes, which they may hold


def place_of(file: SessionFile) -> str:
    """The file, and the row of a table where it is one of several sessions there."""
    return f"{file.path}#{file.member}" if file.row is not None else file.path


def divergent_ids(plain_ids: Sequence[str], records: Sequence[Sequence[bytes]]) -> list[str]:
    """An id for each file, from its id without a suffix and the digests of its records.

    The first file with an id keeps it. A later one gets the suffix `-<hex>`: the digest of its records up to the first
    record that no earlier file with this id has. Records appended to a session and files added later in the order
    change no id; a file added earlier in the order can (own choice, docs/why/decisions/).
    """
    ids: list[str] = []
    for place, (plain_id, digests) in enumerate(zip(plain_ids, records, strict=True)):
        earlier = [records[other] for other in range(place) if plain_ids[other] == plain_id]
        if earlier:
            shared = max(shared_prefix_length(digests, other) for other in earlier)
            suffix = hashlib.sha256(b"".join(digests[: shared + 1])).hexdigest()
            candidates = (f"{plain_id}-{suffix[:length]}" for length in range(SUFFIX_DIGITS, len(suffix) + 1))
            ids.append(next(candidate for candidate in candidates if candidate not in ids))
        else:
            ids.append(plain_id)
    return ids


def shared_prefix_length(records: Sequence[bytes], others: Sequence[bytes]) -> int:
    """How many records two files share at their beginning."""
    pairs = enumerate(zip(records, others, strict=False))
    return next((place for place, (own, other) in pairs if own != other), min(len(records), len(others)))


def note_divergence(file: SessionFile, originals: list[SessionFile]) -> None:
    """Flag a file whose identity other files claim for other records, and warn about it."""
    assert file.session is not None
    file.divergent = True
    names = ", ".join(other.path for other in originals if other is not file)
    sentence = f"the same session as {names} by its header, with other records; each is a trajectory of its own"
    file.session.warnings.append(Fault("divergent", 1, sentence))


def merge_copy(original: SessionFile, copy: SessionFile) -> None:
    """Add what only the files around a copy say: an index, a store, an outcome, a lost head, a parent."""
    assert original.session is not None
    assert copy.session is not None
    former_count = len(original.session.outcomes)
    original.session.fill_from(copy.session)
    outcomes = [outcome for outcome in original.session.outcomes if outcome.get("status") not in SILENT_STATUSES]
    if len(original.session.outcomes) > former_count and len(outcomes) > 1:
        sentence = f"beside its copy {copy.path} another outcome lies than beside this file; neither is taken for true"
        original.session.warnings.append(Fault("differing_outcomes", 1, sentence))
    original.parent = original.parent or copy.parent
