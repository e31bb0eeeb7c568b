"""Asking over shares: the ledger of a share, its part of limits and budget, and a lease that allows one run per share.

Limits and budget are divided evenly, so that all shares together stay within those of one run, without a central
service and even if some shares die. A share cannot use what another one leaves.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openclawbench.base.shard_selection import ShardSelection
from openclawbench.judge.ledger.merge_shards import merge, refuse_other_shares, share_ledger, spent_in
from openclawbench.judge.settings import AskingSettings
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.lease import Lease, LeaseFolder
from openclawbench.workspace.configuration.setting_table import EMBEDDED, NO_JUDGE
from openclawbench.workspace.settings import Settings


@dataclass(frozen=True)
class AskingResources:
    """The means of a run to ask: its ledger, the main ledger if that is another one, settings, and the number of runs
    that share an endpoint's limits."""

    ledger: Path
    former: Path | None
    settings: AskingSettings
    runs: int = 1


@contextlib.contextmanager
def asking_resources(data: DataFolder, settings: Settings, value: str | None) -> Iterator[AskingResources]:
    """The share budget of a run, within the data folder's lock. `value`: the judge that the run may ask; None: none. A
    run over all shards first merges the ledgers of shares. Raises LeaseHeld if another run asks for the same share."""
    if settings.shard is None:
        merge(data.ledger)
        yield AskingResources(data.ledger, None, settings.asking)
        return
    share, own = settings.shard, share_ledger(data.ledger, settings.shard)
    if value in (None, NO_JUDGE, EMBEDDED):
        yield AskingResources(data.ledger, None, settings.asking)
        return
    refuse_other_shares(data.ledger, share)
    rules = AskingRules.load().lease
    with Lease(
        data.remote or LeaseFolder(data.work), f"share-{share.index}-of-{share.of}", rules.beat_s, rules.stale_s
    ):
        yield AskingResources(
            own, data.ledger, share_of_limits(settings.asking, share, spent_in(data.ledger)), share.of
        )


def share_of_limits(asking: AskingSettings, share: ShardSelection, spent: tuple[float, int]) -> AskingSettings:
    """A share's part of limits and budget; `spent`: USD and tokens that count against the budget already."""
    usd, tokens = spent
    concurrency = AskingRules.load().connection.concurrency if asking.concurrency is None else asking.concurrency
    parts = {
        "concurrency": max(1, concurrency // share.of),
        "rpm": None if asking.rpm is None else asking.rpm / share.of,
        "tpm": None if asking.tpm is None else asking.tpm / share.of,
        "budget_usd": None if asking.budget_usd is None else max(0.0, asking.budget_usd - usd) / share.of,
        "budget_tokens": None if asking.budget_tokens is None else max(0, asking.budget_tokens - tokens) // share.of,
    }
    return asking.model_copy(update=parts)
