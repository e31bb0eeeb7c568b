"""Near duplicates across the two sides of a cut, by locality-sensitive hashing of MinHashes (datasketch)."""

from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.release.fingerprint import sketch_of
from pipeline.rules.release import ReleaseRules

Key = tuple[str, str]


def near(
    test: Iterable[Key], train: Iterable[Key], prints: Mapping[Key, dict[str, Any]], rules: ReleaseRules
) -> set[Key]:
    """Records of `train` that are, exactly or nearly, a record of `test`.

    Nearly: an estimated Jaccard similarity of the shingles of at least `similarity`. Candidates come from an index
    whose bands favour recall; each is compared before it counts.
    """
    from datasketch import MinHashLSH  # takes a second, which most commands can do without

    how = rules.duplicates
    index = MinHashLSH(how.similarity, how.permutations, weights=(1 - how.miss_weight, how.miss_weight))
    exact = set()
    sketches = {}
    for key in sorted(set(test) & prints.keys()):
        sketches[key] = sketch_of(prints[key]["minhash"], how)
        exact.add(prints[key]["text_sha256"])
        index.insert(key, sketches[key])
    found = set()
    for key in sorted(set(train) & prints.keys()):
        if prints[key]["text_sha256"] in exact:
            found.add(key)
            continue
        sketch = sketch_of(prints[key]["minhash"], how)
        if any(sketch.jaccard(sketches[one]) >= how.similarity for one in index.query(sketch)):
            found.add(key)
    return found
