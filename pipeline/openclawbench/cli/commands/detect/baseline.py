"""`openclawbench detect baseline`: the floor that a detector must beat."""

from typing import Annotated

import typer

from openclawbench.cli.commands.detect.options import (
    DEFAULT_CUT,
    DEFAULT_POOL,
    DEFAULT_SIDE,
    Cut,
    Out,
    Pool,
    Release,
    Side,
    release_of,
)
from openclawbench.cli.commands.detect.results import predictions_path, write_and_show
from openclawbench.cli.commands.exam import check_date
from openclawbench.cli.options import DATA, Data, Date, Json

MEANINGS = {
    "majority": "the most frequent label",
    "prior": "drawn by the shares of the labels",
    "memoriser": "the most frequent label of the task",
    "bow": "bag of words, logistic regression",
    "descriptors": "counts of descriptors and flags, gradient boosting",
    "screen": "rules over the steps, each flag with its proof",
}


def baseline(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="; ".join(f"{name}: {meaning}" for name, meaning in MEANINGS.items()) + ".",
            autocompletion=lambda: list(MEANINGS),
        ),
    ],
    data: Data = DATA,
    release: Release = None,
    pool: Pool = DEFAULT_POOL,
    cut: Cut = DEFAULT_CUT,
    side: Side = DEFAULT_SIDE,
    fit: Annotated[
        str | None, typer.Option("--fit", help="Pool to fit to, if it is another one; its train side.")
    ] = None,
    out: Out = None,
    date: Date = None,
    json_out: Json = False,
) -> None:
    """Fit a baseline to the train side, predict the test side, score it. Nothing is asked of a model."""
    from openclawbench.detect.baselines import run_baseline
    from openclawbench.detect.labels import LabelSelection
    from openclawbench.detect.settings import DetectRules

    check_date(date)
    rules = DetectRules.load()
    labels, predicted, provenance = run_baseline(
        name, release_of(release, data), LabelSelection(pool, cut, side), rules, fit
    )
    path = predictions_path(out, data, name, labels)
    write_and_show(path, predicted, provenance | {"date": date}, labels, rules, json_out, out is not None)
