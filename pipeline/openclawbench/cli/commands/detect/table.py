"""`openclawbench detect table`: the leaderboard as Markdown, JSON and pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import errors, output, safe
from openclawbench.base.terminal import table as plain_table
from openclawbench.cli.commands.detect.options import Release, release_of, warn_of_baseline
from openclawbench.cli.commands.detect.results import print_groups, print_headlines, warn_of_card
from openclawbench.cli.commands.detect.score import AnyCut, AnyPool, AnySide
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.reports.section import Report

FOLDER = Path("detect") / "table"  # of a data folder


def table(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE…", help="Predictions files (JSON lines), any number.")
    ] = None,
    data: Data = DATA,
    release: Release = None,
    pool: AnyPool = None,
    cut: AnyCut = None,
    side: AnySide = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Also the figures that the paper prints, and which of them contradict each other; alone: these only.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write to; default: DATA/detect/table.")
    ] = None,
    json_out: Json = False,
) -> None:
    """A leaderboard of predictions files: tables 2, 3 and 43 of the paper and more, as Markdown, JSON and pictures."""
    from openclawbench.detect.labels import read_labels
    from openclawbench.detect.pages.leaderboard import leaderboard
    from openclawbench.detect.pages.paper import paper_report
    from openclawbench.detect.score.evaluation import choice_of, evaluate, read_files
    from openclawbench.detect.settings import DetectRules

    if not files:
        if not paper:
            raise UsageError("name predictions files, or --paper for the figures of the paper.")
        publish(paper_report(), out, json_out)
        return
    rules = DetectRules.load()
    read = read_files(files, rules)
    labels = read_labels(release_of(release, data), choice_of(read, pool, cut, side))
    evaluation = evaluate(labels, read, rules)
    if not json_out:
        warn_of_baseline(labels)
        for card in evaluation.cards:
            warn_of_card(card)
        print_headlines(output(), evaluation)
        print_groups(output(), evaluation.cards)
    publish(leaderboard(evaluation, paper), out or data / FOLDER, json_out)


def publish(report: "Report", out: Path | None, json_out: bool) -> None:
    """Write the report's files where `out` names a folder; print it as JSON, or the paper's contradictions if it has
    them."""
    from openclawbench.reports.files import as_files, as_json
    from openclawbench.storage.data_folder import write_atomic

    if out is not None:
        for name, content in as_files(report).items():
            write_atomic(out / name, [content])
    if json_out:
        print(as_json(report.data()), end="")
        return
    for section in report.sections:
        if section.name.startswith("paper"):
            rows = [list(row.values()) for row in section.rows]
            output().print(plain_table(section.title, section.columns, rows))
            output().print(f"{section.about}\n", highlight=False)
    if out is not None:
        errors().print(f"{safe(str(out / report.name))}.md, .json, and pictures", highlight=False)
