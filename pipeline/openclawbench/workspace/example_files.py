"""What comes with the program and a person may begin with: the example's sessions and outcomes, and the rule files. An
installation from a wheel has them in places that nobody looks into."""

import os
from collections import Counter
from pathlib import Path

from openclawbench.base.resources import resource
from openclawbench.errors import UsageError
from openclawbench.rules.loading.own_folder import rule_file_names, shipped_path
from openclawbench.storage.data_folder import write_atomic

PARTS = ("raw", "oracle")  # of the example


def write_example_files(folder: Path) -> dict[str, int]:
    """Copy the example to `raw/` and `oracle/` of a folder, and the rule files that come with the program to `rules/`,
    which OPENCLAWBENCH_RULES may name. Returns the number of files of each. What is there already stays.

    Raises UsageError if it is no folder, or a file is there with other contents; UnreadableInput if the installation
    lacks the example.
    """
    example = resource("example")
    copies = {path.relative_to(example): path for part in PARTS for path in sorted((example / part).rglob("*"))}
    copies |= {Path("rules", name): shipped_path(name) for name in sorted(rule_file_names())}
    contents = {folder / name: path.read_bytes() for name, path in copies.items() if path.is_file()}
    above = dict.fromkeys(parent for path in contents for parent in reversed(path.parents))
    for parent in above:
        if os.path.lexists(parent) and not parent.is_dir():
            raise UsageError(f"{parent}: is not a folder. Name a new one.")
    for path, content in contents.items():
        if os.path.lexists(path) and not (path.is_file() and path.read_bytes() == content):
            raise UsageError(f"{path}: is not what would be written there. Name a new folder.")
    for path, content in contents.items():
        if not path.exists():
            write_atomic(path, [content])
    return dict(Counter(path.relative_to(folder).parts[0] for path in contents))
