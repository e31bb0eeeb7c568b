"""Progress of `openclawbench collect run` on stderr: a bar on a terminal, plain lines elsewhere."""

import sys
import time

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from openclawbench.base.terminal import errors, safe
from openclawbench.collect.run import CollectedSession, Progress

PLAIN_EVERY_S = 10.0


class Shown:
    """Progress on stderr: a bar on a terminal, lines elsewhere. `quiet`: nothing."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.printed_at = quiet, 0.0
        self.bars: Bars | None = None
        if not quiet and sys.stderr.isatty():
            columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
            self.bars = Bars(*columns, console=errors(), transient=True)
            self.task = self.bars.add_task("collect", total=None)

    def __enter__(self) -> "Shown":
        if self.bars:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars:
            self.bars.stop()

    def update(self, progress: Progress, row: CollectedSession | None) -> None:
        """After a session, or (null) at the beginning."""
        if self.quiet:
            return
        if row is not None and row.error:
            errors().print(f"{safe(row.source_model)}/{safe(row.planned)}: {safe(row.error)}", highlight=False)
        if self.bars:
            self.bars.update(self.task, description=line_of(progress), completed=progress.done, total=progress.total)
        elif row is None or progress.done >= progress.total or time.monotonic() - self.printed_at > PLAIN_EVERY_S:
            self.printed_at = time.monotonic()
            errors().print(line_of(progress), highlight=False)


def line_of(progress: Progress) -> str:
    """One line: collected of all, rate, time left, cost, failures."""
    parts = [f"{progress.done} of {progress.total} sessions"]
    if progress.done > progress.begun_with:
        left = (progress.total - progress.done) / progress.rate
        parts += [f"{progress.rate * 60:.1f} a minute", f"{left / 60:.0f} min left"]
    parts += [f"{progress.tokens} tokens", f"{progress.usd:.2f} USD"]
    if progress.infra_errors:
        parts.append(f"{progress.infra_errors} ended by the infrastructure")
    return ", ".join(parts)
