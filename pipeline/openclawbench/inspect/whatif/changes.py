"""Differences of evidence between two sets of tables: one row for each changed value of a step or a trajectory.

Every column that a rule can change is compared, except those that repeat another column (see NOT_COMPARED).
"""

from collections.abc import Callable

import polars as pl

from openclawbench.inspect.whatif import splits as whatif_splits
from openclawbench.inspect.whatif import steps as whatif_steps
from openclawbench.inspect.whatif import trajectories as whatif_trajectories
from openclawbench.inspect.whatif.change import CHANGE, Tables
from openclawbench.records.evidence import AlignedDescriptor, Descriptor
from openclawbench.records.oracle import EventDescriptor, Fused
from openclawbench.records.packet import Evidence, Packet
from openclawbench.records.risk import Onset, Risk, StepRisk
from openclawbench.tables.record import STEP_KEY, Record

ORDER = [
    *whatif_steps.WHATS,
    *whatif_trajectories.RISK_WHATS,
    *whatif_trajectories.ONSET_WHATS,
    *whatif_trajectories.PACKET_WHATS,
    *whatif_splits.WHATS,
]
COMPARE: dict[type[Record], Callable[[Tables, Tables], list[pl.LazyFrame]]] = {
    AlignedDescriptor: whatif_steps.of_steps,
    StepRisk: whatif_steps.of_step_risk,
    Risk: whatif_trajectories.of_risk,
    Onset: whatif_trajectories.of_onset,
    Packet: whatif_trajectories.of_packets,  # with PacketIndex and PacketCut
}
# Tables that are not compared -> why.
NOT_COMPARED: dict[type[Record], str] = {
    Descriptor: "AlignedDescriptor has every column of it, previous_* where alignment changes one",
    EventDescriptor: "columns of AlignedDescriptor beside those of Fused",
    Fused: "of outcomes and the run manifest: no rule file of these stages reaches it",
    Evidence: "steps and turns as they are, beside columns of AlignedDescriptor; compacted is Packet's",
}


def changes(before: Tables, after: Tables) -> pl.DataFrame:
    """Every value that differs, in the columns of CHANGE. Tables that the sets lack are not compared."""
    changed = [change for record, compare in COMPARE.items() if record in after for change in compare(before, after)]
    if not changed:
        return pl.DataFrame(schema=CHANGE)
    return pl.concat(pl.collect_all(changed)).sort(STEP_KEY, nulls_last=True, maintain_order=True)
