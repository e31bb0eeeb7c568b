"""What a run over a share says of itself: how much of the corpus it is, and what waits for the others."""

from shlex import quote
from typing import Any

from openclawbench.base.terminal import safe
from openclawbench.cli.session import Done
from openclawbench.flow import all_stages
from openclawbench.storage.data_folder import DataFolder

CORPUS = {stage.name for stage in all_stages(second_pass=True) if stage.scope == "corpus"}


def waiting(done: Done) -> dict[str, int]:
    """Stage over the whole corpus -> shards that it needs and that are not there yet; those that are done left out."""
    return {one.stage: one.waits_for for one in done.reports if one.stage in CORPUS and one.waits_for is not None}


def as_data(done: Done) -> dict[str, Any]:
    """The share as plain data."""
    return {"share": str(done.share), "shards": shards(done), "waiting": waiting(done)}


def shards(done: Done) -> int:
    """Shards of the share."""
    return max((one.shards for one in done.reports if one.stage not in CORPUS), default=0)


def line(done: Done, verb: str, data: DataFolder) -> str:
    """What was done, what waits, and what to run in the end."""
    said = f"share {done.share}: {shards(done)} shards are up to date"
    held = waiting(done)
    names = [*held, *(["the release"] if verb == "release" else [])]
    if not names:
        return f"{said}."
    lacking = max(held.values(), default=0)
    what, does = ", ".join(names), "waits" if len(names) == 1 else "wait"
    when = (
        f"until all shards are there; {lacking} are not yet. Then one"
        if lacking
        else "for the last run: all shards are there. One"
    )
    command = f"openclawbench run --data {safe(quote(str(data.root)))}"
    return f"{said}; {what} {does} {when} run without --shard does the rest: `{command}`"
