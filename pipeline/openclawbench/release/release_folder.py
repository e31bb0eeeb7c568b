"""A release folder as named on the command line, with an error that says what else the path is."""

import json
from pathlib import Path

from openclawbench.errors import UsageError
from openclawbench.records.datapackage import DataPackage
from openclawbench.release.files.names import ROOT

PACKAGE = "datapackage.json"


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
