"""`openclawbench detect`: detectors over the labels of a release (paper section 5, F.7 to F.10)."""

import typer

from openclawbench.cli.commands.detect.check_tokenizer import check_tokenizer_
from openclawbench.cli.commands.detect.prompt import prompt

app = typer.Typer(
    help="Detectors over the labels of a release: ask a model, fit baselines, score, compare.", no_args_is_help=True
)
app.command("prompt")(prompt)
app.command("check-tokenizer")(check_tokenizer_)
