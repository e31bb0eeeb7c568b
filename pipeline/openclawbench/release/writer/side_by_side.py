"""Functions called in the worker processes of an engine, side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from openclawbench.base.free_memory import give_back_memory
from openclawbench.base.gc_control import gc_disabled
from openclawbench.errors import WorkersFailed
from openclawbench.runtime.engines.protocol import Engine, LostTask

MakeEngine = Callable[[int], Engine]  # gives an engine for a number of tasks


@dataclass(frozen=True)
class Call:
    """A function of a module, and its arguments, which are plain data or paths."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


def side_by_side(make: MakeEngine, calls: Sequence[Call]) -> list[Any]:
    """The result of each call. Raises what a function raises, and WorkersFailed if a worker dies twice over a call."""
    results: dict[int, Any] = {}
    if not calls:
        return []
    for (number, call), result in make(len(calls)).run(carry_out, enumerate(calls)):
        if isinstance(result, LostTask):
            raise WorkersFailed(f"{call.function.__name__}: {result.reason}")
        results[number] = result
    return [results[number] for number in range(len(calls))]


def carry_out(task: tuple[int, Call]) -> Any:
    """One call."""
    with gc_disabled():
        result = task[1].function(**task[1].arguments)
    give_back_memory()
    return result
