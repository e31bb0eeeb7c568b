"""What judging would cost, before anything is sent: `annotate --dry-run`, and a release that nobody judged."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from openclawbench.base.terminal import pluralize
from openclawbench.errors import UsageError
from openclawbench.fulltax.forecast import FollowUpForecaster
from openclawbench.judge.ask import ShardQuestions
from openclawbench.judge.client.cost_estimate import CallAverages, CostEstimate, EstimateReached, EstimatingJudge, plan
from openclawbench.judge.language_model import LanguageModelJudge
from openclawbench.judge.prompts import PromptA
from openclawbench.judge.protocol import Judge
from openclawbench.records.fulltax import RequestA
from openclawbench.records.packet import Packet
from openclawbench.rules.judge.prices import Price
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import DataFolder, part_name
from openclawbench.workspace.configuration.setting_table import LANGUAGE_MODEL
from openclawbench.workspace.judges import make_judge
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import Settings
from openclawbench.workspace.update import update

SAMPLED = 200  # trajectories at most whose questions are made; shards are drawn by hash, so that any are like all
NOT_SHOWN = "no model"  # the name in the requests whose bytes are counted
NO_PRICE = Price(0.0, 0.0, 0.0, "not stated")


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


@dataclass(frozen=True)
class JudgingCost:
    """Calls and tokens of judging every record once, by forecast; `usd` at the prices that the settings state, null
    without."""

    records: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None

    def lines(self, data: Path) -> list[str]:
        """The cost, and the ways to judge, for people."""
        price = "no price is stated: --price-in and --price-out" if self.usd is None else f"about {self.usd:.2f} USD"
        where = f"--data {quote(str(data))}"
        return [
            f"judging  {pluralize(self.records, 'record')}: about {self.calls} calls, {self.prompt_tokens} prompt "
            f"tokens and {self.completion_tokens} answer tokens; {price}.",
            f"an endpoint: openclawbench annotate --judge openai --model MODEL --base-url URL {where}",
            f"batch files: openclawbench annotate --judge openai --model MODEL --batch-files DIR {where}",
            f"then the labels: openclawbench release {where}",
        ]


def judging_cost(run: Run, settings: Settings) -> JudgingCost | None:
    """The cost of judging what waits for a judge; None if nothing does. The stages up to ask_a must be up to date."""
    keys, names = run.keys[RequestA], run.present(RequestA)
    shards = {shard: key for shard, key in keys.items() if part_name(shard, key) in names}
    records = run.data.rows(RequestA, shards)
    judge = make_judge(LANGUAGE_MODEL, NOT_SHOWN, run.data.ledger / NOT_SHOWN, settings.asking)
    assert isinstance(judge, LanguageModelJudge)
    parts, sampled = [], 0
    for shard, key in sorted(shards.items(), key=str):
        requests = run.data.scan(RequestA, {shard: key}).head(SAMPLED - sampled).collect()
        if requests.height:
            material = run.data.scan(Packet, {shard: run.keys[Packet][shard]})
            parts.append(ShardQuestions(requests.lazy(), material, PromptA.load()))
            sampled += requests.height
        if sampled == SAMPLED:
            break
    stated = (settings.asking.price_in, settings.asking.price_cached, settings.asking.price_out)
    price = None if stated[0] is None or stated[2] is None else Price(stated[0], stated[1] or stated[0], stated[2], "")
    try:
        EstimatingJudge(judge, FollowUpForecaster()).prepare("a", parts, sampled)
    except EstimateReached as reached:
        for counted in reached.counted.values():
            counted.calls, counted.request_bytes = (
                number * records / sampled for number in (counted.calls, counted.request_bytes)
            )
        assumed = judge.rules.estimate
        averages = CallAverages(assumed.bytes_per_token, {**assumed.completion_tokens}, {**assumed.reasoning_tokens})
        stages = plan(reached, averages, judge, price or NO_PRICE)
        return JudgingCost(
            records=records,
            calls=sum(stage.calls for stage in stages),
            prompt_tokens=sum(stage.prompt_tokens for stage in stages),
            completion_tokens=sum(stage.completion_tokens for stage in stages),
            usd=None if price is None else sum(stage.usd for stage in stages),
        )
    return None
