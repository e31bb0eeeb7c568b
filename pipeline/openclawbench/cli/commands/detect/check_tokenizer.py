"""`openclawbench detect check-tokenizer`: is each symbol a single token?"""

from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import output, safe, table
from openclawbench.cli.options import Json
from openclawbench.errors import NEEDS_A_PERSON


def check_tokenizer_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A tokenizer.json, or the folder of a model.")],
    json_out: Json = False,
) -> None:
    """Whether each of the six symbols is a single token of a tokenizer; exit status 1 where one is not."""
    from openclawbench.detect.settings import DetectRules
    from openclawbench.detect.tokenizer import check_tokenizer
    from openclawbench.reports.files import as_json

    check = check_tokenizer(path, DetectRules.load())
    if json_out:
        print(as_json(check.data()), end="")
    else:
        rows = [
            [row.symbol, f"U+{ord(row.symbol):04X}", row.label, row.tokens, row.after_blank] for row in check.symbols
        ]
        output().print(table(safe(str(path)), ["symbol", "", "label", "tokens", "after a blank"], rows))
        output().print(f"\n{check.sentence}")
    if not check.is_good:
        raise typer.Exit(NEEDS_A_PERSON)
