"""Trajectory ids of files of one identity that disagree: made of their own content, so that they stay."""

import hashlib
from collections.abc import Sequence

DIGITS = 4  # hex digits of a suffix; more where they are taken


def divergent_ids(files: Sequence[tuple[str, Sequence[bytes]]]) -> list[str]:
    """The ids of files given as (id without a suffix, digests of records), none the beginning of another, in order.

    The first file of an id has it as it is; a later one adds `-<hex>`: the digest of its records up to the first that
    no file of that id before it has. Records appended to a session and files that stand later in the order change no
    id; one that comes to stand before others of its name can (own choice, see docs/why/decisions/).
    """
    ids: list[str] = []
    for position, (plain, records) in enumerate(files):
        before = [other for name, other in files[:position] if name == plain]
        ids.append(plain if not before else free_id(plain, own_beginning(records, before), ids))
    return ids


def own_beginning(records: Sequence[bytes], others: Sequence[Sequence[bytes]]) -> str:
    """Hex digest of the shortest beginning of a file's records that none of the others shares."""
    shared = max(common(records, other) for other in others)
    return hashlib.sha256(b"".join(records[: shared + 1])).hexdigest()


def common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many records two files share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def free_id(plain: str, digest: str, taken: Sequence[str]) -> str:
    """The id with as many digits of the digest as no other id has."""
    lengths = range(DIGITS, len(digest) + 1)
    return next(name for length in lengths if (name := f"{plain}-{digest[:length]}") not in taken)
