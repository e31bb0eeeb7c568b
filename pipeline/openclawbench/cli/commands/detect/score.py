"""`openclawbench detect score`: predictions files against labels."""

from pathlib import Path
from typing import Annotated

import typer

from openclawbench.cli.commands.detect.options import CUT_HELP, POOL_HELP, Release, release_of
from openclawbench.cli.commands.detect.results import print_evaluation
from openclawbench.cli.options import DATA, Data, Json, choices

LABELS = ("silver", "human")
Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Predictions files (JSON lines).")]
AnyPool = Annotated[
    str | None, typer.Option("--pool", help=f"{POOL_HELP} Default: what the files were made for, else accepted.")
]
AnyCut = Annotated[
    str | None, typer.Option("--cut", help=f"{CUT_HELP} Default: what the files were made for, else default.")
]
AnySide = Annotated[
    str | None,
    typer.Option("--side", "--split", help="test or train. Default: what the files were made for, else test."),
]


def score(
    files: Files,
    data: Data = DATA,
    release: Release = None,
    pool: AnyPool = None,
    cut: AnyCut = None,
    side: AnySide = None,
    labels: Annotated[
        str,
        typer.Option(
            "--labels", help="silver, or human: verdicts of people alone (pool human).", autocompletion=choices(*LABELS)
        ),
    ] = LABELS[0],
    json_out: Json = False,
) -> None:
    """Score predictions files: F.8's measures with intervals, against silver, corrected by verdicts, against people."""
    from openclawbench.detect.labels import read_labels
    from openclawbench.detect.pools import HUMAN_POOL
    from openclawbench.detect.score.evaluation import choice_of, evaluate, read_files
    from openclawbench.detect.settings import DetectRules
    from openclawbench.errors import UsageError

    if labels not in LABELS:
        raise UsageError(f"--labels {labels}: there are no such labels. Use one of: {', '.join(LABELS)}.")
    rules = DetectRules.load()
    read = read_files(files, rules)
    choice = choice_of(read, HUMAN_POOL if labels == "human" else pool, cut, side)
    print_evaluation(evaluate(read_labels(release_of(release, data), choice), read, rules), json_out)
