"""`openclawbench doctor`: the settings in force, and what a run would do with the files of a folder."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import one_line, output, table, warn
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import NEEDS_A_PERSON


def doctor(
    raw_dir: Annotated[Path | None, typer.Argument(help="A folder to look at; nothing is written.")] = None,
    data: Data = DATA,
    json_out: Json = False,
) -> None:
    """The settings in force and where each came from; what would be done with each file of RAW_DIR."""
    from openclawbench.inspect.doctor import examine_folder
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.settings import usable_settings

    if raw_dir is None:
        show_settings(data, json_out, with_programs=True)
        return
    rows, recognized = examine_folder(raw_dir, usable_settings(DataFolder(data))[0].accepts_noncommercial)
    if json_out:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        print_examined(rows, output())
        print_recognized(raw_dir, recognized, output())
    if any(row["disposition"] == "quarantined" for row in rows):
        raise typer.Exit(NEEDS_A_PERSON)


def show_settings(data: Path, json_out: bool, with_programs: bool = False) -> None:
    """Print the settings in force and what is wrong with them; with status 1 if something is. `with_programs`: also the
    programs that `collect` starts."""
    from openclawbench.collect.programs_found import programs_found
    from openclawbench.inspect.doctor import settings_in_force
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.settings import usable_settings

    chosen, problems = usable_settings(DataFolder(data))
    for problem in problems:
        warn(problem)
    in_force = settings_in_force(chosen) | ({"collect": programs_found()} if with_programs else {})
    if json_out:
        print(json.dumps(in_force, indent=1, ensure_ascii=False, default=str))
    else:
        print_settings(in_force, output())
    if problems:
        raise typer.Exit(NEEDS_A_PERSON)


def print_settings(in_force: dict[str, list[dict[str, Any]]], console: Console) -> None:
    """Tables of what is in force, and of the programs that `collect` starts."""
    rows = [list(row.values()) for row in in_force["settings"]]
    console.print(table("Settings in force", ["setting", "value", "from"], rows))
    if in_force["own_rule_files"]:
        own = [[file["file"], ", ".join(file["other_keys"]) or "nothing"] for file in in_force["own_rule_files"]]
        console.print()
        console.print(
            table("Own rule files, instead of the built-in ones of the same name", ["file", "differs in"], own)
        )
    if "collect" not in in_force:
        return
    programs = [
        [row["program"], row["version"] or "not usable", row["place"] or row["problem"]] for row in in_force["collect"]
    ]
    console.print()
    console.print(table("Programs of `collect`", ["program", "version", "where"], programs))
    for row in in_force["collect"]:
        if row["version"] is None:
            console.print(f"to install {row['program']}: {row['install']}", highlight=False, markup=False)


def print_examined(rows: list[dict[str, Any]], console: Console) -> None:
    """One line per file: the action, its reason, and the number of records by kind."""
    body = []
    for row in rows:
        place = row["path"] + (f"#{row['member']}" if row["member"] else "")
        reason = (row["message"] or row["trajectory_id"] or "").removeprefix(f"{row['path']}: ")
        warnings = ", ".join(f"{warning['name']} {warning['count']}" for warning in row["warnings"]) or None
        body.append([place, row["disposition"], row["records_in"], warnings, reason.removeprefix(f"{place}: ")])
    console.print(table(None, ["file", "would be", "records", "warnings", "why"], body))
    kinds = sorted({row["disposition"] for row in rows})
    counts = ", ".join(f"{sum(row['disposition'] == kind for row in rows)} {kind}" for kind in kinds)
    files = len({row["path"] for row in rows})
    parts = "" if files == len(rows) else f", {len(rows)} sessions and other parts in them"
    console.print(f"\n{files} files{parts}: {counts}. Nothing was written.")


def print_recognized(raw: Path, sentences: list[str], console: Console) -> None:
    """A sentence for each table of sessions and each job tree, and the command that labels them."""
    for sentence in sentences:
        console.print(one_line(sentence))
    if sentences:
        console.print(f"To label these sessions: openclawbench run --raw {one_line(shlex.quote(str(raw)))}")
