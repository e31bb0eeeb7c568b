"""The judge that a name means."""

import json
import os
from collections.abc import Callable
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
from openclawbench.workspace.configuration.setting_table import JUDGES

if TYPE_CHECKING:
    from openclawbench.judge.language_model import ClientOptions

FREE = Price(0.0, 0.0, 0.0, "an endpoint on this machine: nothing is paid")


def make_judge(
    name: str,
    model: str | None = None,
    ledger: Path | None = None,
    settings: AskingSettings | None = None,
    report: Callable[[JudgeProgress], None] | None = None,
    batch: bool = False,
    former: Path | None = None,
    runs: int = 1,
) -> Judge:
    """The judge of this name. Raises UsageError for an unknown one, or a language model without a model name.

    `ledger` is the folder of its answers. With `report`, which receives the progress, the judge may be asked; without,
    it only looks answers up. `former`: folder of the main ledger, if `ledger` belongs to a share; `runs`: number of
    runs that share the endpoint's limits.
    """
    if name == "rules":
        return RulesJudge()
    if name not in JUDGES:
        raise UsageError(f"judge {name}: there is no such judge. Use one of: {', '.join(JUDGES)}.")
    if not model or ledger is None:
        raise UsageError(f"judge {name}: which model? Name it with --model.")
    from openclawbench.judge.language_model import LanguageModelJudge

    rules = AskingRules.load()
    asking = None if report is None else make_asking(model, settings or AskingSettings(), rules, report, batch, runs)
    schemas = {
        f"stage_{stage}": json.dumps(json_schema(record), separators=(",", ":"))
        for stage, record in STAGE_RECORDS.items()
    }
    return LanguageModelJudge(model, ledger, schemas, AnswerReader(), RequestRules.load(), rules, asking, former)


def make_asking(
    model: str,
    settings: AskingSettings,
    rules: AskingRules,
    report: Callable[[JudgeProgress], None],
    batch: bool = False,
    runs: int = 1,
) -> "ClientOptions":
    """The options of asking, from the settings. Address, key and price are only looked up before the first question."""
    from openclawbench.judge.language_model import ClientOptions

    def endpoint() -> Endpoint:
        return Endpoint.from_environment(settings.base_url, rules, os.environ)

    def price() -> Price:
        online = price_of(model, settings, endpoint())
        return online.times(PriceRules.load().batch_share) if batch else online

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
        batch=batch,
        runs=runs,
    )


def price_of(model: str, settings: AskingSettings, endpoint: Endpoint) -> Price:
    """The price of tokens: as stated, as listed, or zero on this machine, unless a budget rests on it. Raises
    UsageError if it is not known."""
    stated = (settings.price_in, settings.price_cached, settings.price_out)
    is_free = endpoint.is_local and settings.budget_usd is None
    price = PriceRules.load().price_of(model, stated, FREE if is_free else None)
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
