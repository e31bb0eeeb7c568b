"""`openclawbench diff`: what is different between two releases, as tables, JSON or Markdown."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import one_line, output, table
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.cli.write_output import write_output

ReleaseA = Annotated[Path, typer.Argument(metavar="RELEASE_A", help="The former release.")]
Release = Annotated[
    Path | None, typer.Argument(metavar="[RELEASE_B]", help="The later release; default: that of --data.")
]


def diff(
    before: ReleaseA,
    release: Release = None,
    data: Data = DATA,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Also write it as Markdown.")] = None,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples of each row.")] = 3,
    json_out: Json = False,
) -> None:
    """Two releases: what was added, removed, changed and why; label flips, tier and split moves."""
    from openclawbench.release.diff.causes import MEANINGS
    from openclawbench.release.diff.diff import diff as compare
    from openclawbench.release.diff.markdown import as_markdown
    from openclawbench.storage.data_folder import DataFolder

    difference = compare(before, release or DataFolder(data).release, examples)
    if markdown is not None:
        write_output([as_markdown(difference, MEANINGS).encode()], markdown)
    if json_out:
        print(json.dumps(difference | {"meanings": MEANINGS}, indent=1, ensure_ascii=False))
    else:
        print_diff(difference, output())


def print_diff(difference: dict[str, Any], console: Console) -> None:
    """The totals, and each table that has rows."""
    from openclawbench.release.diff.markdown import name_differences

    files = ", ".join(f"{len(names)} {change}" for change, names in difference["files"].items())
    console.print("identical: no file differs" if difference["identical"] else f"files: {files}")
    for source, names in name_differences(difference["made_from"]):
        console.print(one_line(f"{source}: {', '.join(names)}"))
    console.print(", ".join(f"{name.replace('_', ' ')} {count}" for name, count in difference["records"].items()))
    tables = {
        name: difference[name] for name in ("changed", "added", "removed", "other_key", "label_flips", "tier_moves")
    }
    tables |= {f"sides: {cut}": moves for cut, moves in difference["split_moves"].items()} | {
        "fields": difference["fields"]
    }
    for name, entries in tables.items():
        if entries:
            print_rows(name.replace("_", " "), entries, console)


def print_rows(title: str, entries: list[dict[str, Any]], console: Console) -> None:
    """One table; examples in its last column, but not of each field: --markdown and --json have them."""
    left_out = {"causes"} if "cause" in entries[0] else {"examples"} if "field" in entries[0] else set()
    columns = [name for name in entries[0] if name not in left_out]
    console.print()
    console.print(table(title, columns, [[format_causes(entry[name]) for name in columns] for entry in entries]))


def format_causes(value: Any) -> Any:
    """A cell: causes with their counts, one example per line."""
    if isinstance(value, dict):
        value = [f"{name}: {count}" for name, count in value.items()]
    return Text("\n".join(one_line(item) for item in value)) if isinstance(value, list) else value
