"""What a stage is: a pure function whose signature declares the tables and rules it reads and the tables it writes."""

import ast
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pipeline.judge.protocol import Judge
from pipeline.records.base import Record
from pipeline.rules.base import Rules

Scope = Literal["shard", "corpus"]
PROJECT = "pipeline"


@dataclass(frozen=True)
class Stage:
    """A stage function with what its signature says."""

    name: str
    scope: Scope
    reads: dict[str, type[Record]]  # parameter -> record of the table
    rules: dict[str, type[Rules]]  # parameter -> class with load() and digest
    judge: str | None  # parameter that takes the judge
    writes: tuple[type[Record], ...]
    call: Callable[..., Any]
    annotation_pass: int = 1  # whose judge answers
    home: str | None = None  # module that has the stage under its name; null: its function's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        """Pickled by name: another process has the same program."""
        return stage_named, (self.home or self.call.__module__, self.name)

    def code_digest(self) -> str:
        """Digest of the stage's module and, transitively, of every project module that it imports."""
        return code_digest(self.call.__module__)


def stage_named(module: str, name: str) -> Stage:
    """The stage of this name that a module declares."""
    found: Stage = getattr(importlib.import_module(module), name)
    return found


def record_of(hint: Any) -> type[Record] | None:
    """The record that a table annotation names, else None."""
    if get_origin(hint) is Annotated:
        return next((one for one in get_args(hint)[1:] if isinstance(one, type) and issubclass(one, Record)), None)
    return None


def stage(scope: Scope) -> Callable[[Callable[..., Any]], Stage]:
    """Make a stage of a pure function. TypeError where its signature names something that is no table and no rules."""

    def declare(function: Callable[..., Any]) -> Stage:
        hints = get_type_hints(function, include_extras=True)
        result = hints.pop("return")
        outs = get_args(result) if get_origin(result) is tuple else (result,)
        writes = tuple(record for out in outs if (record := record_of(out)))
        if len(writes) != len(outs):
            raise TypeError(f"{function.__name__}: a return value is not a table")
        reads = {name: record for name, hint in hints.items() if (record := record_of(hint))}
        others = {name: hint for name, hint in hints.items() if name not in reads}
        judge = next((name for name, hint in others.items() if hint is Judge), None)
        rules = {name: hint for name, hint in others.items() if name != judge}
        for name, hint in rules.items():
            if not (isinstance(hint, type) and issubclass(hint, Rules)):
                raise TypeError(f"{function.__name__}: parameter {name} is neither a table nor rules nor the judge")
        return Stage(function.__name__, scope, reads, rules, judge, writes, function)

    return declare


Parsed = tuple[str, list[tuple[str, str | None]]]
PARSED: dict[str, Parsed] = {}  # digest of a module's bytes -> what parsing them gave; may be kept from run to run


@cache
def module_source(name: str) -> tuple[str, tuple[str, ...]]:
    """Digest of a project module's AST (comments and layout do not count) and the project modules it imports."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return "", ()
    content = Path(spec.origin).read_bytes()
    key = hashlib.sha256(sys.version.encode() + content).hexdigest()
    if key not in PARSED:
        PARSED[key] = parsed(content)
    tree, imports = PARSED[key]
    found = {module for module, _ in imports}
    found.update(f"{module}.{one}" for module, one in imports if one is not None and is_module(module, one))
    return tree, tuple(sorted(found))


def parsed(content: bytes) -> Parsed:
    """Digest of the AST of a module's bytes, and (module, name or null) of each import of this project in it."""
    tree = ast.parse(content)
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    ours = [(module, name) for module, name in found if module.split(".")[0] == PROJECT]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), ours


def is_module(package: str, name: str) -> bool:
    """True where `from package import name` names a submodule of this project."""
    if package.split(".", maxsplit=1)[0] != PROJECT:
        return False
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return False
    return importlib.util.find_spec(f"{package}.{name}") is not None


@cache
def code_digest(module: str) -> str:
    """sha256 over the module and all project modules it reaches by imports."""
    seen: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen[name], imports = module_source(name)
        waiting.extend(imports)
    return hashlib.sha256("\n".join(f"{name}\n{seen[name]}" for name in sorted(seen)).encode()).hexdigest()
