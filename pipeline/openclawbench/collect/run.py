"""Run the sessions of a plan with real OpenClaw agents: in parallel, with time limits, and resumable."""

import hashlib
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclawbench.base.terminal import flat
from openclawbench.collect.collection import CollectedSession, Collection, last_rows
from openclawbench.collect.forecast import CostForecast, Measured, count_sessions, totals
from openclawbench.collect.openclaw import OpenClaw
from openclawbench.collect.plan import SCRIPTED, Plan, PlannedSession, SourceModel
from openclawbench.collect.serve import CALLS
from openclawbench.collect.worker import SessionEnd, Worker, WorkerContext
from openclawbench.errors import BudgetReached, UsageError
from openclawbench.storage.data_folder import write_atomic

if TYPE_CHECKING:
    from openclawbench.collect.scripted_endpoint import ScriptedEndpoint

MAX_TRIES = 3  # of a session that the infrastructure ended
MAX_FAILED_IN_A_ROW = 3  # sessions of a source model: then its endpoint is at fault, and no more of it are begun
RATE_LIMITED = 429
HOLDS_KEY = (
    "the session holds the key of its endpoint, so nothing of it is kept. Give the agent no way to read the key, and "
    "run the same command again"
)
PAUSE_S = 2.0  # before another try, doubled each time


@dataclass
class Progress:
    """Progress of a run. `usd`, `tokens`: of all sessions of this folder, including those of earlier plans and those
    that the infrastructure ended; `unpriced`: how many of them took tokens whose price is not known, which `usd` lacks;
    `rate`: of this run; `stopped`: source model -> why none of its sessions is begun any more."""

    total: int
    done: int = 0
    begun_with: int = 0
    infra_errors: int = 0
    usd: float = 0.0
    unpriced: int = 0
    tokens: int = 0
    concurrency: int = 1
    started: float = field(default_factory=time.monotonic)
    measured: Measured = field(default_factory=Measured)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)  # (source model, category) -> sessions
    stopped: dict[str, str] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Sessions per second in this run."""
        return (self.done - self.begun_with) / max(time.monotonic() - self.started, 0.001)

    def add(self, row: CollectedSession) -> None:
        """Note the end of a session."""
        self.spend(row)
        measure(self.measured, row)
        if row.status == "collected":
            self.done += 1
            self.left[row.source_model, row.subset] -= 1
        else:
            self.infra_errors += 1

    def spend(self, row: CollectedSession) -> None:
        """Count what a session took, of this run or of an earlier one."""
        self.usd += row.usd or 0.0
        self.unpriced += row.usd is None and row.tokens_in + row.tokens_out > 0
        self.tokens += row.tokens_in + row.tokens_out

    def totals(self) -> dict[str, Any]:
        """The forecast for the remaining sessions, in total."""
        return totals(self.measured.forecasts(self.left), self.concurrency)


@dataclass(frozen=True)
class Options:
    """`budget_*`: limits of the whole collection; beyond them no further session is started. `has_network`: the agent
    may use this machine's network."""

    concurrency: int = 2
    task_timeout_s: float = 900.0
    budget_usd: float | None = None
    budget_tokens: int | None = None
    has_network: bool = False


def keys_of(plan: Plan) -> dict[str, str | None]:
    """Source model -> its key, from the environment. UsageError for one that is not there."""
    keys: dict[str, str | None] = {}
    for source in plan.source_models:
        if source.api_key_env and not source.key:
            raise UsageError(f"{source.api_key_env} is not set; it should hold the key of source model {source.name}.")
        keys[source.name] = source.key
    return keys


def remaining_sessions(plan: Plan, ended: dict[tuple[str, str], CollectedSession]) -> list[PlannedSession]:
    """Sessions to be made: not recorded yet, ended by the infrastructure, or changed in the plan since."""
    remaining = []
    for planned in plan.sessions():
        row = ended.get((planned.source_model.name, planned.name))
        if row is None or row.status != "collected" or row.digest != planned.digest:
            remaining.append(planned)
    return remaining


