"""`annotate --dry-run`: calls, tokens and USD by stage, before anything is sent."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from openclawbench.base.terminal import output, safe, table
from openclawbench.cli.progress import Progress
from openclawbench.cli.session import update
from openclawbench.cli.settings import Settings, settings
from openclawbench.errors import UsageError
from openclawbench.fulltax.forecast import Forecast
from openclawbench.judge.client.cost_estimate import (
    ENOUGH,
    CallAverages,
    CostEstimate,
    EstimateReached,
    EstimatingJudge,
    plan,
)
from openclawbench.judge.language_model import LanguageModelJudge
from openclawbench.judge.protocol import Judge
from openclawbench.judge.transport.endpoint import printable_url
from openclawbench.rules.prices import Price
from openclawbench.storage.data_folder import DataFolder


def show(
    data: Path, verb: str, json_out: bool, annotation_pass: int, raw: str | None, oracle: Path | None, **flags: Any
) -> None:
    """Plan and print."""
    folder = DataFolder(data)
    chosen = settings(folder, raw=raw, oracle=oracle and str(oracle), **flags)
    with Progress(quiet=json_out) as progress:
        rows, price, endpoint = dry_run(folder, chosen, verb, progress, annotation_pass)
    if json_out:
        print(json.dumps(as_data(rows, price) | {"endpoint": endpoint}, indent=1))
    else:
        print_plan(rows, price, endpoint, output())


def dry_run(
    data: DataFolder, chosen: Settings, verb: str, progress: Progress, annotation_pass: int
) -> tuple[list[CostEstimate], Price, str]:
    """What the verb would still ask, at what price and of which address; nothing where the ledger has every answer.
    Stages before the first question are brought up to date, for they say what is asked; nothing is sent, and the judge
    is not remembered."""
    priced: list[tuple[LanguageModelJudge, Price]] = []

    def planner(judge: Judge | None) -> Judge:
        if not isinstance(judge, LanguageModelJudge) or judge.asking is None:
            raise UsageError("--dry-run: this judge costs nothing. Use it with --judge openai --model NAME.")
        priced.append((judge, judge.asking.price()))
        return EstimatingJudge(judge, Forecast())

    if chosen.shard is not None:
        raise UsageError("--dry-run: counts what everything would cost. Leave --shard out.")
    layout = data.layout()
    try:
        update(data, chosen, verb, progress, annotation_pass, planner)
    except EstimateReached as found:
        judge, price = priced[-1]
        return plan(found, CallAverages.of(judge, judge.rules.estimate), judge, price), price, address(judge)
    finally:
        if layout:
            data.save_layout(layout)
    return [], priced[-1][1], address(priced[-1][0])


def address(judge: LanguageModelJudge) -> str:
    """Whom the judge would ask, as it may be printed."""
    return printable_url(judge.asking.endpoint().base_url) if judge.asking else ""


def as_data(rows: list[CostEstimate], price: Price) -> dict[str, Any]:
    """The plan as plain data; the price is USD for a million tokens."""
    return {
        "price": asdict(price),
        "stages": [asdict(row) for row in rows],
        "calls": sum(r.calls for r in rows),
        "usd": sum(r.usd for r in rows),
        "most_calls": sum(r.most_calls for r in rows),
        "most_usd": sum(r.most_usd for r in rows),
    }


def print_plan(rows: list[CostEstimate], price: Price, endpoint: str, console: Console) -> None:
    """The plan for people."""
    if not rows:
        console.print("nothing would be asked: the ledger has every answer")
        return
    names = ["stage", "questions", "answered", "calls", "at most", "prompt tokens", "answer tokens", "USD", ""]
    cells = [
        [
            *(r.stage, r.questions, r.answered, r.calls, r.most_calls),
            *(r.prompt_tokens, r.completion_tokens, f"{r.usd:.4f}", said(r)),
        ]
        for r in rows
    ]
    console.print(table("Nothing was sent", names, cells))
    console.print(f"{safe(endpoint)} would be asked")
    console.print(
        f"together about {sum(r.calls for r in rows)} calls, {sum(r.usd for r in rows):.4f} USD; at most "
        f"{sum(r.most_calls for r in rows)} calls, {sum(r.most_usd for r in rows):.2f} USD: every trajectory through "
        "every stage, every question asked once more, every answer as long as it may be"
    )
    if reasoning := sum(r.reasoning_tokens for r in rows):
        console.print(
            f"of the answer tokens {reasoning} are assumed for reasoning (asking.toml, [estimate.reasoning_tokens]); "
            f"from {ENOUGH} answers on, tokens are those of the ledger's answers"
        )
    console.print(
        f"at {price.input:g} USD for a million prompt tokens ({price.cached:g} cached) and {price.output:g} for a "
        f"million tokens of answers: {price.source}"
    )
    console.print("without discounts for cached prompts, and without calls that fail and have to be repeated")


def said(row: CostEstimate) -> str:
    """How sure a row is."""
    return "forecast: who goes on is as the rules judge says" if row.estimate else "questions counted"
