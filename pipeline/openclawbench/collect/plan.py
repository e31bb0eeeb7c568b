"""The plan of a collection: tasks of BFCL, and the source models that are to do them."""

import hashlib
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from openclawbench.base.canonical_json import canonical_bytes
from openclawbench.base.terminal import flat
from openclawbench.collect.scripting import Script, script_of
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.judge.transport.secrets import Secrets
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.rules.judge.prices import Price, PriceRules
from openclawbench.storage.data_folder import write_atomic

FILE = "plan.json"
SERVER = "b"  # name of the MCP server: OpenClaw calls its functions b__<name>
PREFIX = f"{SERVER}__"
LONGEST_NAME = 64  # characters of a tool's name that OpenClaw lets through
SCRIPTED = "scripted"  # in place of an address: the endpoint of this program, which says what the plan says
UNASKED = Price(0.0, 0.0, 0.0, "no endpoint is asked")
OWN_TOOLS = ".own-tools"  # ending of the source model's name in that mode, so that everything is reported apart
ADDED = (
    "I have updated some more functions you can choose from. What about now?"  # BFCL's words where functions come late
)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SOURCE_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
Mode = Literal["functions", "own_tools"]


class Planned(BaseModel):
    """A part of a plan: closed, so that a misspelt name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Function(Planned):
    """A function as the agent sees it. `name`: of the MCP tool; `bfcl_name`: BFCL's, where the two differ."""

    name: str
    bfcl_name: str
    description: str
    parameters: dict[str, Any]


class Simulator(Planned):
    """The initial state of the BFCL classes that implement the functions of a multi-turn task."""

    initial_config: dict[str, Any]
    involved_classes: list[str]
    long_context: bool


class Task(Planned):
    """A BFCL task: the user's turns, its functions, and those that are held back until a turn (counted from 0)."""

    task_id: str
    subset: str
    turns: list[str] = Field(min_length=1)
    functions: list[Function]
    held_back: dict[int, list[Function]] = {}
    simulator: Simulator | None = None
    script: Script | None = None  # what the scripted model says; None where a real one is asked


class SourceModel(Planned):
    """A model that does the tasks. Prices are in USD per million tokens. The key is in the environment, never here."""

    name: str
    base_url: str  # or SCRIPTED
    model: str
    api_key_env: str | None = None
    mode: Mode = "functions"
    attempts: int = Field(1, ge=1)
    context_window: int = Field(200_000, ge=1)
    max_tokens: int = Field(8192, ge=1)
    reasoning: bool = False
    parameters: dict[str, Any] = {}  # of each request, as the endpoint calls them: temperature, top_p …
    price_in: float | None = Field(None, ge=0)
    price_out: float | None = Field(None, ge=0)
    price_cached: float | None = Field(None, ge=0)

    @field_validator("name")
    @classmethod
    def check_name(cls, name: str) -> str:
        """Raise ValueError unless the name can be a folder of raw/ and of the result tree."""
        if SOURCE_MODEL.fullmatch(name) is None:
            raise ValueError("may have letters, digits, '.', '_' and '-' only: it names a folder")
        return name

    @field_validator("api_key_env")
    @classmethod
    def check_variable(cls, api_key_env: str | None) -> str | None:
        """Raise ValueError unless it is a name, never the key: the plan is a file that others read."""
        if api_key_env is not None and VARIABLE.fullmatch(api_key_env) is None:
            raise ValueError("is not the name of an environment variable; export the key as one, and name that")
        return api_key_env

    @field_validator("base_url")
    @classmethod
    def check_address(cls, base_url: str) -> str:
        """Raise ValueError unless it is http(s)://host…, without a name and password in it."""
        parts = urlsplit(base_url)
        if base_url != SCRIPTED and (
            parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc
        ):
            raise ValueError(f"is neither {SCRIPTED} nor an address http(s)://host without a name or password in it")
        return base_url

    @property
    def key(self) -> str | None:
        """The endpoint's key, from the environment; None if the endpoint needs no key, or the variable is not set."""
        return (os.environ.get(self.api_key_env) or None) if self.api_key_env else None

    @cached_property
    def price(self) -> Price | None:
        """The price of its tokens, as of a judge's (PriceRules.price_of); None if it is not known."""
        stated = (self.price_in, self.price_cached, self.price_out)
        return PriceRules.load().price_of(self.model, stated, UNASKED if self.base_url == SCRIPTED else None)

    @property
    def endpoint_host(self) -> str:
        """Host of the endpoint, for the provenance."""
        return SCRIPTED if self.base_url == SCRIPTED else urlsplit(self.base_url).netloc


class PlannedSession(NamedTuple):
    """A session to be made: a source model's attempt (from 1) at a task. `name` is unique within the source model."""

    source_model: SourceModel
    task: Task
    attempt: int

    @property
    def name(self) -> str:
        """The session's id, and the stem of its file."""
        return f"{self.task.task_id}-a{self.attempt}"

    @property
    def digest(self) -> str:
        """Changes with whatever may change what the agent does: prices and the number of attempts do not."""
        source = self.source_model.model_dump(exclude={"attempts", "price_in", "price_out", "price_cached"})
        return hashlib.sha256(canonical_bytes([source, self.task.model_dump()])).hexdigest()[:16]


