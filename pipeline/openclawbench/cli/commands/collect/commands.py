"""`openclawbench collect`: from BFCL tasks to scored sessions of real OpenClaw agents."""

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclawbench.base.terminal import output, pluralize, safe, table, warn
from openclawbench.cli.commands.collect.progress import CollectProgress
from openclawbench.cli.options import DATA, NEEDS_A_PERSON, Data, Json, data_flag
from openclawbench.collect.bfcl import find_bfcl, run_bfcl
from openclawbench.collect.isolation import can_isolate
from openclawbench.collect.openclaw import TRIED, find_openclaw
from openclawbench.collect.plan import (
    OWN_TOOLS,
    SCRIPTED,
    Plan,
    planned_task,
    read_plan,
    sampled,
    source_models,
    write_plan,
)
from openclawbench.errors import UsageError
from openclawbench.storage.data_folder import DataFolder

if TYPE_CHECKING:
    from openclawbench.collect.convert import Converted
    from openclawbench.collect.run import Collection

app = typer.Typer(
    help="From BFCL tasks to scored sessions: plan, real OpenClaw agents, BFCL's evaluator.", no_args_is_help=True
)
FOLDER = "collect"  # of a data folder
NOTES_SHOWN = 20
Bfcl = Annotated[
    Path | None,
    typer.Option("--bfcl", help="A Python that has bfcl-eval; default: OPENCLAWBENCH_BFCL_PYTHON, or bfcl/bin/python."),
]
OpenClawFolder = Annotated[
    Path | None,
    typer.Option("--openclaw", help="Folder of the npm package; default: OPENCLAWBENCH_OPENCLAW, or that on the PATH."),
]
NodeProgram = Annotated[
    Path | None, typer.Option("--node", help="Node; default: OPENCLAWBENCH_NODE, or that on the PATH.")
]
MODES = {"functions": ("functions",), "own-tools": ("own_tools",), "both": ("functions", "own_tools")}


@app.command()
def plan(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK…", help="BFCL task ids. ID=right, =wrong or =none says what the scripted model does."
        ),
    ] = None,
    data: Data = DATA,
    category: Annotated[list[str] | None, typer.Option("--category", help="Every task of a BFCL category.")] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Draw this many of the tasks, evenly over the categories.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 1,
    name: Annotated[str | None, typer.Option("--name", help="Name of the source model; a folder of raw/.")] = None,
    base_url: Annotated[
        str, typer.Option("--base-url", help=f"Address of the OpenAI-compatible endpoint, or {SCRIPTED}.")
    ] = SCRIPTED,
    model: Annotated[str | None, typer.Option("--model", help="The model's id at the endpoint.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--key-env", help="Environment variable that holds the endpoint's key.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="functions: BFCL's only; own-tools: OpenClaw's own beside them; both: twice.")
    ] = "functions",
    attempts: Annotated[int, typer.Option("--attempts", min=1, help="Sessions a task.")] = 1,
    sources: Annotated[
        Path | None, typer.Option("--sources", help="TOML file with several [[source_model]] instead of one model.")
    ] = None,
    bfcl: Bfcl = None,
    json_out: Json = False,
) -> None:
    """Which tasks, and which source models are to do them."""
    from openclawbench.collect.run import Collection

    wanted = dict(entry.partition("=")[::2] for entry in tasks or [])
    if not wanted and not category:
        raise UsageError("name tasks or a --category: openclawbench collect plan simple_python_0 --category parallel")
    models = models_of(sources, name, base_url, model, api_key_env, mode, attempts)
    is_scripted = any(entry["base_url"] == SCRIPTED for entry in models)
    request = {"ids": list(wanted), "categories": category or [], "with_answers": is_scripted}
    answer = run_bfcl(find_bfcl(bfcl), "bfcl_tasks.py", request)
    for task_id in answer["unknown"]:
        warn(f"{task_id}: BFCL has no such task or category; it is left out.")
    for task_id in answer["unsupported"]:
        warn(f"{task_id}: memory, web_search and format_sensitivity tasks cannot be collected; it is left out.")
    rows = list({task["task_id"]: task for task in answer["tasks"]}.values())
    if not rows:
        raise UsageError("no task is left for the plan.")
    collection_plan = Plan(
        evaluator=f"bfcl-eval {answer['version']}",
        source_models=source_models(models, str(sources or "the options")),
        tasks=[
            planned_task(task, (wanted.get(task["task_id"]) or "right") if is_scripted else None)
            for task in sampled(rows, sample, seed)
        ],
    )
    folder = DataFolder(data).root / FOLDER
    with Collection(folder).locked():  # never under a run, which goes by the plan it read
        path = write_plan(folder, collection_plan)
    counts = {"tasks": len(collection_plan.tasks), "sessions": collection_plan.size, "plan": str(path)}
    if json_out:
        print(json.dumps(counts | {"unknown": answer["unknown"], "unsupported": answer["unsupported"]}, indent=1))
        return
    subsets = sorted({task.subset for task in collection_plan.tasks})
    body = [[subset, sum(task.subset == subset for task in collection_plan.tasks)] for subset in subsets]
    output().print(table(None, ["category", "tasks"], body))
    for source in collection_plan.source_models:
        output().print(
            f"source model {safe(source.name)}: {safe(source.endpoint_host)}, {safe(source.model)}, "
            f"mode {source.mode}, {pluralize(source.attempts, 'attempt')}",
            highlight=False,
        )
    output().print(f"{pluralize(collection_plan.size, 'session')} to collect; plan: {safe(str(path))}", highlight=False)


