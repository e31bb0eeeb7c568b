"""`openclawbench validate`: what is wrong with a release, as a table or as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import output, pluralize, table
from openclawbench.cli.release_options import PLACES
from openclawbench.release.validate.findings import Findings

NEEDS_A_PERSON = 1
Folder = Annotated[Path, typer.Argument(metavar="RELEASE_DIR", help="A release folder, or any copy of one.")]


def validate(release: Folder, json_out: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check a release against itself: all that follows from its texts, answers and rules is made again and compared."""
    from openclawbench.release.validate.validate import validate as every_check

    findings = every_check(release)
    if json_out:
        print(json.dumps(findings.as_data(), indent=1, ensure_ascii=False))
    else:
        print_findings(findings)
    if not findings.ok:
        raise typer.Exit(NEEDS_A_PERSON)


def print_findings(findings: Findings) -> None:
    """What was looked at, and a table of what is wrong."""
    console = output()
    for row in findings.reported:
        loud = "warning: a key is left " if row["group"] == "key" else ""
        found = f"{pluralize(row['finds'], 'find')} in {pluralize(row['records'], 'record')}"
        console.print(f"{loud}in {PLACES[row['where']]}: {row['kind']}: {found}")
    looked = ", ".join(f"{count} {name}" for name, count in findings.checked.items())
    if findings.ok:
        console.print(f"valid: {looked}")
        return
    rows = [[one.check, one.file, one.line, one.message] for one in findings.kept]
    console.print(table(None, ["check", "file", "line", "what is wrong"], rows))
    for check, said in findings.what_to_do().items():
        console.print(f"{check}: {said}")
    every = sum(findings.counts.values())
    more = every - len(findings.kept)
    console.print(f"\n{pluralize(every, 'finding')}{f' ({more} not shown)' if more else ''} in {looked}")
