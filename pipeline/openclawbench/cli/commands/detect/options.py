"""Options that the commands of `openclawbench detect` have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import warn
from openclawbench.cli.choices import CUTS, PROTOCOLS, SIDES
from openclawbench.cli.options import choices
from openclawbench.detect.pools import ACCEPTED_POOL, EACH_HELD_OUT, POOLS

if TYPE_CHECKING:
    from openclawbench.detect.labels import LabelSet

POOL_HELP = "Which labels: " + "; ".join(f"{name}: {meaning}" for name, meaning in POOLS.items()) + "."
CUT_HELP = f"{', '.join(CUTS)}; or a source model, which is held out; or {EACH_HELD_OUT}: each in turn, in one call."
Release = Annotated[
    Path | None,
    typer.Option("--release", help="A release folder, or a copy; that of the data folder without it."),
]
Pool = Annotated[str, typer.Option("--pool", help=POOL_HELP, autocompletion=choices(*POOLS))]
Cut = Annotated[str, typer.Option("--cut", help=CUT_HELP, autocompletion=choices(*CUTS, EACH_HELD_OUT))]
Side = Annotated[
    str, typer.Option("--side", "--split", help="Side of the cut: test or train.", autocompletion=choices(*SIDES))
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="symbol: one token with its probabilities; json: label, onset and span.",
        autocompletion=choices(*PROTOCOLS),
    ),
]
TokenizerPath = Annotated[
    Path | None,
    typer.Option(
        "--tokenizer",
        help="tokenizer.json of the detector, or its folder: counts tokens of packets exactly (extra `detect`).",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="The file to write; default: in DATA/detect/predictions/.")
]
DEFAULT_POOL, DEFAULT_CUT, DEFAULT_SIDE, DEFAULT_PROTOCOL = ACCEPTED_POOL, "default", "test", "symbol"


def release_of(release: Path | None, data: Path) -> Path:
    """The release folder that is meant."""
    from openclawbench.storage.data_folder import DataFolder

    return release or DataFolder(data).release


def warn_of_baseline(labels: "LabelSet") -> None:
    """Say whose labels these are, where they are the rules judge's."""
    if labels.is_baseline:
        warn(
            "these labels are the rules judge's: a baseline, not annotation. Scores against them say how well a "
            "detector imitates its rules."
        )
