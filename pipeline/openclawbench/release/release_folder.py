"""A release folder as named on the command line, with an error that says what else the path is."""

import hashlib
import json
from pathlib import Path

from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.records.datapackage import DataPackage
from openclawbench.release.files.names import ROOT

PACKAGE = "datapackage.json"
CHECKSUMS = "CHECKSUMS.sha256"  # sha256 and path of every other file, as `sha256sum -c` reads them


def is_release(root: Path) -> bool:
    """True for a folder with the files of source models, or whose data package has the fields of a release's: without
    any record there are no such files."""
    if (root / ROOT).is_dir():
        return True
    try:
        package = json.loads((root / PACKAGE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(package, dict) and package.keys() >= DataPackage.model_fields.keys()  # its name is a setting


def release_digest(root: Path) -> str:
    """sha256 of CHECKSUMS.sha256, which identifies a release byte for byte. Raises UnreadableInput without it."""
    path = root / CHECKSUMS
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        raise UnreadableInput(f"{root}: has no {CHECKSUMS}, so it is not a whole release. Copy it again.") from None
    except OSError as error:
        raise UnreadableInput(f"{path}: cannot be read: {error.strerror}. Copy the release again.") from error


def refuse_other_folder(root: Path) -> None:
    """Raise UsageError if `root` is not a release folder."""
    if is_release(root):
        return
    if not root.exists():
        raise UsageError(f"{root}: there is no such folder.")
    if not root.is_dir():
        raise UsageError(f"{root}: is a file. Name the folder of the release.")
    inside = root / "release"
    meant = f"Did you mean {inside}?" if is_release(inside) else "Name the folder that has it."
    raise UsageError(f"{root}: holds no {ROOT}/, so it is not a release. {meant}")
