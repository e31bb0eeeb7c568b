"""The second annotation pass: its judge, whether it is independent of the first, and its end."""

from openclawbench.errors import UsageError
from openclawbench.flow import COMPARISON
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.runtime.run import Run
from openclawbench.runtime.stage import Stage
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.configuration.setting_table import EMBEDDED, LANGUAGE_MODEL, NO_JUDGE
from openclawbench.workspace.configuration.settings_file import JUDGE, remove_lines
from openclawbench.workspace.settings import Settings, settings

STAGES_OF_SECOND_PASS = {stage.name for stage in SECOND_PASS}


def judge_settings(annotation_pass: int, judge: str | None, model: str | None) -> dict[str, str | None]:
    """The settings that --judge and --model mean in a pass. A model without a judge is a language model."""
    if annotation_pass == 1:
        return {"judge": judge, "model": model}
    return {"second_judge": judge or (LANGUAGE_MODEL if model else None), "second_model": model}


def is_same_judge(settings: Settings) -> bool:
    """True if both passes ask the same judge: the embedded one, or a language model of the same name."""
    same_model = settings.judge == EMBEDDED or settings.model == settings.second_model
    return settings.judge == settings.second_judge and same_model


def independence_warnings(settings: Settings) -> list[str]:
    """A sentence if the passes are not independent."""
    if settings.second_judge is None or not is_same_judge(settings):
        return []
    if settings.judge == EMBEDDED:
        meaning = "The second repeats the first, and their agreement means nothing. Name another judge"
    else:
        meaning = "It is asked twice, and their agreement says how steady it is, not how right. Name another model"
    by = settings.judge if settings.judge == EMBEDDED else settings.model
    return [f"same_judge_twice: both passes are judged by {by}. {meaning} with annotate --pass 2."]


def refuse_stale_second_pass(run: Run, stages: list[Stage]) -> None:
    """Raise UsageError if a release needs answers that only the second pass's judge could give. A run of the first pass
    never asks that judge, so that no costs arise by accident."""
    second = run.judges[2]
    if second is None or second.embedded or stages[-1] not in COMPARISON:
        return
    stale = [report.stale for report in run.plan(stages) if report.stage in STAGES_OF_SECOND_PASS]
    if any(stale):
        raise UsageError(
            f"the second pass ({second.name}, {second.model}) is not up to date: {max(stale)} shards are stale. Run "
            f"`openclawbench annotate --pass 2 --data {run.data.root}` first; with `--judge none` it ends the pass."
        )


def end_second_pass(data: DataFolder) -> None:
    """Take the second pass out of openclawbench.toml and remove its tables. The ledger keeps its answers, so that none
    is paid for twice."""
    data.remote = settings(data).parts
    with data.locked():
        remove_lines(data.root, JUDGE[2])
        for stage in [*SECOND_PASS, *COMPARISON]:
            data.manifest_file(stage.name).unlink(missing_ok=True)
            for record in stage.writes:
                data.sweep(record, {})


def is_end_of_second_pass(annotation_pass: int, judge: str | None) -> bool:
    """True for `annotate --pass 2 --judge none`."""
    return annotation_pass == 2 and judge == NO_JUDGE
