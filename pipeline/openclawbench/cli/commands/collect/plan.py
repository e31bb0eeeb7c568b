"""`openclawbench collect plan`."""

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclawbench.base.terminal import output, pluralize, safe, table, warn
from openclawbench.cli.choices import SCRIPTED
from openclawbench.cli.commands.collect.options import FOLDER, Bfcl
from openclawbench.cli.options import DATA, Data, Json
from openclawbench.collect.bfcl import find_bfcl, run_bfcl
from openclawbench.errors import NEEDS_A_PERSON, UnreadableInput, UsageError
from openclawbench.workspace.configuration.trust import PLAN_FILE, trust

if TYPE_CHECKING:
    from openclawbench.collect.plan import Plan, PlannedSession

MODES = {"functions": ("functions",), "own-tools": ("own_tools",), "both": ("functions", "own_tools")}
EVERYTHING = ["single_turn", "multi_turn"]  # groups of BFCL: every category that can be collected


def plan(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TASK…", help="BFCL task ids. ID=right, =wrong or =none says what the scripted model does."
        ),
    ] = None,
    data: Data = DATA,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", help="Every task of a BFCL category, or of a group: live, non_live, multi_turn."),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", min=1, help="Draw this many of the tasks (of all of BFCL, if none is named), evenly over them."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 1,
    name: Annotated[str | None, typer.Option("--name", help="Name of the source model; a folder of raw/.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help=f"Address of the OpenAI-compatible endpoint; default: {SCRIPTED}."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model's id at the endpoint.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option("--key-env", help="Environment variable that holds the endpoint's key.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option("--mode", help="functions: BFCL's only; own-tools: OpenClaw's own beside them; both: twice."),
    ] = None,
    attempts: Annotated[int | None, typer.Option("--attempts", min=1, help="Sessions a task; default: 1.")] = None,
    price_in: Annotated[
        float | None, typer.Option("--price-in", min=0, help="USD for a million tokens in; for cost and budget.")
    ] = None,
    price_cached: Annotated[
        float | None, typer.Option("--price-cached", min=0, help="The same for those that the endpoint had cached.")
    ] = None,
    price_out: Annotated[float | None, typer.Option("--price-out", min=0, help="The same for tokens out.")] = None,
    sources: Annotated[
        Path | None, typer.Option("--sources", help="TOML file with several [[source_model]] instead of one model.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put this plan in the place of one that was begun.")
    ] = False,
    bfcl: Bfcl = None,
    json_out: Json = False,
) -> None:
    """Which tasks, and which source models are to do them."""
    from openclawbench.collect.plan import Plan, planned_task, sample_tasks, source_models
    from openclawbench.collect.scripting import ANSWERS
    from openclawbench.storage.data_folder import DataFolder

    wanted = dict(entry.partition("=")[::2] for entry in tasks or [])
    for entry, _, answers in (entry.partition("=") for entry in tasks or []):
        if answers not in ("", *ANSWERS):
            raise UsageError(f"{entry}={answers}: is not one of {', '.join(f'{entry}={each}' for each in ANSWERS)}.")
    if not wanted and not category and sample is None:
        raise UsageError(
            "name tasks, a --category or a --sample: openclawbench collect plan simple_python_0 --category parallel"
        )
    options = {
        "name": name,
        "base_url": base_url,
        "model": model,
        "api_key_env": api_key_env,
        "mode": mode,
        "attempts": attempts,
        "price_in": price_in,
        "price_cached": price_cached,
        "price_out": price_out,
    }
    stated = {field: value for field, value in options.items() if value is not None}
    models = models_of(stated) if sources is None else models_in(sources, stated)
    is_scripted = any(entry["base_url"] == SCRIPTED for entry in models)
    if scripts := [entry for entry in tasks or [] if "=" in entry and not is_scripted]:
        raise UsageError(f"{scripts[0]}: what the scripted model does; no source model of this plan is scripted.")
    categories = category or ([] if wanted else EVERYTHING)
    request = {"ids": list(wanted), "categories": categories, "with_answers": is_scripted}
    answer = run_bfcl(find_bfcl(bfcl), "bfcl_tasks.py", request)
    for task_id in answer["unknown"]:
        known = f" Its categories: {', '.join(answer['categories'])}." if task_id in categories else ""
        warn(f"{task_id}: BFCL has no such task or category; it is left out.{known}")
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
            for task in sample_tasks(rows, sample, seed)
        ],
    )
    path = store_plan(collection_plan, DataFolder(data).root / FOLDER, replace)
    if json_out:
        counts = {"tasks": len(collection_plan.tasks), "sessions": collection_plan.size, "plan": str(path)}
        print(json.dumps(counts | {"unknown": answer["unknown"], "unsupported": answer["unsupported"]}, indent=1))
    else:
        print_plan(collection_plan, path)
    if answer["unknown"] or answer["unsupported"]:
        raise typer.Exit(NEEDS_A_PERSON)


