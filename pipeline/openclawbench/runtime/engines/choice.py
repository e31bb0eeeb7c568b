"""Which engine: the one that was asked for, else the one that fits the work."""

from openclawbench.runtime.engines.processes import KeptWorkers, Processes, processors
from openclawbench.runtime.engines.protocol import Engine
from openclawbench.runtime.engines.ray_core import RayCore
from openclawbench.runtime.engines.serial import Serial

ENGINES = ("auto", "serial", "processes", "ray")
PARALLEL_BYTES = 32 << 20  # raw bytes of stale shards that are worth starting workers, a second each


def engine_for(
    name: str,
    workers: int | None,
    tasks: int,
    raw_bytes: int,
    ray_address: str | None = None,
    kept: KeptWorkers | None = None,
) -> Engine:
    """An engine for `tasks` tasks over `raw_bytes` bytes; `workers` null: one for each processor. `ray_address`: of a
    Ray cluster that runs; null: one of this machine alone. `kept`: workers that stay for the next tasks.

    `auto` takes processes where there is work for several processors that is worth starting workers (own choice).
    """
    if name == "ray":
        return RayCore(workers, ray_address, processors())
    wanted = workers or processors()
    if name == "processes" or (name == "auto" and min(wanted, tasks) > 1 and raw_bytes >= PARALLEL_BYTES):
        return Processes(wanted, kept)
    return Serial()
