"""The data folder that a command names: whether it is there, and the rules and prompts that it puts in force.

It loads neither polars nor pydantic.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from openclawbench.errors import UsageError
from openclawbench.workspace.configuration.setting_layers import read_settings_file
from openclawbench.workspace.configuration.trust import SETTINGS_FILE

DEFAULT = Path("data")
IN_FORCE = {  # settings of a data folder -> the variable that carries them to loaders and worker processes
    "rules": "_OPENCLAWBENCH_RULES",
    "prompts": "_OPENCLAWBENCH_PROMPTS",
    "prompt_versions": "_OPENCLAWBENCH_PROMPT_VERSIONS",
}


def enter(root: Path) -> None:
    """Put the rules and prompts of a data folder in force for this process, whatever else its settings file says."""
    put_in_force(read_settings_file(root / SETTINGS_FILE, is_users=False).values)


def put_in_force(values: Mapping[str, Any]) -> None:
    """Put these rules and prompts in force, where the environment names none, in place of another folder's."""
    for name, variable in IN_FORCE.items():
        os.environ.pop(variable, None)
        if name in values:
            os.environ[variable] = values[name]


def refuse_missing_folder(root: Path, may_be_new: bool = False) -> None:
    """Raise UsageError for a data folder that does not exist; if it may be new, only if one has nearly its name."""
    if root.exists() or (may_be_new and root == DEFAULT):
        return
    siblings = sorted(path.name for path in root.parent.iterdir() if path.is_dir()) if root.parent.is_dir() else []
    if close := get_close_matches(root.name, siblings, n=1):
        raise UsageError(
            f'--data {root}: there is no such folder. Did you mean "{root.parent / close[0]}"? To make it: mkdir {root}'
        )
    if not may_be_new:
        raise UsageError(
            f"--data {root}: there is no such folder. Make one: openclawbench run --raw FOLDER --data {root}"
        )