def models_of(
    sources: Path | None,
    name: str | None,
    base_url: str,
    model: str | None,
    api_key_env: str | None,
    mode: str,
    attempts: int,
) -> list[dict[str, Any]]:
    """The source models as data, from a file or from the options; each mode is a source model of its own."""
    if mode not in MODES:
        raise UsageError(f"--mode {mode}: is not one of {', '.join(MODES)}.")
    if sources is not None:
        try:
            entries = tomllib.loads(sources.read_text(encoding="utf-8"))["source_model"]
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(
                f"{sources}: is not a TOML file with [[source_model]] tables: {error}. Correct it."
            ) from error
        return [{"base_url": SCRIPTED} | entry for entry in entries]
    if base_url != SCRIPTED and model is None:
        raise UsageError("--base-url needs --model, the model's id at that endpoint.")
    model = model or "scripted-model"
    named = name or model.rpartition("/")[2].replace(":", "-")
    common = {"base_url": base_url, "model": model, "api_key_env": api_key_env, "attempts": attempts}
    return [common | {"name": named + (OWN_TOOLS if each == "own_tools" else ""), "mode": each} for each in MODES[mode]]


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
    from openclawbench.collect.run import Options, collect, forecast
    from openclawbench.collect.serve import require_mcp

    collection, collection_plan = opened(data)
    if is_dry_run:
        print_forecast(forecast(collection_plan, collection.ended(), concurrency), concurrency, json_out)
        return
    if not allow_network and not can_isolate():
        raise UsageError(
            "this machine lets no process be cut off from the network (it needs Linux with user namespaces), so the "
            "agents would have yours. Run it where that does no harm, and say --allow-network."
        )
    warn_before_first_run(collection, collection_plan, allow_network)
    require_mcp()
    installed = find_openclaw(openclaw, node)
    if installed.version not in TRIED:
        warn(f"OpenClaw {installed.version} was not tried; {' and '.join(TRIED)} were.")
    options = Options(concurrency, timeout, budget_usd, budget_tokens, allow_network)
    with CollectProgress(quiet=json_out) as shown:
        progress = collect(collection, collection_plan, installed, find_bfcl(bfcl), options, shown.update)
    if json_out:
        print(
            json.dumps({"sessions": progress.total, "collected": progress.done, "infra_errors": progress.infra_errors})
        )
    else:
        output().print(
            f"{progress.done} of {pluralize(progress.total, 'session')} collected; next: "
            f"openclawbench collect score{data_flag(data)}",
            highlight=False,
        )
    if progress.infra_errors:
        raise typer.Exit(NEEDS_A_PERSON)


