"""What a run reports while it works. The base class is silent; the command line shows bars and lines."""

from collections.abc import Mapping

from openclawbench.judge.client.progress import JudgeProgress
from openclawbench.runtime.run import StageReport


class Progress:
    """Receives every event of a run and ignores it."""

    def shard(self, stage: str, done: int, total: int) -> None:
        """A shard of a stage is done."""

    def asking(self, progress: JudgeProgress) -> None:
        """A question of a stage has been answered, or has failed."""

    def note(self, sentence: str) -> None:
        """Something is to be said of the answers in batch files."""

    def stage(self, report: StageReport) -> None:
        """A stage is up to date."""

    def tiers(self, counts: Mapping[str, int]) -> None:
        """Quality tier -> trajectories, as soon as a pass has decided them."""
