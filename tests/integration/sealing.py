"""Damage to a release, with checksums that fit, so that only the damage itself can be noticed."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.validate import validate

Damage = Callable[[Path], object]


def found_after(damage: Damage, root: Path) -> Findings:
    """What validate finds in a release once it is damaged."""
    damage(root)
    seal(root)
    return validate(root)


def seal(root: Path) -> None:
    """Write CHECKSUMS.sha256 of a release anew."""
    sums = []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and name != "CHECKSUMS.sha256":
            sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
    (root / "CHECKSUMS.sha256").write_text("".join(sums))
