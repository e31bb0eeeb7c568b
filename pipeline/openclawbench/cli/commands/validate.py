"""`openclawbench validate`: what is wrong with a release, as a table or as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import output, pluralize, table
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import NEEDS_A_PERSON
from openclawbench.release.validate.findings import Findings

Release = Annotated[
    Path | None,
    typer.Argument(metavar="[RELEASE_DIR]", help="A release folder, or any copy of one; default: that of --data."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Maximum number of processes; default: one per processor.")
]


def validate(release: Release = None, data: Data = DATA, workers: Workers = None, json_out: Json = False) -> None:
    """Check a release against itself: derive it again from its texts, answers and rules, and compare."""
    from openclawbench import api
    from openclawbench.storage.data_folder import DataFolder

    findings = api.validate(release or DataFolder(data).release, workers)
    if json_out:
        print(json.dumps(findings.as_data(), indent=1, ensure_ascii=False))
    else:
        print_findings(findings)
    if not findings.ok:
        raise typer.Exit(NEEDS_A_PERSON)


def print_findings(findings: Findings) -> None:
    """What was checked, and a table of what is wrong."""
    from openclawbench.workspace.release_settings import PLACES

    console = output()
    for row in findings.reported:
        warning = "warning: a key is left " if row["group"] == "key" else ""
        count = f"{pluralize(row['finds'], 'find')} in {pluralize(row['records'], 'record')}"
        console.print(f"{warning}in {PLACES[row['where']]}: {row['kind']}: {count}")
    for note in findings.notes:
        console.print(f"note: {note}")
    checked = ", ".join(f"{count} {name}" for name, count in findings.checked.items())
    if findings.ok:
        console.print(f"valid: {checked}")
        return
    rows = [[finding.check, finding.file, finding.line, finding.message] for finding in findings.kept]
    console.print(table(None, ["check", "file", "line", "what is wrong"], rows))
    for check, remedy in findings.what_to_do().items():
        console.print(f"{check}: {remedy}")
    total = sum(findings.counts.values())
    hidden = total - len(findings.kept)
    console.print(f"\n{pluralize(total, 'finding')}{f' ({hidden} not shown)' if hidden else ''} in {checked}")
