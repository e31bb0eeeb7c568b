"""Near duplicates across the two sides of a cut, by locality-sensitive hashing of MinHashes."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from openclawbench.rules.release import Duplicates, ReleaseRules
from openclawbench.tables.record import TRAJECTORY_KEY

if TYPE_CHECKING:  # imported where it is used: most commands do not need it
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]


class Texts(NamedTuple):
    """The distinct texts of a corpus."""

    of_record: "Numbers"  # the number of each record's text; -1 without text
    sketches: "Numbers"  # (texts, permutations): the MinHash of each


class Sides(NamedTuple):
    """The two sides of a cut: for each record, whether it is on the side."""

    test: "Numbers"
    train: "Numbers"


def texts_of(records: pl.DataFrame, fingerprints: pl.DataFrame, rules: ReleaseRules) -> Texts:
    """The distinct texts of these records, which are rows with a key."""
    import numpy as np

    texts = fingerprints.unique("text_sha256", keep="first", maintain_order=True).with_row_index("text")
    keys = fingerprints.select(*TRAJECTORY_KEY, "text_sha256")
    numbers = keys.join(texts.select("text_sha256", "text"), on="text_sha256").drop("text_sha256")
    of_record = records.select(TRAJECTORY_KEY).join(numbers, on=TRAJECTORY_KEY, how="left", maintain_order="left")
    sketches = texts["minhash"].cast(pl.List(pl.UInt32)).explode().to_numpy()
    return Texts(
        of_record["text"].cast(pl.Int64).fill_null(-1).to_numpy(),
        np.reshape(sketches[: len(texts) * rules.duplicates.permutations], (len(texts), rules.duplicates.permutations)),
    )


def near_in_each(cuts: Sequence[Sides], texts: Texts, rules: ReleaseRules) -> "list[Numbers]":
    """For each cut and record, whether it is on the train side and an exact or near duplicate of one on the test side.

    Near duplicates have an estimated Jaccard similarity of the shingles of at least `similarity`. Candidates come from
    an index whose bands favour recall; each is compared before it counts. Each distinct text is compared once, for all
    cuts together.
    """
    import numpy as np

    known = texts.of_record >= 0
    tests = np.zeros((len(texts.sketches) + 1, len(cuts)), bool)  # of each text; the last row: records without text
    for number, cut in enumerate(cuts):
        tests[texts.of_record[known & cut.test], number] = True
    reached = tests.copy()  # the same for the text and all its near duplicates
    for text, similar in alike(texts.sketches, rules.duplicates):
        reached[text] |= tests[similar].any(axis=0)
    return [known & cut.train & reached[texts.of_record, number] for number, cut in enumerate(cuts)]


def alike(sketches: "Numbers", rules: Duplicates) -> "Iterator[tuple[int, Numbers]]":
    """(number, numbers of its near duplicates) of each MinHash that may be similar to another one."""
    import numpy as np

    groups = in_one_band(sketches, rules)
    of_text: dict[int, list[int]] = {}
    for group, texts in enumerate(groups):
        for text in texts.tolist():
            of_text.setdefault(text, []).append(group)
    for text, numbers in of_text.items():
        candidates = np.unique(np.concatenate([groups[group] for group in numbers]))
        similarity = np.count_nonzero(sketches[candidates] == sketches[text], axis=1) / rules.permutations
        yield text, candidates[similarity >= rules.similarity]


def in_one_band(sketches: "Numbers", rules: Duplicates) -> "list[Numbers]":
    """Groups of two or more MinHashes that are the same in one of the index's bands, by their numbers."""
    pairs = []
    number, rows = bands(rules.similarity, rules.permutations, rules.miss_weight)
    for start in range(0, number * rows, rows):
        band = pl.DataFrame(sketches[:, start : start + rows])
        same = band.with_row_index("text").group_by(band.columns).agg("text").filter(pl.col("text").list.len() > 1)
        pairs += [texts.to_numpy() for texts in same["text"]]
    return pairs


@cache
def bands(similarity: float, permutations: int, miss_weight: float) -> tuple[int, int]:
    """Number of bands, and rows a band, by the weight of missed duplicates (datasketch)."""
    from datasketch import MinHashLSH  # takes a second, and most commands do not need it

    index = MinHashLSH(similarity, permutations, weights=(1 - miss_weight, miss_weight))
    return index.b, index.r
