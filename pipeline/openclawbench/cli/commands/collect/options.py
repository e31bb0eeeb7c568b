"""Options of several commands of `openclawbench collect`."""

from pathlib import Path
from typing import Annotated

import typer

FOLDER = "collect"  # of a data folder
Bfcl = Annotated[
    Path | None,
    typer.Option("--bfcl", help="A Python that has bfcl-eval; default: OPENCLAWBENCH_BFCL_PYTHON, or bfcl/bin/python."),
]
