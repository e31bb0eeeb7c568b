"""The judge that a name means."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openclawbench.errors import UsageError
from openclawbench.fulltax.answers.reader import AnswerReader
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.judge.protocol import Judge
from openclawbench.judge.settings import AskingSettings
from openclawbench.judge.transport.endpoint import Endpoint
from openclawbench.judge.transport.protocol import Transport
from openclawbench.records.json_schema import STAGE_RECORDS, json_schema
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price, PriceRules
from openclawbench.rules.judge.request import RequestRules
from openclawbench.workspace.configuration.setting_table import EMBEDDED, JUDGES, NO_JUDGE
from openclawbench.workspace.progress import Progress

if TYPE_CHECKING:
    from openclawbench.judge.client.client_options import ClientOptions

FREE = Price(0.0, 0.0, 0.0, "an endpoint on this machine: nothing is paid")
FREE_FILES = Price(0.0, 0.0, 0.0, "batch files of a model without a listed price: nothing is counted")


def make_judge(
    name: str,
    model: str | None = None,
    ledger: Path | None = None,
    settings: AskingSettings | None = None,
    report: Callable[[JudgeProgress], None] | None = None,
    former: Path | None = None,
    runs: int = 1,
    repeats: bool = False,
) -> Judge | None:
    """The judge of this name; None for `none`. Raises UsageError for an unknown one, or a language model without a
    model name.

    `ledger` is the folder of its answers. With `report`, which receives the progress, the judge may be asked; without,
    it only looks answers up. `former`: folder of the main ledger, if `ledger` belongs to a share; `runs`: number of
    runs that share the endpoint's limits. `repeats`: the second pass asks the model of the first one.
    """
    if name == NO_JUDGE:
        return None
    if name == EMBEDDED:
        return RulesJudge()
    if name not in JUDGES:
        raise UsageError(f"judge {name}: there is no such judge. Use one of: {', '.join(JUDGES)}.")
    if not model or ledger is None:
        raise UsageError(f"judge {name}: which model? Name it with --model.")
    from openclawbench.judge.language_model import LanguageModelJudge

    rules = AskingRules.load()
    asking = None if report is None else make_asking(model, settings or AskingSettings(), rules, report, runs)
    schemas = {
        f"stage_{stage}": json.dumps(json_schema(record), separators=(",", ":"))
        for stage, record in STAGE_RECORDS.items()
    }
    reader, parameters = AnswerReader(), RequestRules.load()
    return LanguageModelJudge(model, ledger, schemas, reader, parameters, rules, asking, former, repeats)


@contextmanager
def noting_files(judge: Judge | None, progress: Progress) -> Iterator[None]:
    """Say at the end, however it comes, what is to be said of the batch files that a judge was asked through."""
    asking: ClientOptions | None = getattr(judge, "asking", None)
    if judge is None or asking is None or asking.files is None:
        yield
        return
    from openclawbench.judge.client.batch_files import notes_on

    is_done = False
    try:
        yield
        is_done = True
    finally:
        own = vars(judge)
        for sentence in notes_on(asking.files, own["ledger"], own["reads_as"], is_done):
            progress.note(sentence)


def make_asking(
    model: str,
    settings: AskingSettings,
    rules: AskingRules,
    report: Callable[[JudgeProgress], None],
    runs: int = 1,
) -> "ClientOptions":
    """The options of asking, from the settings. Address, key and price are only looked up before the first question.
    Raises UsageError for two ways to ask in batches."""
    from openclawbench.judge.client.batch_folder import BatchFolder
    from openclawbench.judge.client.client_options import ClientOptions

    if settings.batch and settings.batch_files:
        raise UsageError("--batch and --batch-files: only one of them. Give --no-batch, or leave out --batch-files.")

    def endpoint() -> Endpoint:
        return Endpoint.from_environment(settings.base_url, rules, os.environ)

    def price() -> Price:
        online = price_of(model, settings, None if settings.batch_files else endpoint())
        in_batches = settings.batch or settings.batch_files
        return online.times(PriceRules.load().batch_share) if in_batches else online

    return ClientOptions(
        endpoint=endpoint,
        transport=openai_transport if settings.transport == "openai" else aiohttp_transport,
        price=price,
        concurrency=settings.concurrency or rules.connection.concurrency,
        rpm=settings.rpm,
        tpm=settings.tpm,
        budget_usd=settings.budget_usd,
        budget_tokens=settings.budget_tokens,
        report=report,
        batch=bool(settings.batch),
        runs=runs,
        files=None if settings.batch_files is None else BatchFolder(settings.batch_files, rules),
    )


def price_of(model: str, settings: AskingSettings, endpoint: Endpoint | None) -> Price:
    """The price of tokens: as stated, as listed, or zero on this machine and in batch files (no endpoint), unless a
    budget rests on it. Raises UsageError if it is not known."""
    stated = (settings.price_in, settings.price_cached, settings.price_out)
    free = FREE_FILES if endpoint is None else FREE if endpoint.is_local else None
    price = PriceRules.load().price_of(model, stated, free if settings.budget_usd is None else None)
    if price is None:
        raise UsageError(
            f"model {model}: its price is not known, and without it no budget holds. Give --price-in and "
            "--price-out, USD for a million tokens (0 where nothing is paid)."
        )
    return price


def aiohttp_transport(endpoint: Endpoint, concurrency: int, rules: AskingRules) -> Transport:
    """The transport over aiohttp alone."""
    from openclawbench.judge.transport.aiohttp_transport import (
        AiohttpTransport,  # a network library: not before it is needed
    )

    return AiohttpTransport(endpoint, concurrency, rules)


def openai_transport(endpoint: Endpoint, concurrency: int, rules: AskingRules) -> Transport:
    """The transport over the `openai` client."""
    from openclawbench.judge.transport.openai_transport import (
        OpenaiTransport,  # a network library: not before it is needed
    )

    return OpenaiTransport(endpoint, concurrency, rules)
