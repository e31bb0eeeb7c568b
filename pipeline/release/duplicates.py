"""Near duplicates across the two sides of a cut, by locality-sensitive hashing of MinHashes (datasketch)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.release.fingerprint import sketch_of
from pipeline.release.keys import Key
from pipeline.rules.release import Duplicates, ReleaseRules

Prints = Mapping[Key, dict[str, Any]]


class Sides(NamedTuple):
    """The records on the two sides of a cut."""

    test: Iterable[Key]
    train: Iterable[Key]


def near(test: Iterable[Key], train: Iterable[Key], prints: Prints, rules: ReleaseRules) -> set[Key]:
    """Records of `train` that are, exactly or nearly, a record of `test`."""
    return near_in_each([Sides(test, train)], prints, rules)[0]


def near_in_each(cuts: list[Sides], prints: Prints, rules: ReleaseRules) -> list[set[Key]]:
    """For each cut the records of its train side that are, exactly or nearly, one of its test side.

    Nearly: an estimated Jaccard similarity of the shingles of at least `similarity`. Candidates come from an index
    whose bands favour recall; each is compared before it counts. A text that several records have is compared once,
    for all cuts together.
    """
    tested, trained = (on_side(cuts, side, prints) for side in ("test", "train"))
    texts = {prints[key]["text_sha256"]: key for key in sorted({*tested, *trained})}
    at = {text: number for number, text in enumerate(texts)}
    tests = [0] * len(texts)  # of each text, the cuts (a bit each) that have it on the test side
    for key, bits in tested.items():
        tests[at[prints[key]["text_sha256"]]] |= bits
    reached = [0] * len(texts)  # the same of the text and of all that are nearly it
    for number, others in alike([prints[key]["minhash"] for key in texts.values()], rules.duplicates):
        for other in others:
            reached[number] |= tests[other]
    found: list[set[Key]] = [set() for _ in cuts]
    for key, bits in trained.items():
        number = at[prints[key]["text_sha256"]]
        for cut, keys in enumerate(found):
            if bits & (reached[number] | tests[number]) & (1 << cut):
                keys.add(key)
    return found


def on_side(cuts: list[Sides], side: str, prints: Prints) -> dict[Key, int]:
    """The cuts, a bit each, that have a record on this side; records without a fingerprint are near to nothing."""
    found: dict[Key, int] = {}
    for number, cut in enumerate(cuts):
        for key in getattr(cut, side):
            if key in prints:
                found[key] = found.get(key, 0) | 1 << number
    return found


def alike(sketches: list[Sequence[int]], how: Duplicates) -> Iterator[tuple[int, list[int]]]:
    """(number, numbers of those that are nearly the same) of each MinHash, itself among them."""
    import numpy as np
    from datasketch import MinHashLSH  # takes a second, which most commands can do without

    index = MinHashLSH(how.similarity, how.permutations, weights=(1 - how.miss_weight, how.miss_weight))
    known = [sketch_of(values, how) for values in sketches]
    for number, sketch in enumerate(known):
        index.insert(number, sketch)
    values = np.array([sketch.hashvalues for sketch in known])
    for number, sketch in enumerate(known):
        candidates = np.array(index.query(sketch), dtype=np.int64)
        similarity = np.count_nonzero(values[candidates] == values[number], axis=1) / how.permutations
        yield number, candidates[similarity >= how.similarity].tolist()
