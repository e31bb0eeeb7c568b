"""The tables of a data folder as the last run left them, read from its manifests alone.

To find what is up to date, every input, rule and module has to be read, which takes seconds for a large corpus. What
the last run wrote is known at once.
"""

from typing import NamedTuple

from openclawbench.flow import all_stages
from openclawbench.intake.intake import Intake
from openclawbench.intake.rows_by_shard import ByShard, TableByShard
from openclawbench.records.oracle import OracleRow
from openclawbench.records.session import RunManifestRow
from openclawbench.runtime.run import Run
from openclawbench.runtime.shard_task import Keys
from openclawbench.storage.data_folder import DataFolder, read_json
from openclawbench.workspace.settings import Settings, settings
from openclawbench.workspace.shares import AskingResources
from openclawbench.workspace.update import first_judge, second_judge


class Differences(NamedTuple):
    """What has changed in the program since the last run: rule files, and stages with other modules."""

    rules: frozenset[str]
    stages: tuple[str, ...]

    def __str__(self) -> str:
        parts = [*sorted(self.rules), *([f"the modules of {', '.join(self.stages)}"] if self.stages else [])]
        return "; ".join(parts) or "the inputs"


def differences(run: Run) -> Differences:
    """What differs from the manifests. `run`: planned."""
    rules: set[str] = set()
    stages = []
    for stage in all_stages(run.judges[2] is not None):
        manifest = read_json(run.data.manifest_file(stage.name))
        if manifest is None:
            continue
        for kind in run.rules.get(stage.name, {}).values():
            if manifest["rules"].get(kind.FILE, {}).get("digest") != kind.digest:
                rules.add(kind.FILE)
        if manifest["code"] != stage.code_digest():
            stages.append(stage.name)
    return Differences(frozenset(rules), tuple(stages))


def last_run(data: DataFolder, chosen: Settings | None = None) -> Run:
    """A run whose keys are those of the manifests. Its intake is empty: raw records need `open_run`."""
    chosen = chosen or settings(data)
    data.remote = chosen.parts
    own = AskingResources(data.ledger, None, chosen.asking)
    second = second_judge(own, chosen)
    intake = Intake(chosen.raw, ByShard({}), TableByShard(RunManifestRow, {}), TableByShard(OracleRow, {}), {}, [], 0)
    run = Run(data, intake, first_judge(own, chosen), second=second)
    for stage in all_stages(second is not None):
        manifest = read_json(data.manifest_file(stage.name)) or {}
        parts = manifest.get("parts", {}).items()
        keys: Keys = {int(shard) if shard.isdigit() else shard: key for shard, key in parts}
        for record in stage.writes:
            run.keys[record] = keys
    return run
