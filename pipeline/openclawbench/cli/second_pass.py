"""The second annotation pass on the command line: whom `annotate --pass 2` asks, what must be said of it, its end."""

from typing import Annotated

import typer

from openclawbench.cli.judge_factory import JUDGES
from openclawbench.cli.settings import NO_JUDGE, Settings, settings
from openclawbench.errors import UsageError
from openclawbench.flow import COMPARISON
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.runtime.run import Run
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import DataFolder

Pass = Annotated[int, typer.Option("--pass", min=1, max=2, help="2: once more, with another judge, beside the first.")]
OF_SECOND = {stage.name for stage in SECOND_PASS}


def judge_flags(annotation_pass: int, judge: str | None, model: str | None) -> dict[str, str | None]:
    """Settings that --judge and --model mean in a pass. A model without a judge is a language model."""
    if annotation_pass == 1:
        return {"judge": judge, "model": model}
    return {"second_judge": judge or (JUDGES[1] if model else None), "second_model": model}


def notes(settings: Settings) -> list[str]:
    """A sentence where the passes are not independent."""
    if settings.second_judge is None or not same_judge(settings):
        return []
    return [
        f"same_judge_twice: both passes are judged by {settings.judge}. The second says what the first said, and their "
        "agreement says nothing. Name another judge with annotate --pass 2."
    ]


def same_judge(settings: Settings) -> bool:
    """True where both passes ask the same judge: the embedded one, or a language model of the same name."""
    same_model = settings.judge == JUDGES[0] or settings.model == settings.second_model
    return settings.judge == settings.second_judge and same_model


def refuse_stale(run: Run, stages: list[Stage]) -> None:
    """UsageError where a release needs answers of the second pass that only its judge could give: a run of the first
    pass never asks it, so that nobody pays unasked."""
    second = run.judges[2]
    if second is None or second.embedded or stages[-1] not in COMPARISON:
        return
    stale = [report.stale for report in run.plan(stages) if report.stage in OF_SECOND]
    if any(stale):
        raise UsageError(
            f"the second pass ({second.name}, {second.model}) is not up to date: {max(stale)} shards are stale. Run "
            f"`openclawbench annotate --pass 2 --data {run.data.root}` first; with `--judge none` it ends the pass."
        )


def ended(data: DataFolder, annotation_pass: int, judge: str | None) -> bool:
    """True where `annotate --pass 2 --judge none` has ended the second pass: it is forgotten and its tables are
    removed. The ledger keeps its answers, so that none is paid for twice."""
    if annotation_pass == 1 or judge != NO_JUDGE:
        return False
    data.remote = settings(data).parts
    with data.locked():
        data.save_layout({name: one for name, one in data.layout().items() if not name.startswith("second_")})
        for stage in [*SECOND_PASS, *COMPARISON]:
            data.manifest_file(stage.name).unlink(missing_ok=True)
            for record in stage.writes:
                data.sweep(record, {})
    return True
