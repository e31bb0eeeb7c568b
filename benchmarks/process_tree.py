"""A command measured with every process it starts: CPU seconds and resident memory, from /proc (Linux)."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
EVERY_S = 0.1


@dataclass
class Measured:
    """CPU seconds of all processes, those before `began` among them; peak of their memory together; how it ended."""

    cpu: float = 0.0
    cpu_before: float = 0.0
    peak_mb: float = 0.0
    status: int | None = None  # null: stopped from outside or for taking too long
    killed: bool = False


def measured(
    command: list[str],
    environment: Mapping[str, str],
    log: Path,
    limit_s: float,
    began: Callable[[], bool],
    enough: Callable[[], bool] = lambda: False,
) -> Measured:
    """Run a command to its end; kill -9 with all its processes where it has done `enough`, or takes too long."""
    result, has_begun = Measured(), False
    cpu: dict[int, float] = {}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=dict(environment), cwd=log.parent, stdout=file, stderr=file, start_new_session=True
        )
    end = time.monotonic() + limit_s
    try:
        while process.poll() is None and time.monotonic() < end and not result.killed:
            sizes = 0.0
            for pid in tree(process.pid):
                seconds, size = of_process(pid)
                cpu[pid] = max(cpu.get(pid, 0.0), seconds)
                sizes += size
            result.peak_mb = max(result.peak_mb, sizes)
            if not has_begun and (has_begun := began()):
                result.cpu_before = sum(cpu.values())
            result.killed = enough()
            time.sleep(EVERY_S)
        result.status = process.poll()
    finally:
        end_all(process)
    result.cpu = sum(cpu.values())
    return result


def end_all(process: "subprocess.Popen[bytes]") -> None:
    """kill -9 to what is left of a command and its processes."""
    for pid in [*tree(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()


def tree(pid: int) -> list[int]:
    """A process that runs and all below it."""
    process_ids = [pid]
    for process_id in process_ids:
        try:
            tasks = list(Path(f"/proc/{process_id}/task").iterdir())
            process_ids += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it has ended
    return process_ids


def of_process(pid: int) -> tuple[float, float]:
    """CPU seconds and resident MB of a process; zeros where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0, 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS, pages * os.sysconf("SC_PAGE_SIZE") / 1e6
