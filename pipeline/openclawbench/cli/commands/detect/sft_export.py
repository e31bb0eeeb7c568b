"""`openclawbench detect sft-export`: labelled trajectories as rows that a detector is trained on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import errors, output, pluralize, safe, table, warn
from openclawbench.cli.choices import SIDES
from openclawbench.cli.commands.detect.options import (
    DEFAULT_CUT,
    DEFAULT_POOL,
    Cut,
    Pool,
    Release,
    TokenizerPath,
    release_of,
)
from openclawbench.cli.options import DATA, Data, Json, choices
from openclawbench.errors import UsageError

if TYPE_CHECKING:
    from openclawbench.records.detection.training import TrainingExport

FOLDER = Path("detect") / "sft"  # of a data folder
NO_BALANCE = "none"
BASELINE_LABELS = (
    "these labels are the rules judge's: a baseline, not annotation. What is trained on them imitates its rules. Do "
    "not train on them as if a person or a language model had judged."
)


def sft_export(
    data: Data = DATA,
    release: Release = None,
    pool: Pool = DEFAULT_POOL,
    cut: Cut = DEFAULT_CUT,
    side: Annotated[
        str, typer.Option("--side", "--split", help="Side of the cut: train or test.", autocompletion=choices(*SIDES))
    ] = "train",
    form: Annotated[
        str,
        typer.Option(
            "--form",
            help="chat: prompt and completion as messages, for trl; completion: the same as texts, for a base model "
            "without a chat template; messages: one list of messages, as services that fine-tune take it.",
            autocompletion=choices("chat", "completion", "messages"),
        ),
    ] = "chat",
    balance: Annotated[
        str | None,
        typer.Option(
            "--balance",
            metavar="1:N",
            help="Anomalous to normal rows of an epoch at most, drawn anew each time; or none. Default: 1:2 (T42).",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help="Epochs that are drawn; default: 5 (T42).")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the draws; default: 1.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=1, help="Tokens of a row at most, its label included; default: 8192 (T42)."),
    ] = None,
    tokenizer: TokenizerPath = None,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="A recipe of your own, for the defaults of these options.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write; default: in DATA/detect/sft/.")
    ] = None,
    json_out: Json = False,
) -> None:
    """Write the labelled trajectories of a side as training rows, with the draws of each epoch and a manifest.

    With --cut hold-one-out a folder for each source model that is held out."""
    from dataclasses import replace

    from openclawbench.detect.labels import LabelSelection, held_out_models, read_labels
    from openclawbench.detect.pools import EACH_HELD_OUT
    from openclawbench.detect.settings import DetectRules
    from openclawbench.detect.training.export import export_rows, options_of
    from openclawbench.detect.training.recipe import load_recipe
    from openclawbench.reports.files import as_json
    from openclawbench.storage.data_folder import DataFolder

    rules, base = DetectRules.load(), load_recipe(recipe)
    by_recipe = options_of(base, form, tokenizer)
    options = replace(
        by_recipe,
        normal_per_anomalous=by_recipe.normal_per_anomalous if balance is None else ratio(balance),
        epochs=by_recipe.epochs if epochs is None else epochs,
        seed=by_recipe.seed if seed is None else seed,
        max_tokens=by_recipe.max_tokens if max_tokens is None else max_tokens,
    )
    root, folder = release_of(release, data), out or DataFolder(data).root / FOLDER / f"{pool}.{cut}.{side}.{form}"
    is_each = cut == EACH_HELD_OUT and side == "train"
    folders = {model: folder / model for model in held_out_models(root, pool)} if is_each else {cut: folder}
    manifests = []
    for own_cut, own_folder in folders.items():
        labels = read_labels(root, LabelSelection(pool, own_cut, side))
        manifests.append(export_rows(labels, own_folder, options, base, rules))
        if json_out:
            continue
        if labels.is_baseline and len(manifests) == 1:
            warn(BASELINE_LABELS)
        show(manifests[-1], own_folder)
    if json_out:
        dumped = [manifest.model_dump() for manifest in manifests]
        print(as_json({"exports": dumped} if is_each else dumped[0]), end="")


def ratio(balance: str) -> float:
    """N of 1:N; 0 for none. Raises UsageError."""
    if balance == NO_BALANCE:
        return 0.0
    anomalous, colon, normal = balance.partition(":")
    try:
        number = float(normal)
    except ValueError:
        number = 0.0
    if anomalous != "1" or not colon or not 0 < number < float("inf"):
        raise UsageError(
            f"--balance {balance}: is not of the form 1:2 (one anomalous row to two normal ones), or none."
        )
    return number


def show(manifest: "TrainingExport", folder: Path) -> None:
    """Print what was written, and what was left out."""
    rows = [[label.name, label.count] for label in manifest.labels]
    output().print(table(f"{manifest.side} rows: pool {manifest.pool}, {manifest.cut} cut", ["label", "rows"], rows))
    tokens, lines = manifest.tokens, []
    lines.append(
        f"{pluralize(manifest.rows, 'row')}, {tokens.total} tokens ({tokens.counted_by}): median {tokens.median}, "
        f"longest {tokens.longest}, at most {manifest.max_tokens}"
    )
    if manifest.epochs:
        balance = f"1:{manifest.normal_per_anomalous:g}" if manifest.normal_per_anomalous else NO_BALANCE
        lines.append(
            f"{pluralize(manifest.epochs, 'epoch')} of {pluralize(manifest.rows_of_an_epoch, 'row')}, "
            f"balance {balance}, seed {manifest.seed}"
        )
    lines.append(
        f"shortened: {pluralize(manifest.shortened, 'packet')}, by {manifest.characters_left_out} characters; "
        "left out: " + (", ".join(f"{reason.count} {reason.name}" for reason in manifest.left_out) or "nothing")
    )
    for line in lines:
        output().print(safe(line), highlight=False)
    errors().print(f"{safe(str(folder))}: manifest.json names its files", highlight=False)
