"""Find a trajectory by what a person types: its id, `model/id`, its session's basename, or the beginning of an id or of
its digits behind the last dot.

Only up-to-date shards are read. A stale shard hides its own trajectories and no others.
"""

from typing import Any, NamedTuple

import polars as pl

from openclawbench.errors import NotFound, UsageError
from openclawbench.intake.lineage import entry_name
from openclawbench.records.second_pass import PASS2
from openclawbench.records.session import Trajectory
from openclawbench.runtime.run import Run
from openclawbench.storage.data_folder import part_name
from openclawbench.tables.record import TRAJECTORY_KEY, Record

Parts = dict[int | str, str]  # shard -> key
LISTED = 5  # trajectories that an ambiguous name names


class Key(NamedTuple):
    """A trajectory and its shard."""

    source_model: str
    trajectory_id: str
    shard: int | str


def find(run: Run, wanted: str) -> Key:
    """The trajectory that a text names. Raises NotFound if it does not exist or its shard is stale, and UsageError if
    the text fits several."""
    model, _, name = wanted.rpartition("/")
    matches = matching([key for key in trajectory_keys(run) if model in ("", key.source_model)], name)
    if not matches:
        raise NotFound(why_not(run, model, name, wanted))
    if len(matches) > 1:
        raise UsageError(f"{wanted}: names {len(matches)} trajectories: {listed(matches)}. Give one of them in full.")
    return matches[0]


def matching(keys: list[Key], name: str) -> list[Key]:
    """The keys whose id is the name; else those of sessions with this basename; else those whose id begins with it, or
    has it at the beginning of its digits behind the last dot."""
    parts = [(key, *key.trajectory_id.rpartition(".")) for key in keys]
    exact = [key for key in keys if key.trajectory_id == name]
    same_basename = [key for key, basename, _, _ in parts if basename == name]
    return (
        exact
        or same_basename
        or [key for key, _, _, digits in parts if key.trajectory_id.startswith(name) or digits.startswith(name)]
    )


def listed(keys: list[Key]) -> str:
    """`model/id` of the first keys, and how many more there are."""
    names = [f"{key.source_model}/{key.trajectory_id}" for key in sorted(keys, key=lambda key: key[:2])]
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"


def trajectory_keys(run: Run) -> list[Key]:
    """Every trajectory of the up-to-date shards. Raises NotFound if no shard is up to date."""
    parts = fresh(run, Trajectory)
    if not parts:
        raise NotFound(f"{run.data.root}: Trajectory {advice(run)}")
    shards = {str(run.data.table(Trajectory) / part_name(shard, key)): shard for shard, key in parts.items()}
    rows = run.data.scan(Trajectory, parts, paths="part").select(*TRAJECTORY_KEY, "part").collect().rows()
    return [Key(model, name, shards[part]) for model, name, part in rows]


def why_not(run: Run, model: str, name: str, wanted: str) -> str:
    """Why no up-to-date trajectory has this name: its shard is stale, or the name does not exist."""
    stale = run.keys[Trajectory].keys() - fresh(run, Trajectory).keys()
    waiting = [entry for shard in stale for entry in run.intake.entries.get(int(shard), [])]
    names = [entry_name(entry) for entry in waiting if model in ("", entry.source_model)]
    if any(known_name.startswith(name) or name.rpartition(".")[0] == known_name for known_name in names):
        return f"{wanted}: its session, or what lies in its shard, is new or has changed; it {advice(run)}"
    return f"{wanted}: no trajectory has this id. `openclawbench export normalize` lists them."


def advice(run: Run, record: type[Record] | None = None) -> str:
    """Advice for a stale table; tables of the second pass have their own command."""
    command = "annotate --pass 2" if record in PASS2.values() else "run"
    return f"is not up to date. Run `openclawbench {command} --data {run.data.root}` first."


def fresh(run: Run, record: type[Record]) -> Parts:
    """The parts of a table that are up to date."""
    names = run.present(record)
    return {shard: key for shard, key in run.keys[record].items() if part_name(shard, key) in names}


def fresh_rows(run: Run, record: type[Record]) -> pl.LazyFrame:
    """The rows of every up-to-date shard. Raises NotFound if no shard is up to date."""
    parts = fresh(run, record)
    if not parts:
        raise NotFound(f"{run.data.root}: {record.__name__} {advice(run, record)}")
    return run.data.scan(record, parts)


def left_out(run: Run, record: type[Record]) -> str | None:
    """A sentence on the stale shards of a table; None if all are up to date."""
    stale = len(run.keys[record]) - len(fresh(run, record))
    if not stale:
        return None
    all_ = f"{stale} of {len(run.keys[record])} shards of {record.__name__}"
    return f"{all_} are not up to date and left out. Run `openclawbench run --data {run.data.root}` to have them all."


def rows_of(run: Run, record: type[Record]) -> pl.LazyFrame:
    """A whole table. Raises NotFound if it does not exist or one of its shards is stale."""
    if not has(run, record):
        raise NotFound(f"{run.data.root}: {record.__name__} {advice(run, record)}")
    return run.data.scan(record, run.keys[record])


def has(run: Run, record: type[Record]) -> bool:
    """True if the whole table is up to date."""
    return bool(run.keys[record]) and len(fresh(run, record)) == len(run.keys[record])


def has_for(run: Run, record: type[Record], key: Key) -> bool:
    """True if a table is up to date in the shard of one trajectory."""
    part = run.keys[record].get(key.shard)
    return part is not None and part_name(key.shard, part) in run.present(record)


def rows_for(run: Run, record: type[Record], key: Key) -> list[dict[str, Any]]:
    """Rows of one trajectory. Raises NotFound if its shard is stale."""
    if not has_for(run, record, key):
        raise NotFound(f"{key.trajectory_id}: its {record.__name__} {advice(run, record)}")
    return (
        run.data.scan(record, {key.shard: run.keys[record][key.shard]})
        .filter(source_model=key.source_model, trajectory_id=key.trajectory_id)
        .collect()
        .to_dicts()
    )
