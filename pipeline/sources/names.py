"""What a session file's name says: its basename, and whether it is a plain session or a copy beside one."""

import hashlib

PACKED = (".gz", ".zst")
NATIVE_NAME = "native_name"  # key of a context: the basename that a session had where it was written


def basename(path: str) -> str:
    """The file name up to `.jsonl` (`a/b/x.jsonl.reset.2026-…` -> `x`); the whole name where there is no such part."""
    name = path.rsplit("/", 1)[-1]
    return name.split(".jsonl", 1)[0] if ".jsonl" in name else name


def is_plain(path: str) -> bool:
    """True for `<id>.jsonl`, False for `.reset.<time>`, `.bak-…`, `.checkpoint.<uuid>.jsonl` and other copies."""
    return path.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl") and ".checkpoint." not in path


def safe_name(text: str) -> str:
    """A session id as it may stand in a trajectory id: slashes would make it look like a path."""
    return text.replace("/", "_").replace("\\", "_")


def identity_digits(identity: str) -> str:
    """h8 of a trajectory id: the first 8 hex digits of the identity's sha256."""
    return hashlib.sha256(identity.encode()).hexdigest()[:8]
