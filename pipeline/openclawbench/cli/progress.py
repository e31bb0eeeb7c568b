"""Progress on stderr: bars on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from openclawbench.base.terminal import Verbosity, notices, one_line, pluralize, safe
from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.runtime.run import StageReport
from openclawbench.workspace.progress import Progress

PLAIN_EVERY_S = 10.0


class ConsoleBar:
    """A bar on a terminal, a plain line now and then elsewhere. `quiet` shows nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet or Verbosity.quiet
        self.console = notices()
        self.printed_at = 0.0
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

    def show(self, line: str, done: int, total: int) -> None:
        """Say how far something is: on a terminal always, elsewhere every ten seconds and at the end."""
        if self.bars:
            self.bars.update(self.task, description=line, completed=done, total=total)
        elif not self.quiet and (done >= total or time.monotonic() - self.printed_at > PLAIN_EVERY_S):
            self.printed_at = time.monotonic()
            self.console.print(line, highlight=False)


class ConsoleProgress(ConsoleBar, Progress):
    """Shows every event on stderr. `quiet` shows nothing."""

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(quiet)
        self.endpoints: set[str] = set()  # that were named

    def shard(self, stage: str, done: int, total: int) -> None:
        """Advance the bar."""
        if self.bars:
            self.bars.update(self.task, description=stage, completed=done, total=total)

    def asking(self, progress: JudgeProgress) -> None:
        """Show how far a stage is: every second on a terminal, else every ten seconds and at the end. Each endpoint is
        named once."""
        if progress.endpoint and progress.endpoint not in self.endpoints and not self.quiet:
            self.endpoints.add(progress.endpoint)
            self.console.print(f"asking {safe(progress.endpoint)}", highlight=False)
        self.show(describe_progress(progress), progress.done, progress.total)

    def stage(self, report: StageReport) -> None:
        """Print a line for each stage that was computed, with -v."""
        if Verbosity.verbose and not self.quiet and report.redone:
            self.console.print(f"{report.stage}: {report.redone} of {report.shards} shards, {report.seconds:.1f} s")

    def note(self, sentence: str) -> None:
        """Print the sentence, also where nothing else is shown: it is on stderr."""
        self.console.print(one_line(sentence), highlight=False, soft_wrap=True)

    def tiers(self, counts: Mapping[str, int]) -> None:
        """Print the quality tiers, with -v."""
        if Verbosity.verbose and not self.quiet:
            self.console.print(f"tiers: {most_frequent_first(counts)}", highlight=False)


def describe_progress(progress: JudgeProgress) -> str:
    """One line: answered of all, rate, time left, USD, failures, and what the answers of this run say."""
    seconds = max(time.monotonic() - progress.started, 0.001)
    rate = progress.calls / seconds
    remaining_s = (progress.total - progress.done) / rate if rate else 0.0
    parts = [f"{progress.stage}: {progress.done} of {progress.total} answered"]
    if progress.calls and progress.done < progress.total:
        parts += [f"{rate:.1f}/s", f"{remaining_s:.0f} s left"]
    if progress.calls:
        parts += [f"{progress.usd:.4f} USD", f"{progress.tokens} tokens ({progress.cached_tokens} cached)"]
    if progress.asked_again:
        parts.append(f"{progress.asked_again} asked again")
    if progress.failures:
        last = f" (last: {progress.last_failure})" if progress.last_failure else ""
        parts.append(f"{pluralize(progress.failures, 'failure')}{last}")
    counts = {
        "given up": progress.unanswered,
        "too long, not sent": progress.too_long,
        "with an estimated usage": progress.estimated,
    }
    parts += [f"{count} {name}" for name, count in counts.items() if count]
    answers = [most_frequent_first(progress.gists)] if progress.gists else []
    return "; ".join([", ".join(parts), *answers])


def most_frequent_first(counts: Mapping[str, int]) -> str:
    """Counts with their names, as "12 A, 3 B"."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered)
