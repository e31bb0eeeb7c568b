"""Changes counted by value and kind, with examples."""

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import polars as pl

from openclawbench.inspect.whatif.changes import ORDER
from openclawbench.tables.record import TRAJECTORY_KEY

Kind = tuple[str, str]  # what, kind


class Tally:
    """Changes counted by value and kind over all shards; a trajectory is in one shard, so counts can be added."""

    def __init__(self, examples: int) -> None:
        self.limit = examples
        self.keys: set[tuple[str, ...]] = set()  # keys of trajectories with a change
        self.by_value: dict[str, Counter[str]] = {}  # steps, trajectories
        self.by_kind: dict[Kind, Counter[str]] = {}
        self.examples: dict[Kind, list[dict[str, Any]]] = {}

    def add(self, changes: pl.DataFrame) -> None:
        """Count the changes of one shard."""
        self.keys.update(changes.select(TRAJECTORY_KEY).unique().iter_rows())
        for row in count_changes(changes, ["what"]):
            self.by_value.setdefault(row["what"], Counter()).update(numbers(row))
        for row in count_changes(changes, ["what", "kind"]):
            self.by_kind.setdefault((row["what"], row["kind"]), Counter()).update(numbers(row))
        for row in changes.group_by("what", "kind", maintain_order=True).head(self.limit).to_dicts():
            examples = self.examples.setdefault((row["what"], row["kind"]), [])
            examples += [row][: self.limit - len(examples)]

    @property
    def moved(self) -> int:
        """Number of trajectories with a change."""
        return len(self.keys)

    def as_data(self) -> list[dict[str, Any]]:
        """One entry for each changed value, with its kinds, the most frequent first, and examples of them."""
        rows = []
        for value_name, counts in sorted(self.by_value.items(), key=lambda item: ORDER.index(item[0])):
            kinds = [(kind, number) for (value, kind), number in self.by_kind.items() if value == value_name]
            kinds.sort(key=lambda kind: (-kind[1]["trajectories"], -kind[1]["steps"], kind[0]))
            examples = self.some_of(value_name, [kind for kind, _ in kinds])
            shown = [{"kind": kind, **numbers(number)} for kind, number in kinds]
            rows.append({"what": value_name, **numbers(counts), "kinds": shown, "examples": examples})
        return rows

    def some_of(self, value_name: str, kinds: list[str]) -> list[dict[str, Any]]:
        """Examples up to the limit: one of each kind in turn."""
        turns = zip_longest(*(self.examples.get((value_name, kind), []) for kind in kinds))
        rows = [row for turn in turns for row in turn if row is not None]
        return [{name: value for name, value in row.items() if name != "what"} for row in rows[: self.limit]]


def numbers(row: Mapping[str, Any]) -> dict[str, int]:
    """Steps and trajectories of a count."""
    return {"steps": row["steps"], "trajectories": row["trajectories"]}


def count_changes(changes: pl.DataFrame, keys: list[str]) -> list[dict[str, Any]]:
    """Steps and trajectories that changed, by keys."""
    return (
        changes.group_by(keys, maintain_order=True)
        .agg(steps=pl.col("step_id").is_not_null().sum(), trajectories=pl.struct(TRAJECTORY_KEY).n_unique())
        .to_dicts()
    )