def warn_before_first_run(collection: "Collection", collection_plan: Plan, has_network: bool) -> None:
    """What agents can do to this machine: at length before anything was collected, and in a line later."""
    if not any(source.mode == "own_tools" for source in collection_plan.source_models):
        if not collection.log.exists():
            network = "your network" if has_network else "no network but the endpoint"
            warn(
                "OpenClaw runs as your user. In mode functions its agents have the functions of their tasks, no tool "
                f"that runs commands or reads files, and {network}."
            )
        return
    network = "and your network" if has_network else "and no network but the endpoint"
    warn(f"mode own-tools: the agents run commands of their own as your user, with its files {network}.")
    if not collection.log.exists():
        warn(
            "They can read, change and delete whatever your user can, and send what they read to the endpoint. Each "
            "process has a home of its own, which later tasks of it can read; it is no wall: use a container or a "
            "machine of its own. Stop now (Ctrl+C) if this machine holds anything that you would miss."
        )


def print_forecast(estimate: dict[str, Any], concurrency: int, json_out: bool) -> None:
    """What is left."""
    if json_out:
        print(json.dumps(estimate, indent=1))
        return
    output().print(f"{estimate['left']} of {pluralize(estimate['sessions'], 'session')} left", highlight=False)
    if estimate["measured"]:
        output().print(
            f"from {estimate['measured']} measured: {estimate['hours']} hours with {concurrency} processes, "
            f"{estimate['tokens']} tokens, {estimate['usd']} USD",
            highlight=False,
        )
    else:
        output().print("nothing is measured yet: collect a --sample first", highlight=False)


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
    if f"bfcl-eval {version}" != collection_plan.evaluator:
        warn(f"the tasks were read with {collection_plan.evaluator} and scored with bfcl-eval {version}.")
    if json_out:
        print(json.dumps(as_json(converted) | {"evaluator": version, "scores": rows}, indent=1))
        return
    print_converted(converted, folders)
    output().print(
        table(
            f"Scores by bfcl-eval {version}",
            ["attempt", "source model", "category", "scored", "passed", "not run"],
            [list(row.values()) for row in rows],
        )
    )
    output().print(f"next: openclawbench run{data_flag(data)}", highlight=False)


def converted_of(data: Path, raw: Path | None) -> "tuple[Converted, Plan, tuple[Path, Path]]":
    """Convert into the data folder's raw/ and oracle/."""
    from openclawbench.collect.convert import convert

    collection, collection_plan = opened(data)
    folders = (raw or data / "raw", data / "oracle")
    return convert(collection, collection_plan, *folders, keys_if_set(collection_plan)), collection_plan, folders


def keys_if_set(collection_plan: Plan) -> dict[str, str | None]:
    """Source model -> its key, null where it is not in the environment now."""
    keys = {source.name: source.key for source in collection_plan.source_models}
    for source in collection_plan.source_models:
        if source.api_key_env and not source.key:
            warn(f"{source.api_key_env} is not set; sessions of {source.name} are not searched for their key.")
    return keys


def as_json(converted: "Converted") -> dict[str, Any]:
    """Counts of what was written."""
    return {
        "sessions": converted.sessions,
        "infra_errors": converted.infra_errors,
        "left": converted.left,
        "trees": [str(root) for root in sorted(converted.trees)],
        "notes": converted.notes,
    }


def print_converted(converted: "Converted", folders: tuple[Path, Path]) -> None:
    """Counts, and what is to be said of single sessions."""
    for note in converted.notes[:NOTES_SHOWN]:
        warn(note)
    if len(converted.notes) > NOTES_SHOWN:
        warn(f"{len(converted.notes) - NOTES_SHOWN} more: --json lists them.")
    output().print(
        f"{pluralize(converted.sessions, 'session')} in {safe(str(folders[0]))}, results in {safe(str(folders[1]))}; "
        f"{converted.infra_errors} ended by the infrastructure, {converted.left} not collected yet",
        highlight=False,
    )


def opened(data: Path) -> "tuple[Collection, Plan]":
    """The collection of a data folder and its plan."""
    from openclawbench.collect.run import Collection

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
