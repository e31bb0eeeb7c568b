"""A release folder as named on the command line, with an error that says what else the path is."""

from pathlib import Path

from openclawbench.errors import UsageError
from openclawbench.release.writer.render import ROOT


def refuse_other_folder(root: Path) -> None:
    """Raise UsageError if `root` is not a release folder."""
    if (root / ROOT).is_dir():
        return
    if not root.exists():
        raise UsageError(f"{root}: there is no such folder.")
    if not root.is_dir():
        raise UsageError(f"{root}: is a file. Name the folder of the release.")
    inside = root / "release"
    meant = f"Did you mean {inside}?" if (inside / ROOT).is_dir() else "Name the folder that has it."
    raise UsageError(f"{root}: holds no {ROOT}/, so it is not a release. {meant}")
