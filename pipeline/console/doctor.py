"""Doctor: the settings in force, and what would be done with each file of an unknown folder. Writes nothing."""

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from pipeline.console.settings import Settings
from pipeline.console.terminal import table
from pipeline.construct.normalize import normalize
from pipeline.errors import UnreadableInput
from pipeline.intake import take_in
from pipeline.records.session import FileOutcome, RunManifestRow, SourceFile
from pipeline.rules.normalize import NormalizeRules
from pipeline.store import DataFolder
from pipeline.tables import empty


def print_settings(settings: Settings, console: Console) -> None:
    """Every setting, its value and where it came from."""
    values = settings.asking.model_dump() | vars(settings)
    rows = [[name, values[name], origin] for name, origin in settings.origin.items()]
    console.print(table("Settings in force", ["setting", "value", "from"], rows))


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
    columns = ["file", "would be", "why", "records", "warnings"]
    body = [
        [
            row["path"] + (f"#{row['member']}" if row["member"] else ""),
            row["disposition"],
            row["message"] or row["trajectory_id"],
            row["records_in"],
            ", ".join(f"{one['name']} {one['count']}" for one in row["warnings"]) or None,
        ]
        for row in rows
    ]
    console.print(table(None, columns, body))
    kinds = sorted({row["disposition"] for row in rows})
    counts = ", ".join(f"{sum(row['disposition'] == kind for row in rows)} {kind}" for kind in kinds)
    files = len({row["path"] for row in rows})
    held = "" if files == len(rows) else f", {len(rows)} sessions and other parts in them"
    console.print(f"\n{files} files{held}: {counts}. Nothing was written.")
