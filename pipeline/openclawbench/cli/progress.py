"""Progress on stderr: bars on a terminal, plain lines where there is none."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from openclawbench.base.terminal import errors, pluralize, safe
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.runtime.run import StageReport

PLAIN_EVERY_S = 10.0


def said(tally: JudgeProgress) -> str:
    """One line: done of all, rate, time left, money, what went wrong, what this run's answers say."""
    seconds = max(time.monotonic() - tally.started, 0.001)
    rate = tally.calls / seconds
    left = (tally.total - tally.done) / rate if rate else 0.0
    parts = [f"{tally.stage}: {tally.done} of {tally.total} answered"]
    parts += [f"{rate:.1f}/s", f"{left:.0f} s left"] if tally.calls and tally.done < tally.total else []
    parts += [f"{tally.usd:.4f} USD", f"{tally.tokens} tokens ({tally.cached_tokens} cached)"] if tally.calls else []
    last = f" (last: {tally.last_failure})" if tally.last_failure else ""
    parts += [f"{tally.asked_again} asked again"] if tally.asked_again else []
    parts += [f"{pluralize(tally.failures, 'failure')}{last}"] if tally.failures else []
    counts = {
        "given up": tally.unanswered,
        "too long, not sent": tally.too_long,
        "with an estimated usage": tally.estimated,
    }
    parts += [f"{count} {name}" for name, count in counts.items() if count]
    return "; ".join([", ".join(parts), *([counted(tally.gists)] if tally.gists else [])])


def counted(counts: Mapping[str, int]) -> str:
    """Names with their numbers, the most frequent first."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


class Progress:
    """Told of every shard and every stage. `quiet` says nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = errors()
        self.said_at = 0.0
        self.asked: set[str] = set()  # addresses that were named
        self.bars: Bars | None = None
        if not quiet and sys.stderr.isatty():
            columns = [TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
            self.bars = Bars(*columns, console=self.console, transient=True)
            self.task = self.bars.add_task("", total=None)

    def __enter__(self) -> Self:
        if self.bars:
            self.bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bars:
            self.bars.stop()

    def shard(self, stage: str, done: int, total: int) -> None:
        """One shard of a stage is done."""
        if self.bars:
            self.bars.update(self.task, description=stage, completed=done, total=total)

    def asking(self, tally: JudgeProgress) -> None:
        """How far the questions of a stage are: every second on a terminal, else every tenth, and at the end; who is
        asked, once."""
        if tally.endpoint and tally.endpoint not in self.asked and not self.quiet:
            self.asked.add(tally.endpoint)
            self.console.print(f"asking {safe(tally.endpoint)}", highlight=False)
        if self.bars:
            self.bars.update(self.task, description=said(tally), completed=tally.done, total=tally.total)
        elif not self.quiet and (tally.done >= tally.total or time.monotonic() - self.said_at > PLAIN_EVERY_S):
            self.said_at = time.monotonic()
            self.console.print(said(tally), highlight=False)

    def stage(self, report: StageReport) -> None:
        """A stage is up to date."""
        if not self.quiet and report.redone:
            self.console.print(f"{report.stage}: {report.redone} of {report.shards} shards, {report.seconds:.1f} s")

    def tiers(self, counts: Mapping[str, int]) -> None:
        """How many trajectories each quality tier has, as soon as that is decided."""
        if not self.quiet:
            self.console.print(f"tiers: {counted(counts)}", highlight=False)
