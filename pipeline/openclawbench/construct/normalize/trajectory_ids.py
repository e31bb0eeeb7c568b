"""Trajectory ids: copies of a session become one trajectory; sessions that share an identity but differ stay apart."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence

from openclawbench.base.session_names import copy_order, identity_digits
from openclawbench.construct.normalize.session_file import SessionFile, refuse, session_name
from openclawbench.records.oracle import SILENT_STATUSES
from openclawbench.sources.base import RecordDigests
from openclawbench.sources.io.jsonl import Fault

SUFFIX_DIGITS = 4  # hex digits of an id's suffix; more if the id is taken


def name_trajectories(files: list[SessionFile]) -> None:
    """Give each session its trajectory id: `<session name>.<h8 of its identity>`.

    Of files with one identity, a file whose records are a prefix of another file's is a copy of it. So is a file that
    differs only in what a repair of the file changes. Other files with that identity are divergent: each becomes a
    trajectory of its own, with a warning and an id from `divergent_ids`.
    """
    by_identity: dict[tuple[str, str], list[SessionFile]] = defaultdict(list)
    for file in files:
        assert file.session is not None
        by_identity[file.source_model, file.session.identity].append(file)
    for (_, identity), group in by_identity.items():
        originals, copies = separate_copies(group) if len(group) > 1 else (group, [])
        originals.sort(key=sort_key)
        plain_ids = [f"{session_name(file)}.{identity_digits(identity)}" for file in originals]
        records = [record_digests(file) for file in originals]
        for file, trajectory_id in zip(originals, divergent_ids(plain_ids, records), strict=True):
            file.trajectory_id = trajectory_id
            if len(originals) > 1:
                note_divergence(file, originals)
        for copy, original in copies:
            original.aliases |= {session_name(copy), *copy.aliases}
            copy.disposition = "copy"
            copy.trajectory_id = original.trajectory_id
            sentence = f"{place_of(copy)}: a copy of {place_of(original)}; the longest one is the trajectory."
            refuse(copy, "copy_of", None, sentence)
            merge_copy(original, copy)
    for file in files:
        if file.session is not None:
            file.session.record_digests = ()  # frees the file's bytes, which they may hold


def place_of(file: SessionFile) -> str:
    """The file, and the row of a table where it is one of several sessions there."""
    return f"{file.path}#{file.member}" if file.row is not None else file.path


def separate_copies(group: list[SessionFile]) -> tuple[list[SessionFile], list[tuple[SessionFile, SessionFile]]]:
    """(originals, (copy, its original) pairs) of the files with one identity."""
    longest_first = sorted(group, key=lambda file: (-len(record_digests(file)), *sort_key(file)))
    originals, copies = split_copies(longest_first, is_prefix)
    if len(originals) > 1:
        originals.sort(key=lambda file: (-len(lasting_digests(file)), -len(record_digests(file)), *sort_key(file)))
        originals, repaired = split_copies(originals, is_repaired_prefix)
        original_of = {id(copy): original for copy, original in repaired}
        copies = [(copy, original_of.get(id(original), original)) for copy, original in copies] + repaired
    return originals, copies


def split_copies(
    files: list[SessionFile], is_copy: Callable[[SessionFile, SessionFile], bool]
) -> tuple[list[SessionFile], list[tuple[SessionFile, SessionFile]]]:
    """(originals, (copy, its original) pairs). A copy goes to an original before it, preferably of its name."""
    originals: list[SessionFile] = []
    copies: list[tuple[SessionFile, SessionFile]] = []
    for file in files:
        longer = [original for original in originals if is_copy(file, original)]
        if longer:
            copies.append((file, min(longer, key=lambda original: session_name(original) != session_name(file))))
        else:
            originals.append(file)
    return originals, copies


def record_digests(file: SessionFile) -> Sequence[bytes]:
    """Digests of a session's records."""
    return file.session.record_digests if file.session else ()


def lasting_digests(file: SessionFile) -> Sequence[bytes]:
    """Digests of the records that a repair of the file in place does not change."""
    digests = record_digests(file)
    return digests.lasting if isinstance(digests, RecordDigests) else digests


def is_prefix(file: SessionFile, longer: SessionFile) -> bool:
    """True if the records of a file begin another: byte by byte, or else by their canonical JSON."""
    own, others = record_digests(file), record_digests(longer)
    if list(others[: len(own)]) == list(own):
        return True
    if not isinstance(own, RecordDigests) or not isinstance(others, RecordDigests):
        return False
    return others.canonical[: len(own)] == own.canonical


def is_repaired_prefix(file: SessionFile, longer: SessionFile) -> bool:
    """True if the lasting records of a file begin those of another: one of the two files was repaired."""
    own = lasting_digests(file)
    return list(lasting_digests(longer)[: len(own)]) == list(own)


def sort_key(file: SessionFile) -> tuple[int | str, ...]:
    """Sorts the files of one identity: the file that gives the trajectory its name comes first."""
    return copy_order(file.path, file.member, file.session.session_id if file.session else None)


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
