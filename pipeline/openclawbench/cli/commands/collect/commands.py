"""`openclawbench collect`: from BFCL tasks to scored sessions of real OpenClaw agents."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclawbench.base.terminal import output, pluralize, safe, table, warn
from openclawbench.cli.commands.collect.options import FOLDER, Bfcl
from openclawbench.cli.commands.collect.plan import plan
from openclawbench.cli.options import DATA, Data, Json, data_flag
from openclawbench.collect.bfcl import find_bfcl
from openclawbench.collect.isolation import can_isolate
from openclawbench.errors import NEEDS_A_PERSON, CollectionStopped, UsageError
from openclawbench.workspace.configuration.trust import PLAN_FILE, is_trusted

if TYPE_CHECKING:
    from openclawbench.collect.collection import Collection
    from openclawbench.collect.convert import Converted
    from openclawbench.collect.forecast import CostForecast
    from openclawbench.collect.plan import Plan

app = typer.Typer(
    help="From BFCL tasks to scored sessions: plan, real OpenClaw agents, BFCL's evaluator.", no_args_is_help=True
)
app.command("plan")(plan)
NOTES_SHOWN = 20
OpenClawFolder = Annotated[
    Path | None,
    typer.Option("--openclaw", help="Folder of the npm package; default: OPENCLAWBENCH_OPENCLAW, or that on the PATH."),
]
NodeProgram = Annotated[
    Path | None, typer.Option("--node", help="Node; default: OPENCLAWBENCH_NODE, or that on the PATH.")
]


@app.command()
def run(
    data: Data = DATA,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="OpenClaw processes side by side.")] = 2,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds a user turn may take.")] = 900.0,
    budget_usd: Annotated[float | None, typer.Option("--budget-usd", help="USD of the whole collection.")] = None,
    budget_tokens: Annotated[
        int | None, typer.Option("--budget-tokens", help="Tokens of the whole collection.")
    ] = None,
    allow_network: Annotated[
        bool,
        typer.Option("--allow-network", help="The agent may use this machine's network; else only its endpoint."),
    ] = False,
    is_dry_run: Annotated[
        bool, typer.Option("--dry-run", help="What is left and what it will take; starts nothing.")
    ] = False,
    openclaw: OpenClawFolder = None,
    node: NodeProgram = None,
    bfcl: Bfcl = None,
    json_out: Json = False,
) -> None:
    """Let OpenClaw agents do what is left of the plan. After any end the same command goes on."""
    from openclawbench.cli.commands.collect.progress import CollectProgress
    from openclawbench.collect.openclaw import TRIED, find_openclaw
    from openclawbench.collect.run import Options, collect, forecasts_of
    from openclawbench.collect.serve import require_mcp

    collection, collection_plan = open_collection(data)
    if is_dry_run:
        print_forecast(forecasts_of(collection, collection_plan), collection_plan.size, concurrency, json_out)
        return
    if not allow_network and not can_isolate():
        raise UsageError(
            "this machine cannot cut a process off from the network (it needs Linux with user namespaces), so the "
            "agents would have yours. Run it where that does no harm, and say --allow-network."
        )
    refuse_untrusted_plan(data, collection_plan)
    warn_before_first_run(collection, collection_plan, allow_network)
    require_mcp()
    installed = find_openclaw(openclaw, node)
    if installed.version not in TRIED:
        warn(f"OpenClaw {installed.version} was not tried; {' and '.join(TRIED)} were.")
    options = Options(concurrency, timeout, budget_usd, budget_tokens, allow_network)
    with CollectProgress(quiet=json_out) as shown:
        progress = collect(collection, collection_plan, installed, find_bfcl(bfcl), options, shown.update)
    if json_out:
        counts = {"sessions": progress.total, "collected": progress.done, "infra_errors": progress.infra_errors}
        print(json.dumps(counts | {"stopped": progress.stopped}))
    else:
        output().print(
            f"{progress.done} of {pluralize(progress.total, 'session')} collected; next: "
            f"openclawbench collect score{data_flag(data)}",
            highlight=False,
        )
    if progress.stopped:
        raise CollectionStopped("\n".join(progress.stopped[name] for name in sorted(progress.stopped)))
    if progress.infra_errors:
        raise typer.Exit(NEEDS_A_PERSON)


def refuse_untrusted_plan(data: Path, collection_plan: "Plan") -> None:
    """Raise UsageError for a plan that somebody else put into the folder: it says where keys go. One that
    `collect plan` wrote here is trusted until it changes."""
    from openclawbench.collect.plan import SCRIPTED

    asked = sorted({source.endpoint_host for source in collection_plan.source_models} - {SCRIPTED})
    if asked and not is_trusted(data, PLAN_FILE):
        raise UsageError(
            f"{data / PLAN_FILE}: was not made here, and says where keys and sessions go: {', '.join(asked)}. Look at "
            f"it; to allow it: openclawbench config trust {data}"
        )


def warn_before_first_run(collection: "Collection", collection_plan: "Plan", has_network: bool) -> None:
    """Warn of what agents can do to this machine: in full before the first session, in one line later."""
    if not any(source.mode == "own_tools" for source in collection_plan.source_models):
        if not collection.log.exists():
            network = "your network" if has_network else "no network but the endpoint"
            warn(
                "OpenClaw runs as your user. In mode functions its agents have the functions of their tasks, no tool "
                f"that runs commands or reads files, and {network}."
            )
        return
    if has_network and any(source.api_key_env for source in collection_plan.source_models):
        warn(
            "with --allow-network agents can read the environment of your other processes, and the endpoint's key in "
            "it. A session that holds the key is not kept; use a key that you can revoke."
        )
    network = "and your network" if has_network else "and no network but the endpoint"
    warn(f"mode own-tools: the agents run commands of their own as your user, with its files {network}.")
    if not collection.log.exists():
        warn(
            "They can read, change and delete whatever your user can, and send what they read to the endpoint. Each "
            "task has a process and a home of its own, which is not a wall: use a container or a "
            "machine of its own. Stop now (Ctrl+C) if this machine holds anything that you would miss."
        )


def print_forecast(forecasts: "list[CostForecast]", sessions: int, concurrency: int, json_out: bool) -> None:
    """What is left, by source model and category, and in all."""
    from openclawbench.cli.commands.collect.progress import usd_words
    from openclawbench.collect.forecast import totals

    total = {"sessions": sessions} | totals(forecasts, concurrency)
    if json_out:
        rows = [asdict(row) | {"costs": row.costs._asdict() if row.costs else None} for row in forecasts]
        print(json.dumps(total | {"rows": rows}, indent=1))
        return
    if not forecasts:
        output().print(f"0 of {pluralize(sessions, 'session')} left", highlight=False)
        return
    body = []
    for row in forecasts:
        costs = ["", "", ""]
        if row.costs is not None:
            costs = [f"{row.costs.seconds / 3600:.2f}", f"{row.costs.tokens:.0f}", usd_words(row.costs.usd)]
        measured = {"measured": row.measured, "similar": "0: as others of it", None: "0: not reckoned"}[row.basis]
        body.append([row.source_model, row.subset, row.left, measured, *costs])
    columns = ["source model", "category", "left", "measured", "process hours", "tokens", "USD"]
    output().print(table(None, columns, body))
    left = f"{total['left']} of {pluralize(sessions, 'session')} left"
    if total["hours"] is None:
        output().print(f"{left}; nothing like them is measured yet: collect a --sample first", highlight=False)
        return
    output().print(
        f"{left}: {total['hours']} hours with --concurrency {concurrency}, {total['tokens']} tokens, "
        f"{usd_words(total['usd'])} USD",
        highlight=False,
    )
    if total["unpriced"]:
        warn(
            f"{pluralize(total['unpriced'], 'session')} are not in the USD: the price of their source model is not "
            "known. Plan with --price-in and --price-out."
        )
    if total["not_reckoned"]:
        warn(
            f"{pluralize(total['not_reckoned'], 'session')} are not in these amounts: nothing like them was collected. "
            "Collect one of each first."
        )


@app.command(name="convert")
def convert_(
    data: Data = DATA, raw: Annotated[Path | None, typer.Option("--raw")] = None, json_out: Json = False
) -> None:
    """Collected sessions to a raw folder, a run manifest and BFCL result trees."""
    converted, _, folders = converted_of(data, raw)
    if json_out:
        print(json.dumps(as_json(converted), indent=1))
    else:
        print_converted(converted, folders)
    if converted.left_out:
        raise typer.Exit(NEEDS_A_PERSON)


@app.command(name="score")
def score_(
    data: Data = DATA,
    raw: Annotated[Path | None, typer.Option("--raw")] = None,
    bfcl: Bfcl = None,
    json_out: Json = False,
) -> None:
    """Convert what was collected, and score it with BFCL's own evaluator."""
    from openclawbench.collect.score import score as evaluate

    python = find_bfcl(bfcl)
    converted, collection_plan, folders = converted_of(data, raw)
    version, rows = evaluate(converted, python)
    if rows and f"bfcl-eval {version}" != collection_plan.evaluator:
        warn(f"the tasks were read with {collection_plan.evaluator} and scored with bfcl-eval {version}.")
    if json_out:
        print(json.dumps(as_json(converted) | {"evaluator": version or None, "scores": rows}, indent=1))
    else:
        print_converted(converted, folders)
        if rows:
            columns = ["attempt", "source model", "category", "scored", "passed", "not run"]
            output().print(table(f"Scores by bfcl-eval {version}", columns, [list(row.values()) for row in rows]))
        output().print(f"next: openclawbench run{data_flag(data)}" if rows else "nothing to score", highlight=False)
    if converted.left_out:
        raise typer.Exit(NEEDS_A_PERSON)