class Plan(Planned):
    """A collection: every source model does every task as often as its `attempts` say."""

    evaluator: str  # name and version of what the tasks were read with
    source_models: list[SourceModel] = Field(min_length=1)
    tasks: list[Task] = Field(min_length=1)

    @model_validator(mode="after")
    def check_unique_names(self) -> "Plan":
        """Raise ValueError if a source model or a task occurs twice."""
        for what, names in (
            ("source model", [source.name.casefold() for source in self.source_models]),
            ("task", [task.task_id for task in self.tasks]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{what} {', '.join(twice)} occurs twice")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the plan."""
        return hashlib.sha256(canonical_bytes(self)).hexdigest()

    @property
    def size(self) -> int:
        """Number of sessions."""
        return len(self.tasks) * sum(source.attempts for source in self.source_models)

    def sessions(self) -> Iterator[PlannedSession]:
        """Every session of the plan, a source model after the other."""
        for source in self.source_models:
            for attempt in range(1, source.attempts + 1):
                for task in self.tasks:
                    yield PlannedSession(source, task, attempt)


def secret_of(key: str | None) -> Secrets:
    """What finds an endpoint's key; one that a text may hold by chance ("EMPTY") only in what is shown."""
    return Secrets((key or "",), AskingRules.load().secret)


def tool_name(name: str, used_names: Iterable[str] = ()) -> str:
    """The name of an MCP tool that OpenClaw passes on unchanged: its letters only, cut with a digest if it is long."""
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if len(PREFIX + cleaned) > LONGEST_NAME or cleaned in set(used_names):
        cleaned = f"{cleaned[: LONGEST_NAME - len(PREFIX) - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return cleaned


def planned_task(bfcl_task: Mapping[str, Any], answers: str | None) -> Task:
    """`bfcl_task`: a task as programs/bfcl_tasks.py prints it. `answers`: right, wrong or none, what the scripted model
    does; None: a real model is asked."""
    names: dict[str, str] = {}

    def function(definition: Mapping[str, Any]) -> Function:
        name = names.setdefault(definition["name"], tool_name(definition["name"], names.values()))
        return Function(
            name=name,
            bfcl_name=definition["name"],
            description=definition["description"],
            parameters=definition["parameters"],
        )

    functions = [function(row) for row in bfcl_task["functions"]]
    held_back = {int(turn): [function(row) for row in rows] for turn, rows in bfcl_task["held_back"].items()}
    script = (
        None
        if answers is None
        else script_of(bfcl_task, answers, {original: PREFIX + name for original, name in names.items()})
    )
    return Task(
        task_id=bfcl_task["task_id"],
        subset=bfcl_task["subset"],
        # BFCL's system messages go in front of the user's words: OpenClaw's own system prompt stays.
        turns=["\n\n".join(message["content"] for message in turn) if turn else ADDED for turn in bfcl_task["turns"]],
        functions=functions,
        held_back=held_back,
        simulator=bfcl_task["simulator"],
        script=script,
    )


def sample_tasks(tasks: list[Any], size: int | None, seed: int) -> list[Any]:
    """`size` of the tasks, drawn without replacement and evenly over the subsets; in their order. Null: all of them."""
    if size is None or size >= len(tasks):
        return tasks
    by_subset: dict[str, list[int]] = {}
    for number, task in enumerate(tasks):
        by_subset.setdefault(task["subset"], []).append(number)
    drawn = random.Random(seed)
    for numbers in by_subset.values():
        drawn.shuffle(numbers)
    chosen: list[int] = []
    while len(chosen) < size:
        for numbers in by_subset.values():
            if numbers and len(chosen) < size:
                chosen.append(numbers.pop())
    return [tasks[number] for number in sorted(chosen)]


def write_plan(folder: Path, plan: Plan) -> Path:
    """Write the plan whole; returns its path."""
    path = folder / FILE
    write_atomic(path, [plan.model_dump_json(indent=1).encode() + b"\n"])
    return path


def read_plan(folder: Path) -> Plan:
    """The plan of a collection. UnreadableInput if it is missing or damaged."""
    path = folder / FILE
    try:
        return Plan.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise UnreadableInput(f"{path}: does not exist. Make a plan first: openclawbench collect plan.") from error
    except (OSError, ValidationError) as error:
        problem = flat(str(error))[:200]
        message = f"{path}: is not a plan: {problem}. Make it again: openclawbench collect plan."
        raise UnreadableInput(message) from error


def source_models(entries: Iterable[Mapping[str, Any]], where: str) -> list[SourceModel]:
    """Source models as a TOML file or options give them. UsageError names the entry and what is wrong with it."""
    models: list[SourceModel] = []
    for number, entry in enumerate(entries, 1):
        name = entry.get("name")
        if any(model.name.casefold() == str(name).casefold() for model in models):
            raise UsageError(f"{where}: source model {number}: name: {name} occurs twice. Give it another name.")
        try:
            models.append(SourceModel.model_validate(entry))
        except ValidationError as error:
            first = error.errors()[0]
            field, message = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
            raise UsageError(f"{where}: source model {number}: {field}: {message}. Correct it.") from error
    return models
