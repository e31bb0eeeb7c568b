"""`openclawbench detect train`: train an adapter on the labels of a release, predict the test side, score it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclawbench.base.terminal import errors, pluralize, safe, warn
from openclawbench.cli.commands.detect.options import (
    DEFAULT_CUT,
    DEFAULT_POOL,
    Cut,
    Pool,
    Release,
    release_of,
)
from openclawbench.cli.commands.detect.results import print_evaluation
from openclawbench.cli.commands.detect.sft_export import BASELINE_LABELS
from openclawbench.cli.commands.exam import check_date
from openclawbench.cli.options import DATA, Data, Date, Json

if TYPE_CHECKING:
    from openclawbench.detect.training.run import TrainingResult

FOLDER = Path("detect") / "training"  # of a data folder


def train(
    data: Data = DATA,
    release: Release = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="The base model: its folder, or OWNER/NAME of a Hub's model on this machine (recipe: T42)."
        ),
    ] = None,
    pool: Pool = DEFAULT_POOL,
    cut: Cut = DEFAULT_CUT,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", help="A recipe of your own; default: the paper's (lora_t42.toml).")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the detector in tables.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The folder to write, one a training; default: in DATA/detect/training/."),
    ] = None,
    may_download: Annotated[
        bool, typer.Option("--allow-download", help="Download the base model if it is not on this machine.")
    ] = False,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make and check the rows, say how long they are; train nothing.")
    ] = False,
    date: Date = None,
    json_out: Json = False,
) -> None:
    """Train an adapter on a release's train side, then predict and score its test side (extra `train`).

    With --cut hold-one-out an adapter for each source model that is held out. The same command goes on where it was
    stopped."""
    from openclawbench.detect.labels import LabelSelection, LabelSet, read_labels
    from openclawbench.detect.pools import EACH_HELD_OUT
    from openclawbench.detect.score.evaluation import evaluate, read_files
    from openclawbench.detect.settings import DetectRules
    from openclawbench.detect.training import run as training
    from openclawbench.detect.training.base_model import require_packages
    from openclawbench.detect.training.held_out import held_out_sides, train_each
    from openclawbench.detect.training.plan import TrainingRun, is_main_process
    from openclawbench.detect.training.recipe import load_recipe
    from openclawbench.exam.sitting import UNSAFE
    from openclawbench.reports.files import as_json
    from openclawbench.storage.data_folder import DataFolder

    check_date(date)
    require_packages()
    rules, chosen = DetectRules.load(), load_recipe(recipe)
    root, base = release_of(release, data), model or chosen.base.model
    stem = UNSAFE.sub("-", f"{name or Path(base).name}.{pool}.{cut}")
    folder = out or DataFolder(data).root / FOLDER / stem

    def run_in(folder: Path, train_side: LabelSet, test_side: LabelSet) -> TrainingRun:
        return TrainingRun(train_side, test_side, folder, chosen, rules, base, recipe, name, may_download, date)

    if is_each := cut == EACH_HELD_OUT:
        runs = [run_in(folder / sides[1].choice.cut, *sides) for sides in held_out_sides(root, pool)]
    else:
        runs = [run_in(folder, *(read_labels(root, LabelSelection(pool, cut, side)) for side in ("train", "test")))]
    speaks = is_main_process()
    if runs[0].train.is_baseline and speaks:
        warn(BASELINE_LABELS)

    def report(line: str) -> None:
        if speaks:
            errors().print(safe(line), highlight=False)

    if is_dry_run:
        for run in runs:
            *_, prepared = training.open_training(run)
            report(f"{f'without {run.test.choice.cut}: ' if is_each else ''}{prepared.sentence(chosen)}")
        return
    trained = train_each(runs, folder, report) if is_each else [training.train(runs[0], report)]
    if not speaks:
        return
    adapters = [end.adapter.model_dump() for end in trained]
    described = {"adapters": adapters} if is_each else {"adapter": adapters[0]}
    if all(end.predictions is None for end in trained):
        warn("the test side holds no trajectory: nothing was predicted.")
        if json_out:
            print(as_json({**described, "evaluation": None}), end="")
        return
    path = folder / training.PREDICTIONS_FILE
    labels = read_labels(root, LabelSelection(pool, cut)) if is_each else runs[0].test
    evaluation = evaluate(labels, read_files([path], rules), rules)
    if json_out:
        print(as_json({**described, "evaluation": evaluation.data()}), end="")
        return
    print_evaluation(evaluation, json_out)
    for run, end in zip(runs, trained, strict=True):
        print_folders(end, run.folder)
    errors().print(f"{safe(str(path))}: openclawbench detect table compares it", highlight=False)


def print_folders(trained: "TrainingResult", folder: Path) -> None:
    """Where an adapter is, and what it learned."""
    adapter = trained.adapter
    phase = adapter.phases[adapter.chosen_phase - 1]
    rated = "" if phase.validation_loss is None else f", validation loss {phase.validation_loss:.4f}"
    learned = pluralize(adapter.label_tokens, "label")
    errors().print(
        f"{safe(str(folder / 'adapter'))}: phase {adapter.chosen_phase}, step {phase.chosen_step} of "
        f"{phase.steps}{rated}; {learned} learned; provenance.json says from what",
        highlight=False,
    )
