"""Which files of one identity are one session: copies, backups, and what a program left when it wrote a file anew.

Only a session that was written on from one point on both sides, with messages of the model on each, is two."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from openclawbench.base.session_names import copy_order
from openclawbench.construct.normalize.session_file import SessionFile, session_name
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.base import History, RecordDigests, Told
from openclawbench.sources.io.jsonl import Fault

PARTS = {"model": "message", "result": "result", "user": "turn", "program": "turn"}  # of a removed record, by its kind
Copy = tuple[SessionFile, SessionFile]  # a copy, and what it is a copy of


def separate_copies(group: list[SessionFile], rules: NormalizeRules) -> tuple[list[SessionFile], list[Copy]]:
    """(originals, (copy, its original) pairs) of the files with one identity.

    A file whose records are a prefix of another's is a copy of it. Of files that tell different things the one with the
    latest end is the session; the others are copies where they show an earlier state of it.
    """
    originals, copies = split_copies(sorted(group, key=by_length), is_prefix)
    if len(originals) > 1 and all(history(file) is not None for file in originals):
        originals.sort(key=sort_key)
        originals.sort(key=extent, reverse=True)
        originals, former = split_copies(originals, lambda file, later: is_former(file, later, rules))
        original_of = {id(copy): original for copy, original in former}
        copies = [(copy, original_of.get(id(original), original)) for copy, original in copies] + former
    return originals, copies


def split_copies(
    files: list[SessionFile], is_copy: Callable[[SessionFile, SessionFile], bool]
) -> tuple[list[SessionFile], list[Copy]]:
    """(originals, (copy, its original) pairs). A copy goes to an original before it, preferably of its name."""
    originals: list[SessionFile] = []
    copies: list[Copy] = []
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


def history(file: SessionFile) -> History | None:
    """What a file tells of its session, if its format says that."""
    digests = record_digests(file)
    return digests.history if isinstance(digests, RecordDigests) else None


def sort_key(file: SessionFile) -> tuple[int | str, ...]:
    """Sorts the files of one identity: the file that gives the trajectory its name comes first."""
    return copy_order(file.path, file.member, file.session.session_id if file.session else None)


def by_length(file: SessionFile) -> tuple[int | str, ...]:
    """Sorts the files of one identity: the one with the most records first."""
    return -len(record_digests(file)), *sort_key(file)


def extent(file: SessionFile) -> tuple[str, int, int, int]:
    """Sorts the states of one session: when it ends, messages of the model, what it tells, records."""
    own = history(file)
    assert own is not None
    return own.end, sum(record.kind == "model" for record in own.active), len(own.active), len(record_digests(file))


def is_prefix(file: SessionFile, longer: SessionFile) -> bool:
    """True if the records of a file begin another: byte by byte, or else by their canonical JSON."""
    own, others = record_digests(file), record_digests(longer)
    if list(others[: len(own)]) == list(own):
        return True
    if not isinstance(own, RecordDigests) or not isinstance(others, RecordDigests):
        return False
    return others.canonical[: len(own)] == own.canonical


def is_former(file: SessionFile, later: SessionFile, rules: NormalizeRules) -> bool:
    """True for a file that is an earlier or a fuller state of a session that another file tells to its latest end.

    So it is if one of the two has no message of the model that the other lacks, or none behind what they share. Where
    both have, it was written on from one point on both sides, but for what the program takes out: the answer to a turn
    that stands there without any, a turn that the program wrote with its answer, and whatever a backup has that the
    program itself made. One message that says different things is never the same session.
    """
    own, other = history(file), history(later)
    assert own is not None
    assert other is not None
    removed, new = lacking(own, other), lacking(other, own)
    if not removed or not new:
        return True
    if not {record.id for record in removed}.isdisjoint(record.id for record in new if record.id is not None):
        return False
    removed, new = behind_shared(own, other), behind_shared(other, own)
    if not removed or not new:
        return True
    if max(record.time or "" for record in removed) > min(record.time or "\uffff" for record in new):
        return False
    is_backup = re.search(rules.repaired.backup_name, file.path) is not None
    return is_backup or all(was_taken_out(record, own, other) for record in removed)


def lacking(own: History, other: History) -> list[Told]:
    """Messages of the model that a history tells and another does not know."""
    return [record for record in own.active if record.kind == "model" and record.key not in other.known]


def behind_shared(own: History, other: History) -> list[Told]:
    """Those of them that come after the last message, result or turn that both tell."""
    shared = [at for at, record in enumerate(own.active) if record.kind != "other" and record.key in other.known]
    behind = own.active[shared[-1] + 1 :] if shared else own.active
    return [record for record in behind if record.kind == "model"]


def was_taken_out(message: Told, own: History, other: History) -> bool:
    """True for the answer to a turn that stands in the other history without any, or that the program wrote and that is
    gone, too."""
    before = own.active[: own.active.index(message)]
    turn = next((record for record in reversed(before) if record.kind in ("user", "program")), None)
    if turn is None:
        return False
    places = [at for at, record in enumerate(other.active) if record.key == turn.key]
    if not places:
        return turn.kind == "program"
    for record in other.active[places[-1] + 1 :]:
        if record.kind in ("user", "program"):
            return True
        if record.kind == "model":
            return False
    return True


def note_removed(original: SessionFile, copy: SessionFile) -> None:
    """Note on the session what only a copy still holds: records that were taken out, results that were cut."""
    if is_prefix(copy, original):
        return
    own, other = history(original), history(copy)
    digests = record_digests(copy)
    if own is None or other is None or not isinstance(digests, RecordDigests) or copy.session is None:
        return
    sizes: dict[bytes, int] = {}
    for record in own.active:
        sizes[record.key] = max(record.size, sizes.get(record.key, 0))  # some providers use an id again
    gone = [record for record in other.active if record.kind in PARTS and is_gone(record, own, sizes)]
    known = {row["key"] for row in original.removed}
    content = digests.content() if gone else b""
    for record in gone:
        offset, length = digests.offsets[record.at], digests.lengths[record.at]
        line = bytes(content[:offset]).count(b"\n") + 1
        if record.key not in known:
            original.removed.append(removed_record(record, copy, line, offset, length))
            sentence = f"a {PARTS[record.kind]} that {original.path} has lost; `trace` shows it with that trajectory"
            copy.session.warnings.append(Fault("removed_records", line, f"line {line}: {sentence}"))
    first = next(
        (at for at, record in enumerate(other.active) if record.kind == "model" and record.key in own.known), 0
    )
    if original.session is not None and any(record.kind == "model" for record in other.active[:first]):
        original.session.head_drop = True


def is_gone(record: Told, own: History, sizes: dict[bytes, int]) -> bool:
    """True for a record that a history does not know, or a result of which it tells less."""
    return record.key not in own.known or record.size > sizes.get(record.key, record.size)


def removed_record(record: Told, copy: SessionFile, line: int, offset: int, length: int) -> dict[str, Any]:
    """A RemovedRecord, and the key by which it is told from others."""
    return {
        "key": record.key,
        "part": PARTS[record.kind],
        "line": line,
        "offset": offset,
        "length": length,
        "source_file": copy.path,
        "source_member": copy.member,
        "source_base_line": copy.base_line,
        "source_base_offset": copy.base_offset,
        "source_sha256": copy.sha256,
    }
