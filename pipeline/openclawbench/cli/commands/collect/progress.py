"""Progress of `openclawbench collect run` on stderr: a bar on a terminal, plain lines elsewhere."""

from typing import TYPE_CHECKING

from openclawbench.base.terminal import pluralize, safe
from openclawbench.cli.progress import ConsoleBar

if TYPE_CHECKING:
    from openclawbench.collect.collection import CollectedSession
    from openclawbench.collect.run import Progress


class CollectProgress(ConsoleBar):
    """The progress of a collection, and each session that the infrastructure ended."""

    def update(self, progress: "Progress", row: "CollectedSession | None") -> None:
        """After a session, or (null) at the beginning."""
        if row is not None and row.error and not self.quiet:
            self.console.print(f"{safe(row.source_model)}/{safe(row.planned)}: {safe(row.error)}", highlight=False)
        self.show(line_of(progress), progress.done, progress.total)


def line_of(progress: "Progress") -> str:
    """One line: collected of all, rate, time left, what was spent, failures."""
    parts = [f"{progress.done} of {progress.total} sessions"]
    if progress.done > progress.begun_with:
        parts.append(f"{progress.rate * 60:.1f} a minute")
    left = progress.totals()
    if left["hours"] is not None and left["left"]:
        minutes = f"{left['hours'] * 60:.0f} min left"
        parts.append(f"over {minutes}: {left['not_reckoned']} are of new kinds" if left["not_reckoned"] else minutes)
    parts += [f"{progress.tokens} tokens", f"{usd_words(progress.usd)} USD"]
    if progress.unpriced:
        parts.append(f"{pluralize(progress.unpriced, 'session')} of unknown price not in the USD")
    if progress.stopped:
        parts.append(f"stopped: {', '.join(sorted(progress.stopped))}")
    if progress.infra_errors:
        parts.append(f"{progress.infra_errors} ended by the infrastructure")
    return ", ".join(parts)


def usd_words(usd: float | None) -> str:
    """USD as text, small amounts with more digits; `unknown` where a price is not known."""
    return "unknown" if usd is None else f"{usd:.2f}" if usd >= 1 or not usd else f"{usd:.4f}"
