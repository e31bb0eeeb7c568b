"""Who is drawn within a stratum: source models take turns, and which of a model's comes first says a hash of the seed
and the key, so that neither the order of rows nor the shards matter."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Key = tuple[Any, ...]  # (source_model, trajectory_id, …)


def in_turns(entries: Iterable[tuple[str, Key]], numbers: Mapping[str, int], seed: int) -> list[Key]:
    """Keys drawn from (stratum, key), stratum by stratum in the order of `numbers`, sorted within each."""
    found: dict[str, dict[str, list[tuple[str, Key]]]] = defaultdict(lambda: defaultdict(list))
    for stratum, key in entries:
        text = "\0".join(map(str, (seed, *key))).encode("utf-8", "surrogatepass")
        found[stratum][key[0]].append((hashlib.sha256(text).hexdigest(), key))
    chosen: list[Key] = []
    for stratum, number in numbers.items():
        turns = [
            (turn, mark, key)
            for own in found[stratum].values()
            for turn, (mark, key) in enumerate(sorted(own)[:number])
        ]
        chosen += sorted(key for _, _, key in sorted(turns)[:number])
    return chosen
