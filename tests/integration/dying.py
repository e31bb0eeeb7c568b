"""A worker that is killed once at each of some stages; a module of its own, so that a worker can import it."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from openclawbench.runtime.shard_task import ShardTask, ShardWorker, StageResult

# One of each round after the shards: none of them is under way when another one dies.
STAGES = ("draw", "near", "split", "certify")


@dataclass
class Dying:
    """Carries out chains. `folder`: has a file for each stage at which a worker has died."""

    worker: ShardWorker
    folder: Path

    def carry_out(self, chain: ShardTask) -> list[StageResult]:
        """Die, before anything is done, at the first chain of a stage that begins with it."""
        stage = chain.links[0].stage.name
        if stage in STAGES and not (self.folder / stage).exists():
            (self.folder / stage).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.worker.carry_out(chain)
