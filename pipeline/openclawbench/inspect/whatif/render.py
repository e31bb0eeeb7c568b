"""What moved under other rules: counted, with examples, for people and for machines."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import polars as pl
from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import flat, one_line, safe, table
from openclawbench.inspect.sides import print_sides
from openclawbench.inspect.whatif.changes import ORDER
from openclawbench.tables.record import TRAJECTORY_KEY

KINDS_SHOWN = 8  # of one value, on a terminal; --json has all


Kind = tuple[str, str]  # what, kind


class Tally:
    """Changes counted by value and kind over all shards; a trajectory is in one shard, so that counts can be added."""

    def __init__(self, examples: int) -> None:
        self.limit = examples
        self.keys: set[tuple[str, ...]] = set()  # of trajectories in which anything changed
        self.by_value: dict[str, Counter[str]] = {}  # steps, trajectories
        self.by_kind: dict[Kind, Counter[str]] = {}
        self.examples: dict[Kind, list[dict[str, Any]]] = {}

    def add(self, changes: pl.DataFrame) -> None:
        """Count the changes of one shard."""
        self.keys.update(changes.select(TRAJECTORY_KEY).unique().iter_rows())
        for row in counted(changes, ["what"]):
            self.by_value.setdefault(row["what"], Counter()).update(numbers(row))
        for row in counted(changes, ["what", "kind"]):
            self.by_kind.setdefault((row["what"], row["kind"]), Counter()).update(numbers(row))
        for row in changes.group_by("what", "kind", maintain_order=True).head(self.limit).to_dicts():
            kept = self.examples.setdefault((row["what"], row["kind"]), [])
            kept += [row][: self.limit - len(kept)]

    @property
    def moved(self) -> int:
        """Trajectories in which anything changed."""
        return len(self.keys)

    def as_data(self) -> list[dict[str, Any]]:
        """One entry a value that changed somewhere, with its kinds, the most frequent first, and examples of them."""
        found = []
        for what, counts in sorted(self.by_value.items(), key=lambda item: ORDER.index(item[0])):
            kinds = [(kind, number) for (one, kind), number in self.by_kind.items() if one == what]
            kinds.sort(key=lambda kind: (-kind[1]["trajectories"], -kind[1]["steps"], kind[0]))
            examples = self.some_of(what, [kind for kind, _ in kinds])
            shown = [{"kind": kind, **numbers(number)} for kind, number in kinds]
            found.append({"what": what, **numbers(counts), "kinds": shown, "examples": examples})
        return found

    def some_of(self, what: str, kinds: list[str]) -> list[dict[str, Any]]:
        """As many examples as are wanted: one of each kind in turn."""
        turns = zip_longest(*(self.examples.get((what, kind), []) for kind in kinds))
        rows = [row for turn in turns for row in turn if row is not None]
        return [{name: value for name, value in row.items() if name != "what"} for row in rows[: self.limit]]


def numbers(row: Mapping[str, Any]) -> dict[str, int]:
    """Steps and trajectories of a count."""
    return {"steps": row["steps"], "trajectories": row["trajectories"]}


def counted(changes: pl.DataFrame, keys: list[str]) -> list[dict[str, Any]]:
    """Steps and trajectories that changed, by keys."""
    return (
        changes.group_by(keys, maintain_order=True)
        .agg(steps=pl.col("step_id").is_not_null().sum(), trajectories=pl.struct(TRAJECTORY_KEY).n_unique())
        .to_dicts()
    )


def print_report(found: dict[str, Any], console: Console) -> None:
    """Tables and examples."""
    for one in found["rules"]:
        console.print(
            f"{safe(one['path'])} in the place of {one['file']}{'' if one['differs'] else ': the same rules'}"
        )
    if others := ", ".join(one_line(one) for one in found["passed_over"]):
        console.print(f"passed over, rules of other stages as they are in force: {others}")
    stages = ", ".join(found["stages"]) or "nothing"
    console.print(f"made again in memory: {stages}; the work tables are as they were")
    if set(found["stages"]) - {"split"} and "packet" not in found["stages"]:
        console.print("packets are not compared; --packets does")
    if found["sides"] is not None:
        print_sides(found["sides"]["after"], console)
        console.print()
    console.print(f"{found['moved']} of {found['trajectories']} trajectories change\n")
    if not found["changes"]:
        return
    rows = [[one["what"], one["steps"] or None, one["trajectories"]] for one in found["changes"]]
    console.print(table("What changes", ["value", "steps", "trajectories"], rows))
    for one in found["changes"]:
        console.print()
        print_value(one, console)


def print_value(one: dict[str, Any], console: Console) -> None:
    """The kinds of change of one value, and examples."""
    console.print(Text(one["what"], style="bold"))
    for kind in one["kinds"][:KINDS_SHOWN]:
        steps = f"{number(kind['steps'], 'step')} in " if kind["steps"] else ""
        console.print(f"  {flat(kind['kind'])}: {steps}{number(kind['trajectories'], 'trajectory')}")
    if len(one["kinds"]) > KINDS_SHOWN:
        console.print(f"  … and {len(one['kinds']) - KINDS_SHOWN} more kinds; --json lists them all")
    for example in one["examples"]:
        print_example(example, console)


def print_example(row: dict[str, Any], console: Console) -> None:
    """Where, from what to what, under which rules."""
    step = "" if row["step_id"] is None else f" step {row['step_id']}"
    console.print(Text(f"    {one_line(row['source_model'])}/{one_line(row['trajectory_id'])}{step}", style="cyan"))
    console.print(f"      {shown(row['before'])} → {shown(row['after'])}")
    before, after = listed(row["rules_before"]), listed(row["rules_after"])
    if before or after:
        console.print(f"      {before or 'no rule'} → {after or 'no rule'}" if before != after else f"      {before}")


def shown(value: str | None) -> str:
    """A value in one short line."""
    text = " ".join(safe(value or "-").split())
    return text if len(text) <= 100 else f"{text[:99]}…"


def number(count: int, thing: str) -> str:
    """How many of a thing, in words."""
    return f"{count} {thing if count == 1 else thing.removesuffix('y') + 'ies' if thing.endswith('y') else thing + 's'}"


def listed(rules: Iterable[str]) -> str:
    """Rule ids."""
    return ", ".join(safe(rule) for rule in rules)
