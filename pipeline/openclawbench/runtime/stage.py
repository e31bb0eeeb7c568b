"""What a stage is: a pure function whose signature declares the tables and rules it reads and the tables it writes."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from openclawbench.base.code_digest import code_digest
from openclawbench.judge.protocol import Judge
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.tables.record import Record

# What a stage sees: one shard; the rows of every shard whose column `partition` has one number, and other tables whole;
# or all rows of every shard.
Scope = Literal["shard", "partition", "corpus"]
PARTITIONS = 16  # into which rows are cut that shards exchange: bounds what one task holds of them (own choice)


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
    home: str | None = None  # module that has the stage under its name; None: its function's

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
    attribute: Stage = getattr(importlib.import_module(module), name)
    return attribute


def record_of(hint: Any) -> type[Record] | None:
    """The record that a table annotation names, else None."""
    if get_origin(hint) is Annotated:
        return next(
            (value for value in get_args(hint)[1:] if isinstance(value, type) and issubclass(value, Record)), None
        )
    return None


def stage(scope: Scope) -> Callable[[Callable[..., Any]], Stage]:
    """Make a stage of a pure function. TypeError if its signature names neither a table nor rules."""

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
