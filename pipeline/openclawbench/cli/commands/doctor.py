"""Doctor: the settings in force, and what would be done with each file of an unknown folder. Writes nothing."""

import os
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from openclawbench.base.terminal import table
from openclawbench.cli.settings import Settings
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.errors import UnreadableInput
from openclawbench.inspect.whatif.rules import read_toml
from openclawbench.intake.intake import take_in
from openclawbench.judge import prompts
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile
from openclawbench.rules.loading.own_folder import OVERRIDE, own_files, shipped_path
from openclawbench.rules.normalize import NormalizeRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import empty

FROM_ENVIRONMENT = {  # what no flag and no settings file says
    "rules": OVERRIDE,
    "prompts": prompts.OVERRIDE,
    "prompt_versions": prompts.PINS,
}


def in_force(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    """Every setting, its value and where it came from; own rule files, and which of their keys say something else than
    those that come with the program. Raises InvalidRules where the folder of rules is not one."""
    values = settings.asking.model_dump() | vars(settings)
    rows = [{"setting": name, "value": values[name], "from": origin} for name, origin in settings.origin.items()]
    for name, variable in FROM_ENVIRONMENT.items():
        value = os.environ.get(variable) or None
        rows.append({"setting": name, "value": value, "from": "environment" if value else "default"})
    files = [{"file": str(path), "in_place_of": path.name, "other_keys": other_keys(path)} for path in own_files()]
    return {"settings": rows, "own_rule_files": files}


def other_keys(path: Path) -> list[str]:
    """Top-level keys that an own rule file has otherwise than the shipped one, or alone, or lacks."""
    mine, theirs = read_toml(path), read_toml(shipped_path(path.name))
    return sorted(key for key in mine.keys() | theirs.keys() if key not in mine or mine[key] != theirs.get(key))


def print_settings(found: dict[str, list[dict[str, Any]]], console: Console) -> None:
    """Tables of what is in force."""
    rows = [list(row.values()) for row in found["settings"]]
    console.print(table("Settings in force", ["setting", "value", "from"], rows))
    if found["own_rule_files"]:
        own = [[one["file"], ", ".join(one["other_keys"]) or "nothing"] for one in found["own_rule_files"]]
        console.print()
        console.print(table("Own rule files, in the place of those of the same name", ["file", "says otherwise"], own))


def examine(raw: Path) -> list[dict[str, Any]]:
    """What would become of every file of a folder, sorted by path: FileOutcome's columns.

    The folder may be a raw folder (`<source_model>/…`) or one source model's own folder; nothing is written in either.
    """
    if not raw.is_dir():
        raise UnreadableInput(f"{raw}: there is no such folder. Name a folder of session files.")
    rules = NormalizeRules.load()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="openclawbench-") as scratch:
        intake = take_in(DataFolder(Path(scratch)), raw, None, save=False)
        for shard in sorted(intake.entries):
            files = intake.read(SourceFile, shard)
            outcomes = normalize(files, empty(RunManifestRow).lazy(), rules)[-1]
            found += outcomes.collect().select(list(FileOutcome.model_fields)).to_dicts()
    return sorted(found, key=lambda row: (row["path"], row["member"] or ""))


def print_examined(rows: list[dict[str, Any]], console: Console) -> None:
    """One line a file: what would be done, why, how many records and of which kinds."""
    columns = ["file", "would be", "records", "warnings", "why"]
    body = [
        [
            place := row["path"] + (f"#{row['member']}" if row["member"] else ""),
            row["disposition"],
            row["records_in"],
            ", ".join(f"{one['name']} {one['count']}" for one in row["warnings"]) or None,
            (row["message"] or row["trajectory_id"] or "").removeprefix(f"{row['path']}: ").removeprefix(f"{place}: "),
        ]
        for row in rows
    ]
    console.print(table(None, columns, body))
    kinds = sorted({row["disposition"] for row in rows})
    counts = ", ".join(f"{sum(row['disposition'] == kind for row in rows)} {kind}" for kind in kinds)
    files = len({row["path"] for row in rows})
    held = "" if files == len(rows) else f", {len(rows)} sessions and other parts in them"
    console.print(f"\n{files} files{held}: {counts}. Nothing was written.")
