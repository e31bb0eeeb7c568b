"""`openclawbench audit`: samples for people to review, their filled sheets, and tables made of review records alone."""

import hashlib
import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import errors, one_line, output, safe, table
from openclawbench.cli.commands.audit.calibration import print_calibration, sample_calibration
from openclawbench.cli.commands.report.commands import publish_report
from openclawbench.cli.options import DATA, Data, Json, data_flag
from openclawbench.errors import NEEDS_A_PERSON, NotFound, UsageError

if TYPE_CHECKING:
    from openclawbench.reports.section import Report

app = typer.Typer(help="Human audit: samples to review, sheets, review records.", no_args_is_help=True)
app.command("sample-calibration")(sample_calibration)


@app.command("sample-events")
def sample_events(
    number: Annotated[int, typer.Option("--n", min=1, help="Steps to draw.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed draws the same steps.")] = 1,
    data: Data = DATA,
    json_out: Json = False,
) -> None:
    """Draw steps of every event category, and write a sheet (CSV and JSONL) to fill in (T33)."""
    from openclawbench.api import open_data
    from openclawbench.audit.events.form import EVENTS
    from openclawbench.audit.events.sample import draw
    from openclawbench.audit.review_folder import save_sample
    from openclawbench.audit.settings import AuditRules
    from openclawbench.inspect.find import rows_of
    from openclawbench.inspect.reports import input_digests
    from openclawbench.records.evidence import AlignedDescriptor
    from openclawbench.records.review import EventSample
    from openclawbench.reports.evidence.report import evidence_rules

    run = open_data(data, may_be_new=True).state
    folder = run.data
    rows, population = draw(lambda record: rows_of(run, record), number, seed, AuditRules.load().events)
    if not rows:
        raise NotFound(f"{folder.root}: there is no step to review.")
    drawn = {name: sum(row.event_type == name for row in rows) for name in population}
    sample = EventSample(
        sample=rows[0].sample,
        seed=seed,
        asked=number,
        drawn=drawn,
        population=population,
        descriptors=input_digests(run, [AlignedDescriptor])["AlignedDescriptor"],
        rules=evidence_rules(),
    )
    with folder.reviewing():
        sheets = save_sample(folder, EVENTS, sample.sample, sample, rows, overrides=run.overrides)
    if json_out:
        print(json.dumps(sample.model_dump() | {"sheets": [str(path) for path in sheets]}, indent=1))
        return
    console = output()
    counts = [[name, drawn[name], population[name]] for name in population]
    console.print(table(f"Sample {sample.sample}", ["category", "drawn", "in the corpus"], counts))
    console.print(f"\n{len(rows)} steps to review: {' or '.join(safe(str(path)) for path in sheets)}")
    console.print(
        "Fill in is_supported (yes, no), error_type where it is no, and import one of them: "
        f"openclawbench audit import FILE{(flag := data_flag(data))}"
    )
    if flag:
        console.print(f"Add{flag} to the commands of the column trace")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A filled sheet, CSV or JSONL.")],
    reviewer: Annotated[str | None, typer.Option("--reviewer", help="Who reviewed, where a row does not say.")] = None,
    reviewed_at: Annotated[str | None, typer.Option("--reviewed-at", help="When, where a row does not say.")] = None,
    data: Data = DATA,
    json_out: Json = False,
) -> None:
    """Check a filled sheet of either kind against its sample and add the good rows to the review records."""
    from openclawbench.audit.forms import form_of
    from openclawbench.audit.review_folder import add_reviews, drawn_rows, reviews
    from openclawbench.audit.reviewer_agreement import similar_names
    from openclawbench.audit.settings import AuditRules
    from openclawbench.audit.sheets.check import ROW, Signature, check
    from openclawbench.audit.sheets.review_sheet import read_sheet
    from openclawbench.base.dates import is_time
    from openclawbench.storage.data_folder import DataFolder

    folder = DataFolder(data)
    if reviewed_at is not None and not is_time(reviewed_at):
        raise UsageError(f"--reviewed-at {reviewed_at}: write it as 2026-11-21.")
    content, rows = read_sheet(file, [ROW])
    form = form_of(file, rows)
    signed, digest = Signature(reviewer, reviewed_at), hashlib.sha256(content).hexdigest()
    with folder.reviewing():
        checked = check(form, rows, drawn_rows(folder, form), signed, digest, AuditRules.load())
        added = add_reviews(folder, form, checked.reviews)
        everybody = [review.reviewer for review in reviews(folder, form)]
    names_in_file = {review.reviewer for review in checked.reviews}
    doubtful = [spellings for spellings in similar_names(everybody) if names_in_file.intersection(spellings)]
    for spellings in doubtful:
        names = " and ".join(map(repr, spellings))
        errors().print(one_line(f"{file}: {names} count as different reviewers; give one person one spelling"))
    for fault in checked.faults:
        place = file if fault.line is None else f"{file}:{fault.line}"
        errors().print(one_line(f"{place}: {fault.reason}: {fault.message}{fault.location}"))
    counts: dict[str, Any] = {
        "rows": checked.rows,
        "added": added.records,
        "replaced": added.replaced,
        "already_there": len(checked.reviews) - added.records,
        "not_reviewed": checked.not_reviewed,
        "at_fault": checked.at_fault,
        "missing": checked.missing,
    }
    records = folder.review_file(form.file)
    if json_out:
        summary = {"kind": form.name, "records": str(records) if records.exists() else None}
        faults = {"faults": [vars(fault) for fault in checked.faults], "reviewers_alike": doubtful}
        print(json.dumps(summary | counts | faults, indent=1))
    else:
        output().print(", ".join(f"{name.replace('_', ' ')}: {sheet_rows}" for name, sheet_rows in counts.items()))
        stand = f"verdicts stand in {records}" if records.exists() else "no verdict was taken over"
        output().print(safe(f"{stand}; no label was changed"))
    if checked.faults:
        raise typer.Exit(NEEDS_A_PERSON)


