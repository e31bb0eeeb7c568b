"""Fingerprint: the digest and MinHash of a trajectory by which duplicates are found (own choice; as in datasketch)."""

import zlib
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.base.canonical_json import sha256_text
from openclawbench.records.release import Fingerprints
from openclawbench.records.session import Steps, UserTurns
from openclawbench.records.vocabulary import STEP_TEXTS
from openclawbench.rules.release.release import Duplicates, ReleaseRules
from openclawbench.runtime.stage import stage
from openclawbench.tables.nested_steps import visible_text
from openclawbench.tables.record import TRAJECTORY_KEY

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

SEED = 1
GREATEST = (1 << 32) - 1  # the MinHash of nothing
AT_ONCE = 1 << 16  # shingles that are Python objects at a time
BLANK = r"[\s\x1c-\x1f&&[^\n]]"  # between words of a line; characters that str.split() takes for blanks
WORD = r"[^\s\x1c-\x1f]+"
UNEVEN = rf"[\s\x1c-\x1f&&[^\n ]]{BLANK}*| {BLANK}+"  # more between two words than one blank


@stage(scope="shard")
def fingerprint(steps: Steps, turns: UserTurns, rules: ReleaseRules) -> Fingerprints:
    """One row per trajectory with text: digest of its texts, and their MinHash.

    The texts are the user turns and all texts of the steps, as released, in lower case and with every number as 0,
    because ids, times and ports differ between runs of one task. A shingle is at most `words` words of one line.
    """
    user_texts = turns.select(*TRAJECTORY_KEY, order=pl.lit(0), step=pl.col("user_turn"), text=visible_text())
    step_text = pl.concat_str(*STEP_TEXTS, separator="\n", ignore_nulls=True)
    step_texts = steps.select(*TRAJECTORY_KEY, order=pl.lit(1), step=pl.col("step_id"), text=step_text)
    texts = (
        pl.concat([user_texts, step_texts], how="vertical_relaxed")
        .sort(*TRAJECTORY_KEY, "order", "step")
        .group_by(TRAJECTORY_KEY, maintain_order=True)
        .agg(text=pl.col("text").str.join("\n").str.to_lowercase().str.replace_all("[0-9]+", "0"))
        .collect()
    )
    digests = pl.Series([sha256_text(text) for text in texts["text"]], dtype=pl.String)
    sketches = pl.Series(min_hashes(texts["text"], rules.duplicates)).arr.to_list()
    return texts.lazy().select(*TRAJECTORY_KEY, text_sha256=digests, minhash=sketches)


def shingles(texts: pl.Series, words: int) -> pl.Series:
    """Shingles of each text, as a list: at most `words` words of a line, separated by one blank."""
    even = texts.str.replace_all(UNEVEN, " ")
    return even.str.extract_all(rf"{WORD}(?: {WORD}){{0,{words - 1}}}")


def min_hashes(texts: pl.Series, rules: Duplicates) -> "Numbers":
    """One row per text: its MinHash by datasketch's scheme `affine32` over the crc32 of each shingle."""
    import numpy as np

    runs = shingles(texts, rules.words)
    lengths = runs.list.len().to_numpy()
    least = np.full((len(texts), rules.permutations), GREATEST, np.uint32)
    if not lengths.any():
        return least
    has_shingles = lengths > 0
    starts = np.cumsum(lengths[has_shingles], dtype=np.int64) - lengths[has_shingles]
    hashes = finalize_hashes(crc32_of_shingles(runs.filter(pl.Series(has_shingles)).explode()))
    for number, (factor, offset) in enumerate(zip(*permutations(rules.permutations), strict=True)):
        least[has_shingles, number] = np.minimum.reduceat(hashes * factor + offset, starts)
    return least


def crc32_of_shingles(runs: pl.Series) -> "Numbers":
    """The crc32 of each text."""
    import numpy as np

    parts = (runs.slice(start, AT_ONCE).cast(pl.Binary).to_list() for start in range(0, len(runs), AT_ONCE))
    return np.concatenate([np.fromiter(map(zlib.crc32, part), np.uint32, len(part)) for part in parts])


def finalize_hashes(hashes: "Numbers") -> "Numbers":
    """The finalizer of MurmurHash3, which spreads similar values."""
    hashes = (hashes ^ (hashes >> 16)) * 0x85EBCA6B
    hashes = (hashes ^ (hashes >> 13)) * 0xC2B2AE35
    return hashes ^ (hashes >> 16)  # type: ignore[no-any-return]


@cache
def permutations(number: int) -> tuple["Numbers", "Numbers"]:
    """Factors (odd) and offsets of `number` permutations h -> factor * h + offset of the 32-bit numbers."""
    import numpy as np

    drawn = np.random.RandomState(SEED)
    factors = drawn.randint(0, 1 << 31, number, np.uint32) * 2 + 1
    return factors.astype(np.uint32), drawn.randint(0, 1 << 32, number, np.uint32)
