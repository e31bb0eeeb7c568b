"""Checksums that fit, so that only the damage itself can be noticed."""

import hashlib
from pathlib import Path


def seal(root: Path) -> None:
    """Write CHECKSUMS.sha256 of a release anew."""
    sums = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and name != "CHECKSUMS.sha256":
            sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
    (root / "CHECKSUMS.sha256").write_text("".join(sums))