def collect(
    collection: Collection,
    plan: Plan,
    openclaw: OpenClaw,
    bfcl: Path,
    options: Options,
    on_progress: Callable[[Progress, CollectedSession | None], None],
) -> Progress:
    """Make every session that is left. `on_progress` is called after each, from one thread at a time.

    A source model that fails stops itself alone (`Progress.stopped`): the others go on. BudgetReached (exit status 3)
    leaves everything made so far; the same call goes on from there.
    """
    from openclawbench.collect.relay import relay
    from openclawbench.collect.scripted_endpoint import scripted_endpoint

    if options.budget_usd is not None:
        refuse_unpriced({source.name for source in plan.source_models if source.price is None})
    with collection.locked():
        rows, keys = list(collection.rows()), keys_of(plan)
        ended = last_rows(rows)
        remaining = remaining_sessions(plan, ended)
        progress = Progress(total=plan.size, concurrency=options.concurrency, left=count_sessions(remaining))
        progress.done = progress.begun_with = progress.total - len(remaining)
        for row in rows:
            progress.spend(reprice_session(row, plan))
        if options.budget_usd is not None and progress.unpriced:
            refuse_unpriced({row.source_model for row in rows if reprice_session(row, plan).usd is None})
        progress.measured = measured_of(ended.values(), plan)
        on_progress(progress, None)
        is_scripted = any(planned.source_model.base_url == SCRIPTED for planned in remaining)
        scripted = scripted_endpoint() if is_scripted else nullcontext()
        with scripted as endpoint, relay(options.concurrency) as sockets:
            context = WorkerContext(
                collection.folder, openclaw, bfcl, options.task_timeout_s, options.has_network, sockets
            )
            pool = WorkerPool(collection, plan, context, options, progress, on_progress, keys, endpoint)
            pool.work(remaining, [Worker(number, context) for number in range(options.concurrency)])
        return progress


def refuse_unpriced(names: set[str]) -> None:
    """Raise UsageError if these source models, whose price is not known, are any: a budget in USD needs their price."""
    if names:
        raise UsageError(
            f"--budget-usd: the price of source model {', '.join(sorted(names))} is not known, so a budget would not "
            "hold. Plan with --price-in and --price-out (USD for a million tokens; 0 where nothing is paid), or use "
            "--budget-tokens."
        )


class WorkerPool:
    """The workers of a run, one thread per worker, and what they share."""

    def __init__(
        self,
        collection: Collection,
        plan: Plan,
        context: WorkerContext,
        options: Options,
        progress: Progress,
        on_progress: Callable[[Progress, CollectedSession | None], None],
        keys: dict[str, str | None],
        endpoint: "ScriptedEndpoint | None",
    ) -> None:
        self.collection, self.plan, self.context, self.options = collection, plan, context, options
        self.progress, self.on_progress, self.keys, self.endpoint = progress, on_progress, keys, endpoint
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.failed_in_a_row: Counter[str] = Counter()  # by source model
        self.plan_digest = plan.digest

    def work(self, sessions: list[PlannedSession], workers: list[Worker]) -> None:
        """Run all sessions. Every process has ended when this returns or raises."""
        tasks: queue.SimpleQueue[PlannedSession] = queue.SimpleQueue()
        for planned in sessions:
            tasks.put(planned)
        with ThreadPoolExecutor(max_workers=len(workers)) as threads:
            try:
                futures = [threads.submit(self.work_on_tasks, worker, tasks) for worker in workers]
                for future in as_completed(futures):
                    future.result()
            finally:
                self.stop.set()
                for worker in workers:
                    worker.kill()

    def work_on_tasks(self, worker: Worker, tasks: "queue.SimpleQueue[PlannedSession]") -> None:
        """The loop of a worker's thread: one session after the other, until none is left or the run stops."""
        try:
            while not self.stop.is_set():
                try:
                    planned = tasks.get_nowait()
                except queue.Empty:
                    return
                if planned.source_model.name in self.progress.stopped:
                    continue
                self.check_budget()
                self.make_session(worker, planned)
        finally:
            worker.close()
            worker.remove_homes()

    def check_budget(self) -> None:
        """Raise BudgetReached if no further session may be started."""
        for spent, most, unit in (
            (self.progress.usd, self.options.budget_usd, "USD"),
            (self.progress.tokens, self.options.budget_tokens, "tokens"),
        ):
            if most is not None and spent >= most:
                raise BudgetReached(
                    f"the collection has cost {spent:g} {unit}, and the budget is {most:g}. "
                    "What was collected is kept; raise the budget to go on."
                )

    def make_session(self, worker: Worker, planned: PlannedSession) -> None:
        """Make a session; where the infrastructure ends it, try again in a fresh home."""
        source, session, ended = planned.source_model, planned.name, None
        spent = [0, 0, 0]
        earlier: list[str] = []
        for number in range(1, MAX_TRIES + 1):
            session = planned.name if number == 1 else f"{planned.name}-t{number}"
            base_url, key = source.base_url, self.keys[source.name]
            if source.base_url == SCRIPTED:
                assert self.endpoint is not None
                self.endpoint.load(worker.number, planned.task.script)
                base_url, key = self.endpoint.base_url(worker.number), self.endpoint.key
            ended = without_key(worker.run_task(planned, session, base_url, key))
            if self.stop.is_set() and ended.error:
                return  # ended from outside: it is made again by the next run
            for place, amount in enumerate(amounts(ended)):
                spent[place] += amount
            if ended.error is None or ended.error == HOLDS_KEY or ended.upstream.refusal or number == MAX_TRIES:
                break
            earlier.append(ended.error)
            if self.stop.wait(PAUSE_S * 2 ** (number - 1)):
                return
        assert ended is not None
        self.store_session(planned, session, ended, earlier, spent)

    def store_session(
        self, planned: PlannedSession, session: str, ended: SessionEnd, earlier: list[str], spent: list[int]
    ) -> None:
        """Write the records, then the line that says that they are there."""
        source = planned.source_model
        if ended.content is not None:
            write_atomic(self.collection.session_file(source.name, session, CALLS), [ended.journal])
            write_atomic(self.collection.session_file(source.name, session), [ended.content])
        row = CollectedSession(
            source_model=source.name,
            planned=planned.name,
            digest=planned.digest,
            session=session if ended.content is not None else None,
            task_id=planned.task.task_id,
            subset=planned.task.subset,
            attempt=planned.attempt,
            mode=source.mode,
            status="collected" if ended.error is None else "infra_error",
            error=None if ended.error is None else flat(ended.error)[:1000],
            earlier_errors=[flat(error)[:1000] for error in earlier],
            wall_s=ended.wall_s,
            tokens_in=spent[0],
            tokens_cached=spent[1],
            tokens_out=spent[2],
            usd=cost_usd(source, *spent),
            tool_calls=ended.read.tool_calls if ended.read else 0,
            requests=ended.upstream.statuses.total(),
            rate_limited=ended.upstream.statuses[RATE_LIMITED],
            sha256=hashlib.sha256(ended.content).hexdigest() if ended.content is not None else None,
            plan=self.plan_digest,
            openclaw=self.context.openclaw.version,
            network="open" if self.context.has_network else "endpoint",
            evaluator=self.plan.evaluator,
            endpoint_host=source.endpoint_host,
            model=source.model,
            parameters=source.parameters,
        )
        with self.lock:
            self.collection.append(row)
            self.progress.add(row)
            failed = self.failed_in_a_row[source.name] = (row.error and self.failed_in_a_row[source.name] + 1) or 0
            if row.error and ended.upstream.refusal:
                self.progress.stopped[source.name] = (
                    f"{source.endpoint_host} refuses source model {source.name}: {ended.upstream.refusal}. "
                    "Nothing of it counts as failed. Correct key, model or address, and run the same command again."
                )
            elif failed >= MAX_FAILED_IN_A_ROW:
                self.progress.stopped[source.name] = (
                    f"source model {source.name}: {failed} sessions in a row were ended by the infrastructure, the "
                    f"last with: {row.error}. Nothing of them counts as failed. Correct the cause, and run the same "
                    "command again."
                )
            self.on_progress(self.progress, row)


