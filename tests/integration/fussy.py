"""A stage that fails on one shard. A module of its own: a worker process imports it, and nothing of the tests."""

from openclawbench.records.session import TraceSummaries, TraceSummaryRow, Trajectories
from openclawbench.runtime.stage import stage
from openclawbench.tables.schema import empty


@stage(scope="shard")
def fussy(trajectories: Trajectories) -> TraceSummaries:
    """Fails on the shard that has a certain session."""
    if "2026.4.15-unicode" in trajectories.collect()["native_session_basename"].to_list():
        raise ValueError("not this one")
    return empty(TraceSummaryRow).lazy()
