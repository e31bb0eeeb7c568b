"""How a run is summed up: what its splits lack, and why it ends with status 1."""

from typing import Any

from openclawbench.base.terminal import pluralize
from openclawbench.cli.session import Done
from openclawbench.cli.settings import Settings
from openclawbench.inspect.sides import cautions, table_of_sides
from openclawbench.records.release import LabelAssignment, LabelBasis
from openclawbench.rules.release import ReleaseRules

NEEDS_A_PERSON = 1


def cautions_of(done: Done) -> list[str]:
    """A sentence for each side of a cut that has too little on it."""
    if done.tables is None:
        return []
    assigned = table_of_sides(done.tables[LabelAssignment])
    basis = done.tables[LabelBasis].select("source_model", "trajectory_id", "task_digest").collect()
    return cautions(assigned, basis, ReleaseRules.load()) if assigned.height else []


def why_a_person(done: Done, chosen: Settings) -> list[str]:
    """Each reason for which a person is needed; none where all is well."""
    found = []
    if done.quarantined > chosen.quarantine_limit:
        limit = f" ({chosen.quarantine_limit} are allowed: quarantine_limit)" if chosen.quarantine_limit else ""
        found.append(f"{pluralize(done.quarantined, 'file')} quarantined{limit}")
    if done.faults:
        found.append(f"{pluralize(len(done.faults), 'fault')} in outcomes or the run manifest")
    if not done.sessions and chosen.shard is None:
        found.append("no session came in")
    return found


def exit_of(why: list[str]) -> dict[str, Any]:
    """The exit status and its reasons, as plain data."""
    return {"status": NEEDS_A_PERSON if why else 0, "why": why}


def last_line(why: list[str], verb: str, released: bool) -> str:
    """What the exit status means, and where to look."""
    done = "the release is written, without them" if released else f"{verb} is done, without them"
    return f"exit status {NEEDS_A_PERSON}: {'; '.join(why)}; {done}. `openclawbench status` lists each with what to do."