def without_key(ended: SessionEnd) -> SessionEnd:
    """The session as it is; if the key of its endpoint occurs in it, an end without records instead."""
    secret = ended.upstream.secrets
    if secret.are_in(ended.content or b"") or secret.are_in(ended.journal):
        return replace(ended, error=HOLDS_KEY, content=None, journal=b"")
    return ended


def amounts(ended: SessionEnd) -> tuple[int, int, int]:
    """(tokens in, cached of them, tokens out) of a try."""
    read = ended.read
    return (0, 0, 0) if read is None else (read.tokens_in, read.tokens_cached, read.tokens_out)


def cost_usd(source: SourceModel, tokens_in: int, tokens_cached: int, tokens_out: int) -> float | None:
    """USD of tokens, the cached ones among those in; None if their price is not known."""
    return None if source.price is None else round(source.price.of(tokens_in, tokens_cached, tokens_out), 6)


def forecasts_of(collection: Collection, plan: Plan) -> list[CostForecast]:
    """The forecast for the remaining sessions, by source model and category. Rows of a session that the infrastructure
    ended, and that was made again, do not count."""
    ended = collection.ended()
    return measured_of(ended.values(), plan).forecasts(count_sessions(remaining_sessions(plan, ended)))


def measured_of(rows: Iterable[CollectedSession], plan: Plan) -> Measured:
    """Usage of sessions, at the prices of the plan."""
    measured = Measured()
    for row in rows:
        measure(measured, reprice_session(row, plan))
    return measured


def measure(measured: Measured, row: CollectedSession) -> None:
    """Count a session that was collected; one that the infrastructure ended says nothing."""
    if row.status == "collected":
        measured.add(row.source_model, row.subset, row.wall_s, row.tokens_in + row.tokens_out, row.usd)


def reprice_session(row: CollectedSession, plan: Plan) -> CollectedSession:
    """The session at the prices of the plan, which may have been stated after it was made."""
    source = next((source for source in plan.source_models if source.name == row.source_model), None)
    if source is None:
        return row
    usd = cost_usd(source, row.tokens_in, row.tokens_cached, row.tokens_out)
    return row.model_copy(update={"usd": usd})