def converted_of(data: Path, raw: Path | None) -> "tuple[Converted, Plan, tuple[Path, Path]]":
    """Convert into the data folder's raw/ and oracle/."""
    from openclawbench.collect.convert import convert

    collection, collection_plan = open_collection(data)
    folders = (raw or data / "raw", data / "oracle")
    return convert(collection, collection_plan, *folders, keys_if_set(collection_plan)), collection_plan, folders


def keys_if_set(collection_plan: "Plan") -> dict[str, str | None]:
    """Source model -> its key; None if the environment does not have it now."""
    keys = {source.name: source.key for source in collection_plan.source_models}
    for source in collection_plan.source_models:
        if source.api_key_env and not source.key:
            warn(f"{source.api_key_env} is not set; sessions of {source.name} are not searched for their key again.")
    return keys


def as_json(converted: "Converted") -> dict[str, Any]:
    """Counts of what was written."""
    return {
        "sessions": converted.sessions,
        "infra_errors": converted.infra_errors,
        "left": converted.left,
        "left_out": converted.left_out,
        "removed": converted.removed,
        "trees": [str(root) for root in sorted(converted.trees)],
        "notes": converted.notes,
    }


def print_converted(converted: "Converted", folders: tuple[Path, Path]) -> None:
    """Counts, and remarks on single sessions."""
    for note in converted.notes[:NOTES_SHOWN]:
        warn(note)
    if len(converted.notes) > NOTES_SHOWN:
        warn(f"{len(converted.notes) - NOTES_SHOWN} more: --json lists them.")
    output().print(
        f"{pluralize(converted.sessions, 'session')} in {safe(str(folders[0]))}, results in {safe(str(folders[1]))}; "
        f"{converted.infra_errors} ended by the infrastructure, {converted.left} not collected yet",
        highlight=False,
    )
    if converted.left_out:
        warn(f"{pluralize(converted.left_out, 'session')} left out, since they hold the key of their endpoint.")
    if converted.removed:
        output().print(
            f"{pluralize(converted.removed, 'session')} of an earlier plan or try taken out of "
            f"{safe(str(folders[0]))}; collect/ keeps what was collected",
            highlight=False,
        )


def open_collection(data: Path) -> "tuple[Collection, Plan]":
    """The collection of a data folder and its plan."""
    from openclawbench.collect.collection import Collection
    from openclawbench.collect.plan import read_plan
    from openclawbench.storage.data_folder import DataFolder

    folder = DataFolder(data).root / FOLDER
    return Collection(folder), read_plan(folder)


@app.command()
def serve(state: Annotated[Path, typer.Argument(help="Folder with task.json, as `collect run` writes it.")]) -> None:
    """The MCP server that gives an agent the functions of a task, on stdin and stdout. OpenClaw starts it."""
    import asyncio

    from openclawbench.collect.serve import require_mcp
    from openclawbench.collect.serve import serve as answer

    require_mcp()
    if not (state / "task.json").is_file():
        raise UsageError(f"{state / 'task.json'}: does not exist. `collect run` writes it for the agent's server.")
    asyncio.run(answer(state))