class AuditKind(StrEnum):
    """What was reviewed."""

    EVENTS = "events"
    CALIBRATION = "calibration"


Kind = Annotated[AuditKind | None, typer.Argument(help="Only this audit; without it every one that has a review.")]


@app.command("report")
def report(kind: Kind = None, data: Data = DATA, json_out: Json = False) -> None:
    """The tables of the audits (T34 of events, T36 of the calibration), from review records alone."""
    from openclawbench.inspect.reports import audit_report
    from openclawbench.storage.data_folder import DataFolder

    folder = DataFolder(data)
    kinds = [kind] if kind else list(AuditKind)
    reports = {audited: audit for audited in kinds if (audit := audit_report(audited, folder))}
    if not reports:
        raise NotFound(
            f"{folder.root}: nothing has been reviewed. Draw a sample with `openclawbench audit sample-events` or "
            "`sample-calibration`, fill in its sheet, and take it over with `openclawbench audit import`."
        )
    if json_out and len(reports) > 1:
        raise UsageError(
            "Two audits have reviews. Name one for --json: audit report events, or audit report calibration."
        )
    for audited, audit in reports.items():
        printer = print_events if audited is AuditKind.EVENTS else print_calibration
        publish_report(folder, audit, json_out, printer)


def print_events(report: "Report", console: Console) -> None:
    """The T34 tables, and agreement between reviewers."""
    from openclawbench.reports.counting import percent

    for section in report.sections:
        if section.name.startswith("people") and section.rows:
            names = ["first", "second", "verdict", "both", "agree", "kappa"]
            console.print(table(section.title, names, ([row[name] for name in names] for row in section.rows)))
            console.print()
        if not section.name.startswith("reviewed"):
            continue
        columns = ["event_type", "sampled", "reviewed", "supported", "ambiguous", "incorrect"]
        title = f"{section.title} by {safe(section.facts['reviewer'])}"
        console.print(table(title, columns, ([row[name] for name in columns] for row in section.rows)))
        console.print(f"supported: {percent(section.facts['supported_share'])} of the reviewed steps\n")