def store_plan(collection_plan: "Plan", folder: Path, replaces: bool) -> Path:
    """Write the plan. UsageError where another was begun and is not to be replaced."""
    from openclawbench.collect.collection import Collection
    from openclawbench.collect.plan import FILE, write_plan
    from openclawbench.collect.run import remaining_sessions

    collection = Collection(folder)
    with collection.locked():  # never under a run, which goes by the plan it read
        former = plan_before(folder)
        if former is not None and former.digest != collection_plan.digest and collection.log.exists():
            remaining = {key_of(planned) for planned in remaining_sessions(former, collection.ended())}
            collected = {key_of(planned) for planned in former.sessions()} - remaining
            both = collected & {key_of(planned) for planned in collection_plan.sessions()}
            if not replaces and both != collected:
                raise UsageError(
                    f"{folder / FILE}: is a plan of {pluralize(former.size, 'session')}, of which {len(collected)} are "
                    f"collected; {len(both)} of them are in the new plan, too, and are not made again. --replace puts "
                    "the new plan in its place (the next conversion takes the others out of raw/), another --data "
                    "keeps both."
                )
        path = write_plan(folder, collection_plan)
    trust(folder.parent, PLAN_FILE)  # the user has named its endpoints
    return path


def key_of(planned: "PlannedSession") -> tuple[str, str, str]:
    """What tells planned sessions apart, in every plan of a folder."""
    return planned.source_model.name, planned.name, planned.digest


def plan_before(folder: Path) -> "Plan | None":
    """The existing plan; None if there is no readable plan."""
    from openclawbench.collect.plan import read_plan

    try:
        return read_plan(folder)
    except UnreadableInput:
        return None


def print_plan(collection_plan: "Plan", path: Path) -> None:
    """Tasks by category, and the source models."""
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


def models_of(stated: dict[str, Any]) -> list[dict[str, Any]]:
    """The source model of the options (fields of SourceModel -> value) as data; each mode is one of its own."""
    from openclawbench.collect.plan import OWN_TOOLS

    base_url, model, mode = stated.get("base_url", SCRIPTED), stated.get("model"), stated.get("mode", "functions")
    if mode not in MODES:
        raise UsageError(f"--mode {mode}: is not one of {', '.join(MODES)}.")
    for field in ("model", "api_key_env"):
        if base_url == SCRIPTED and stated.get(field):
            raise UsageError(
                f"{option_of(field)} needs --base-url, the address of the endpoint. A plan without both is scripted, "
                "and says nothing about any model."
            )
    if base_url != SCRIPTED and model is None:
        raise UsageError("--base-url needs --model, the model's id at that endpoint.")
    model = model or "scripted-model"
    name = stated.get("name") or model.rpartition("/")[2].replace(":", "-")
    common = stated | {"base_url": base_url, "model": model}
    return [common | {"name": name + (OWN_TOOLS if each == "own_tools" else ""), "mode": each} for each in MODES[mode]]


def option_of(field: str) -> str:
    """The option that gives a field of SourceModel."""
    return "--key-env" if field == "api_key_env" else f"--{field.replace('_', '-')}"


def models_in(path: Path, stated: dict[str, Any]) -> list[dict[str, Any]]:
    """The [[source_model]] tables of a TOML file. UsageError where options say something of a source model, too."""
    if stated:
        raise UsageError(f"{option_of(next(iter(stated)))}: the source models are those of {path}. Say it there.")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["source_model"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{path}: is not a TOML file with [[source_model]] tables: {error}. Correct it.") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UsageError(f"{path}: source_model is not a list of tables. Write [[source_model]] with two brackets.")
    for number, entry in enumerate(entries, 1):
        if "base_url" not in entry:
            raise UsageError(
                f"{path}: source model {number}: base_url is missing. Name the endpoint's address, or "
                f'base_url = "{SCRIPTED}".'
            )
    return list(entries)
