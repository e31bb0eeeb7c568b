"""`openclawbench audit sample-calibration`: trajectories of a release's calibration pool for people to label (T35)."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from openclawbench.base.terminal import errors, output, safe, table
from openclawbench.cli.options import DATA, Data, Json

if TYPE_CHECKING:
    from openclawbench.reports.section import Report, Section


class Allocation(StrEnum):
    """The numbers of trajectories by kind that a calibration sample takes."""

    equal = "equal"
    neyman = "neyman"


class Pool(StrEnum):
    """The trajectories that a calibration sample is drawn from."""

    calibration = "calibration"
    labelled = "labelled"


def sample_calibration(
    release: Annotated[
        Path | None, typer.Option("--release", help="A release folder, or a copy; that of the data folder without it.")
    ] = None,
    number: Annotated[int | None, typer.Option("--n", min=1, help="Trajectories to draw; the whole pool.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed draws the same trajectories.")] = 1,
    allocate: Annotated[
        Allocation,
        typer.Option(
            "--allocate",
            help="equal: as many of each risk slice (paper E.11); neyman: of each slice and silver label as many as "
            "make the corrected gap most certain.",
        ),
    ] = Allocation.equal,
    pool: Annotated[
        Pool,
        typer.Option(
            "--pool",
            help="calibration: the release's pool, which needs outcomes (paper E.11); labelled: every trajectory with "
            "a label outside review.",
        ),
    ] = Pool.calibration,
    show_silver: Annotated[
        bool, typer.Option("--show-silver", help="Show the silver label in the sheet; it is hidden without this.")
    ] = False,
    data: Data = DATA,
    json_out: Json = False,
) -> None:
    """Draw trajectories of the calibration pool, and write a sheet (CSV and JSONL) to fill in, with its guide (T35)."""
    from openclawbench.audit.calibration.form import CALIBRATION
    from openclawbench.audit.calibration.guide import guide
    from openclawbench.audit.calibration.sample import draw
    from openclawbench.audit.calibration.summary import stratum_of, without_pool
    from openclawbench.audit.review_folder import save_sample
    from openclawbench.audit.settings import AuditRules
    from openclawbench.storage.data_folder import DataFolder

    folder, rules = DataFolder(data), AuditRules.load()
    sample, rows = draw(
        release or folder.release, number, seed, not show_silver, rules, data, allocate.value, pool.value
    )
    with folder.reviewing():
        sheets = save_sample(folder, CALIBRATION, sample.sample, sample, rows, guide(sample, rules))
    for name, population in without_pool(sample).items():
        errors().print(
            f"warning: the calibration pool has no record of {name}, the release {population} accepted and passing: "
            "nothing will be said of those."
        )
    if json_out:
        print(json.dumps(sample.model_dump() | {"sheets": [str(path) for path in sheets]}, indent=1))
        return
    console = output()
    counts: list[list[object]] = [
        [name, sample.drawn[name], sample.pool[name], sample.population[name]] for name in sample.drawn
    ]
    if sample.strata:
        counts = [[stratum_of(stratum), stratum.drawn, stratum.pool, stratum.population] for stratum in sample.strata]
    columns = ["stratum" if sample.strata else "slice", "drawn", "in the pool", "accepted and passing"]
    console.print(table(f"Sample {sample.sample}", columns, counts))
    hidden = "the silver label is hidden" if sample.blind else "the silver label is shown"
    csv, jsonl, guide_file = (safe(str(path)) for path in sheets)
    console.print(f"\n{len(rows)} trajectories to review ({hidden}): {csv} or {jsonl}")
    console.print(f"How: {guide_file}. A second reviewer takes a copy. Then: openclawbench audit import FILE")


def print_calibration(report: "Report", console: Console) -> None:
    """T36 of each sample."""
    from openclawbench.reports.counting import percent

    for section in report.sections:
        if section.name.startswith("calibration_disagreements"):
            print_disagreements(section, console)
        if "quantity" not in section.columns:
            continue
        rows = [
            [row["quantity"], row["count"], "-" if row["of"] is None else row["of"], percent(row["share"])]
            for row in section.rows
        ]
        console.print(table(section.title, ["quantity", "count", "of", "share"], rows))
        facts = section.facts
        low, high = facts["kappa_low"], facts["kappa_high"]
        chance = "has no value" if facts["kappa"] is None else f"{facts['kappa']:.3f} ({low:.3f} to {high:.3f})"
        left_out = facts["corpus_agreement_leaves_out"]
        without = f", which leaves out {left_out}" if left_out else ""
        share = percent(facts["corpus_agreement_share"])
        console.print(f"Cohen's kappa {chance}; weighted to the corpus: {share}{without}\n")
    if report.notice:
        console.print(report.notice)


def print_disagreements(section: "Section", console: Console) -> None:
    """The trajectories behind the counts, so that each can be opened; never the reviewers' words."""
    if not section.rows:
        return
    columns = ["agreement_status", "silver", "human"]
    shown = section.rows[: section.shown]
    rows = [
        [f"{row['source_model']}/{row['trajectory_id']}", *(row[name] for name in columns), ", ".join(row["stages"])]
        for row in shown
    ]
    console.print(table(section.title, ["trajectory", *columns, "stages"], rows))
    remaining = len(section.rows) - len(shown)
    more = f"{remaining} more are in the report. " if remaining else ""
    console.print(f"{more}Read one with `openclawbench explain ID`, or in the workbench.\n")
