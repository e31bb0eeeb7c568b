"""`openclawbench detect run`: ask a model for the labels of trajectories, and score its answers."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import output, pluralize, safe
from openclawbench.cli.commands.detect.options import (
    DEFAULT_CUT,
    DEFAULT_POOL,
    DEFAULT_PROTOCOL,
    DEFAULT_SIDE,
    Cut,
    Out,
    Pool,
    Protocol,
    Release,
    Side,
    TokenizerPath,
    release_of,
)
from openclawbench.cli.commands.detect.results import predictions_path, write_and_show
from openclawbench.cli.commands.exam import check_date
from openclawbench.cli.options import ASKING, DATA, NO_FLAGS, Data, Date, Flags, IsDryRun, Json, with_settings
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.detect.asking import RunPlan

MODEL = ("model",)


@with_settings(MODEL, ASKING)
def run(
    data: Data = DATA,
    release: Release = None,
    pool: Pool = DEFAULT_POOL,
    cut: Cut = DEFAULT_CUT,
    side: Side = DEFAULT_SIDE,
    protocol: Protocol = DEFAULT_PROTOCOL,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the detector in tables; default: model and protocol.")
    ] = None,
    reasoning_effort: Annotated[
        str | None, typer.Option("--reasoning-effort", help="Sent as it is to a model that reasons.")
    ] = None,
    tokenizer: TokenizerPath = None,
    accept_unreadable: Annotated[
        bool,
        typer.Option(
            "--accept-unreadable", help="Go on however many answers in a row hold no label: they count as wrong."
        ),
    ] = False,
    is_dry_run: IsDryRun = False,
    out: Out = None,
    date: Date = None,
    json_out: Json = False,
    flags: Flags = NO_FLAGS,
) -> None:
    """Ask a model about each trajectory once, over an OpenAI-compatible endpoint, and score it. A run that was stopped
    goes on when you call it again, and pays for nothing twice."""
    from openclawbench.cli.progress import ConsoleProgress
    from openclawbench.detect.asking import DetectorRun, plan_run, run_detector
    from openclawbench.detect.labels import LabelSelection, read_labels, require_items
    from openclawbench.detect.settings import DetectRules
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.settings import ASKING as HOW_TO_ASK
    from openclawbench.workspace.settings import settings

    check_date(date)
    folder = DataFolder(data)
    chosen = settings(folder, True, **flags)
    chosen.refuse_untrusted(HOW_TO_ASK, data)
    if not chosen.model:
        raise UsageError("which model? Name it with --model.")
    labels = read_labels(release_of(release, data), LabelSelection(pool, cut, side))
    require_items(labels)
    wanted = DetectorRun(
        name=name or f"{chosen.model} ({protocol})",
        model=chosen.model,
        protocol=protocol,
        labels=labels,
        rules=DetectRules.load(),
        settings=chosen.asking,
        reasoning_effort=reasoning_effort,
        accept_unreadable=accept_unreadable,
        tokenizer=tokenizer,
    )
    path = predictions_path(out, data, wanted.name, labels)
    if is_dry_run:
        print_plan(plan_run(wanted, folder), json_out)
        return
    with ConsoleProgress(quiet=json_out) as progress:
        predicted, provenance = run_detector(wanted, folder, progress)
    write_and_show(path, predicted, provenance | {"date": date}, labels, wanted.rules, json_out, out is not None)


def print_plan(plan: "RunPlan", json_out: bool) -> None:
    """Print what a run would ask and cost."""
    if json_out:
        print(json.dumps(asdict(plan), indent=1))
        return
    console = output()
    console.print(f"nothing was sent; {safe(plan.endpoint)} would be asked", highlight=False)
    console.print(
        f"{pluralize(plan.questions, 'question')}; labelled trajectories: {plan.trajectories - plan.reviewed}; "
        f"{f'reviewed by people beside them: {plan.reviewed}; ' if plan.reviewed else ''}"
        f"{plan.answered} answered already; {plan.questions - plan.answered} to ask",
        highlight=False,
    )
    console.print(
        f"about {pluralize(plan.prompt_tokens, 'prompt token')} and at most "
        f"{pluralize(plan.most_completion_tokens, 'answer token')}: at most {plan.most_usd:.4f} USD",
        highlight=False,
    )
    console.print(f"price: {safe(plan.price)}", highlight=False)
    if plan.shortened:
        console.print(
            f"{pluralize(plan.shortened, 'packet')} shortened: {plan.characters_left_out} characters left out, "
            f"{pluralize(plan.blocks_left_out, 'block')} whole",
            highlight=False,
        )
