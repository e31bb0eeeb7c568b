"""`annotate --dry-run`: calls, tokens and USD of each stage, before anything is sent."""

from dataclasses import dataclass

from openclawbench.errors import UsageError
from openclawbench.fulltax.forecast import FollowUpForecaster
from openclawbench.judge.client.cost_estimate import CallAverages, CostEstimate, EstimateReached, EstimatingJudge, plan
from openclawbench.judge.language_model import LanguageModelJudge
from openclawbench.judge.protocol import Judge
from openclawbench.rules.judge.prices import Price
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import Settings
from openclawbench.workspace.update import update


@dataclass(frozen=True)
class DryRun:
    """The questions that a run would still ask. `stages` is empty if the ledger has every answer."""

    stages: list[CostEstimate]
    price: Price  # USD per million tokens
    endpoint: str  # as it may be printed


def dry_run(data: DataFolder, settings: Settings, verb: str, progress: Progress, annotation_pass: int) -> DryRun:
    """Estimate what a verb would ask. Stages before the first question are brought up to date, because they decide what
    is asked. Nothing is sent, and the judge is not saved in the data folder."""
    priced: list[tuple[LanguageModelJudge, Price]] = []

    def estimating(judge: Judge | None) -> Judge:
        if not isinstance(judge, LanguageModelJudge) or judge.asking is None:
            raise UsageError("--dry-run: this judge costs nothing. Use it with --judge openai --model NAME.")
        priced.append((judge, judge.asking.price()))
        return EstimatingJudge(judge, FollowUpForecaster())

    if settings.shard is not None:
        raise UsageError("--dry-run: estimates the whole corpus. Leave --shard out.")
    stages: list[CostEstimate] = []
    try:
        update(data, settings, verb, progress, annotation_pass, estimating, notes=False)
    except EstimateReached as reached:
        judge, price = priced[-1]
        stages = plan(reached, CallAverages.of(judge, judge.rules.estimate), judge, price)
    judge, price = priced[-1]
    return DryRun(stages, price, judge.asking.place() if judge.asking else "")
