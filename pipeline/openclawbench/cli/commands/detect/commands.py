"""`openclawbench detect`: detectors over the labels of a release (paper section 5, F.7 to F.10)."""

import typer

from openclawbench.cli.commands.detect.baseline import baseline
from openclawbench.cli.commands.detect.check_tokenizer import check_tokenizer_
from openclawbench.cli.commands.detect.prompt import prompt
from openclawbench.cli.commands.detect.run import run
from openclawbench.cli.commands.detect.score import score
from openclawbench.cli.commands.detect.sft_export import sft_export
from openclawbench.cli.commands.detect.table import table
from openclawbench.cli.commands.detect.train import train

app = typer.Typer(
    help="Detectors over the labels of a release: ask a model, fit baselines, score, compare.", no_args_is_help=True
)
app.command("prompt")(prompt)
app.command("check-tokenizer")(check_tokenizer_)
app.command("run")(run)
app.command("baseline")(baseline)
app.command("score")(score)
app.command("table")(table)
app.command("sft-export")(sft_export)
app.command("train")(train)
