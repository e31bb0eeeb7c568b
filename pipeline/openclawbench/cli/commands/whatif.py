"""`openclawbench whatif`: what other rules would change."""

import json
from pathlib import Path
from typing import Annotated

import typer

from openclawbench.base.terminal import errors, output, safe
from openclawbench.cli.choices import RULE_FILES
from openclawbench.cli.options import DATA, Data, Json

RuleFiles = Annotated[
    list[Path],
    typer.Option("--rules", help=f"A rule file, or a folder of them; may repeat. One of: {', '.join(RULE_FILES)}."),
]


def whatif(
    rules: RuleFiles,
    data: Data = DATA,
    examples: Annotated[int, typer.Option("--examples", min=0, help="Examples of each value that changes.")] = 3,
    packets: Annotated[
        bool, typer.Option("--packets", help="Also which packets change, so that a judge would be asked again.")
    ] = False,
    json_out: Json = False,
) -> None:
    """What other rules would change, without touching the work tables."""
    from openclawbench.api import open_data
    from openclawbench.cli.render.whatif import print_what_if

    for path in files_in_force(rules):
        errors().print(
            f"warning: {safe(str(path))} is the file in force, so it is compared with itself. Give a changed copy. "
            "To see what an edited file in force changes, compare two data folders, run before and after.",
            highlight=False,
        )
    result = open_data(data, may_be_new=True).what_if(rules, examples=examples, packets=packets)
    if missing := result["shards_left_out"]:
        errors().print(f"{missing} of {missing + result['shards']} shards are not up to date and left out")
    if json_out:
        print(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        print_what_if(result, output())


def files_in_force(paths: list[Path]) -> list[Path]:
    """Those of the paths that are themselves rule files in force."""
    from openclawbench.rules.loading.rule_file import rule_path

    known = [rule_path(name) for name in RULE_FILES]
    return [path for path in paths if any(path.is_file() and path.samefile(own) for own in known if own.is_file())]
