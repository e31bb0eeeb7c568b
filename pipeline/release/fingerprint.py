"""Fingerprint: what of a trajectory is compared to find duplicates (own choice; MinHash by datasketch)."""

import zlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from pipeline.canonical import sha256_text
from pipeline.records.base import TRAJECTORY_KEY
from pipeline.records.release import Fingerprint, Fingerprints
from pipeline.records.session import Steps, UserTurns
from pipeline.rules.release import Duplicates, ReleaseRules
from pipeline.stage import stage
from pipeline.tables import from_records

if TYPE_CHECKING:  # imported where it is used: it takes a second, which most commands can do without
    from datasketch import MinHash

TEXTS = ("thinking", "narration", "action_text", "reflection_text")
SEED, SCHEME = 1, "affine32"


@stage(scope="shard")
def fingerprint(steps: Steps, turns: UserTurns, rules: ReleaseRules) -> Fingerprints:
    """One row a trajectory with text: digest of its texts, and their MinHash.

    Compared are the user turns and all texts of the steps, in lower case, digits evened out (ids, times and ports
    differ between two runs of one thing). A shingle is a run of at most `words` words of one line.
    """
    said = turns.select(*TRAJECTORY_KEY, order=pl.lit(0), step=pl.col("user_turn"), text="raw_text")
    done = steps.select(*TRAJECTORY_KEY, order=pl.lit(1), step=pl.col("step_id"), text=whole_step())
    texts = (
        pl.concat([said, done], how="vertical_relaxed")
        .sort(*TRAJECTORY_KEY, "order", "step")
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(text=pl.col("text").str.join("\n").str.to_lowercase().str.replace_all("[0-9]+", "0"))
    )
    rows = [
        {**row, "text_sha256": sha256_text(row["text"]), "minhash": min_hash(row["text"], rules.duplicates)}
        for row in texts.collect().iter_rows(named=True)
    ]
    return from_records(rows, Fingerprint).lazy()


def whole_step() -> pl.Expr:
    """All texts of a step, one after another."""
    return pl.concat_str(*TEXTS, separator="\n", ignore_nulls=True)


def shingles(text: str, words: int) -> list[bytes]:
    """Runs of at most `words` words of a line; of lines that are the same, those of one."""
    runs: list[str] = []
    for line in dict.fromkeys(text.split("\n")):
        found = line.split()
        if len(found) <= words:
            runs.append(" ".join(found))
        else:
            runs += [" ".join(found[start : start + words]) for start in range(0, len(found), words)]
    # Encoded together, which is quicker: no run holds the end of a line.
    return [run for run in "\n".join(runs).encode("utf-8", "surrogatepass").split(b"\n") if run]


def min_hash(text: str, rules: Duplicates) -> list[int]:
    """The MinHash of a text; every shingle counts once."""
    sketch = blank(rules.permutations).copy()
    sketch.update_batch(list(set(shingles(text, rules.words))))  # in whatever order: least values stay least
    return [int(one) for one in sketch.hashvalues]


def sketch_of(values: Sequence[int], rules: Duplicates) -> "MinHash":
    """A stored MinHash, to compare with others."""
    import numpy as np
    from datasketch import MinHash

    known, permutations = np.array(values, dtype=np.uint32), blank(rules.permutations).permutations
    return MinHash(seed=SEED, scheme=SCHEME, hashvalues=known, permutations=permutations)


@cache
def blank(permutations: int) -> "MinHash":
    """The MinHash of nothing; making its permutations is dear, so that they are made once."""
    from datasketch import MinHash  # takes a second, which most commands can do without

    return MinHash(num_perm=permutations, seed=SEED, hashfunc=zlib.crc32, scheme=SCHEME)
