"""What a session file's name says: its basename, and whether it is a plain session or a copy beside one."""

import hashlib
import re

PACKED = (".gz", ".zst")
DIGITS = re.compile(r"(?<=^line)[0-9]+|(?<=^row)[0-9]+")  # in the name of a member that is a line or a row
NATIVE_NAME = "native_name"  # key of a context: the basename that a session had where it was written


def basename(path: str) -> str:
    """The file name up to `.jsonl` (`a/b/x.jsonl.reset.2026-…` -> `x`); the whole name without such an ending."""
    name = path.rsplit("/", 1)[-1]
    return name.split(".jsonl", 1)[0] if ".jsonl" in name else name


def path_name(path: str) -> str | None:
    """How a session is named by its path below its source model, `.jsonl` and what follows it left out (as in
    `job/trial/agent/sessions/harbor`); None for a file directly in the model's folder, whose basename says the same."""
    below = path.partition("/")[2]
    folder, _, _ = below.rpartition("/")
    return f"{folder}/{basename(below)}" if folder else None


def unpacked(path: str) -> str:
    """The name that a file would have unpacked: without `.gz` and `.zst`."""
    return path.removesuffix(".gz").removesuffix(".zst")


def packed_variants(name: str) -> list[str]:
    """A file's name as it is plain and packed."""
    return [name, *(name + ending for ending in PACKED)]


def is_plain(path: str) -> bool:
    """True for `<id>.jsonl`, False for `.reset.<time>`, `.bak-…`, `.checkpoint.<uuid>.jsonl` and other copies."""
    return unpacked(path).endswith(".jsonl") and ".checkpoint." not in path


def copy_order(path: str, member: str | None, session_id: str | None) -> tuple[int, bool, bool, bool, int, str, str]:
    """Sorts the files of one session: first the one that the program that wrote it is likeliest to have named (own
    choice): a plain file, then a member of a store, then others; of these what is not hidden, is named for the session,
    lies in a folder `sessions`, has the shortest name; then by path."""
    folder, _, name = path.rpartition("/")
    is_named = session_id is not None and session_id in name
    is_at_home = "sessions" in folder.split("/")
    kind = 0 if is_plain(path) else 1 if member is not None else 2
    place = DIGITS.sub(lambda digits: digits[0].zfill(12), member or "")  # line 2 before line 10
    return kind, name.startswith("."), not is_named, not is_at_home, len(basename(path)), path, place


def safe_name(text: str) -> str:
    """A session id as it may be in a trajectory id: slashes would make it look like a path."""
    return text.replace("/", "_").replace("\\", "_")


def identity_digits(identity: str) -> str:
    """h8 of a trajectory id: the first 8 hex digits of the identity's sha256."""
    return hashlib.sha256(identity.encode()).hexdigest()[:8]
