"""`openclawbench annotate`: FullTax, the second pass, repeated questions, and the cost estimate."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from openclawbench.base.terminal import errors, output, pluralize, safe, table
from openclawbench.cli.choices import ANSWER_FAULTS
from openclawbench.cli.commands.stages import JUDGED, run_to
from openclawbench.cli.options import DATA, NO_FLAGS, Data, Debug, Flags, IsDryRun, Json, choices, with_settings
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.workspace.dry_run import DryRun

FullTaxStage = Annotated[
    str | None,
    typer.Option(
        "--stage", help="Stop after FullTax stage a, b1, b2 or c.", autocompletion=choices("a", "b1", "b2", "c")
    ),
]
AnnotationPass = Annotated[
    int, typer.Option("--pass", min=1, max=2, help="2: once more, with another judge, beside the first.")
]
AskAgain = Annotated[
    str | None,
    typer.Option(
        "--ask-again",
        help=f"Ask questions again that ended so, separated by commas: {', '.join(ANSWER_FAULTS)}.",
        autocompletion=choices(*ANSWER_FAULTS),
    ),
]


@with_settings(*JUDGED)
def annotate(
    data: Data = DATA,
    stage: FullTaxStage = None,
    annotation_pass: AnnotationPass = 1,
    is_dry_run: IsDryRun = False,
    ask_again: AskAgain = None,
    json_out: Json = False,
    debug: Debug = False,
    flags: Flags = NO_FLAGS,
) -> None:
    """FullTax: stages A, B1, B2, C, checks and repairs; --pass 2 for an independent second judge."""
    from openclawbench.flow import VERBS
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.second_pass import end_second_pass, is_end_of_second_pass, judge_settings

    verb = "annotate" if stage is None else f"stage-{stage}"
    if verb not in VERBS:
        raise UsageError(f"--stage {stage}: FullTax has no such stage. Use a, b1, b2 or c.")
    judge = flags.pop("judge")
    if not is_dry_run and is_end_of_second_pass(annotation_pass, judge):
        end_second_pass(DataFolder(data))
        output().print("the second pass is ended and its tables are gone; the ledger keeps its answers")
        return
    flags |= judge_settings(annotation_pass, judge, flags.pop("model"))
    if is_dry_run and ask_again is not None:
        raise UsageError("--ask-again: `openclawbench ledger stats` says how many they are. Leave --dry-run out.")
    if is_dry_run:
        print_dry_run(data, verb, json_out, annotation_pass, flags)
        return
    if ask_again is not None:
        reopen(data, annotation_pass, ask_again, flags)
    run_to(verb, data, json_out, annotation_pass, debug, **flags)


def reopen(data: Path, annotation_pass: int, ask_again: str, flags: Flags) -> None:
    """Mark questions to be asked again by the run that follows."""
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.ask_again import reopen_questions
    from openclawbench.workspace.settings import settings

    outcomes = list(dict.fromkeys(name.strip() for name in ask_again.split(",") if name.strip()))
    folder = DataFolder(data)
    count = reopen_questions(folder, settings(folder, **flags), annotation_pass, outcomes)
    errors().print(f"{pluralize(count, 'question')} that ended as {', '.join(outcomes)} to be asked again")


def print_dry_run(data: Path, verb: str, json_out: bool, annotation_pass: int, flags: Flags) -> None:
    """Estimate and print what the verb would ask."""
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.dry_run import dry_run
    from openclawbench.workspace.settings import settings

    folder = DataFolder(data)
    with ConsoleProgress(quiet=json_out) as progress:
        estimate = dry_run(folder, settings(folder, **flags), verb, progress, annotation_pass)
    if json_out:
        print(json.dumps(as_data(estimate), indent=1))
    else:
        print_estimate(estimate, output())


def as_data(estimate: "DryRun") -> dict[str, Any]:
    """The estimate for --json. The price is USD per million tokens."""
    stages = estimate.stages
    return {
        "price": asdict(estimate.price),
        "stages": [asdict(stage) for stage in stages],
        "calls": sum(stage.calls for stage in stages),
        "usd": sum(stage.usd for stage in stages),
        "most_calls": sum(stage.most_calls for stage in stages),
        "most_usd": sum(stage.most_usd for stage in stages),
        "endpoint": estimate.endpoint,
    }


def print_estimate(estimate: "DryRun", console: Console) -> None:
    """The estimate for people."""
    from openclawbench.judge.client.cost_estimate import ENOUGH

    if not estimate.stages:
        console.print("nothing would be asked: the ledger has every answer")
        return
    names = ["stage", "questions", "answered", "calls", "at most", "prompt tokens", "answer tokens", "USD", ""]
    rows = [
        [
            *(stage.stage, stage.questions, stage.answered, stage.calls, stage.most_calls),
            *(stage.prompt_tokens, stage.completion_tokens, f"{stage.usd:.4f}"),
            "forecast: who goes on is as the rules judge says" if stage.estimate else "questions counted",
        ]
        for stage in estimate.stages
    ]
    total, price = as_data(estimate), estimate.price
    console.print(table("Nothing was sent", names, rows))
    console.print(f"{safe(estimate.endpoint)} would be asked")
    console.print(
        f"together about {total['calls']} calls, {total['usd']:.4f} USD; at most {total['most_calls']} calls, "
        f"{total['most_usd']:.2f} USD: every trajectory through every stage, every question asked once more, every "
        "answer as long as it may be"
    )
    if reasoning := sum(stage.reasoning_tokens for stage in estimate.stages):
        console.print(
            f"of the answer tokens {reasoning} are assumed for reasoning (asking.toml, [estimate.reasoning_tokens]); "
            f"from {ENOUGH} answers on, tokens are those of the ledger's answers"
        )
    console.print(
        f"at {price.input:g} USD for a million prompt tokens ({price.cached:g} cached) and {price.output:g} for a "
        f"million answer tokens: {price.source}"
    )
    console.print("without discounts for cached prompts, and without calls that fail and are repeated")
