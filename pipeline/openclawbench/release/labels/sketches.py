"""Sketches: MinHashes as numbers, and the rows of an index in which similar ones meet (locality-sensitive hashing)."""

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from openclawbench.rules.release.release import Duplicates
from openclawbench.runtime.stage import PARTITIONS
from openclawbench.tables.record import TRAJECTORY_KEY

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

FACTOR, START = 0x9E3779B97F4A7C15, 0x2545F4914F6CDD1D  # odd, of 64 bits


class SketchTables(NamedTuple):
    """The sketches of some records."""

    of_record: pl.DataFrame  # the key of each record with text, and its `sketch`
    distinct: pl.DataFrame  # rows of Sketch


def sketch_tables(fingerprints: pl.DataFrame, rules: Duplicates) -> SketchTables:
    """Number each MinHash by a hash of 64 bits. `fingerprints`: Fingerprint."""
    import numpy as np

    values = fingerprints["minhash"].cast(pl.List(pl.UInt32)).explode(empty_as_null=False).to_numpy()
    matrix = np.reshape(values, (fingerprints.height, rules.permutations))
    numbers = pl.Series("sketch", hash_rows(matrix).view(np.int64), pl.Int64)
    minhashes = pl.Series("minhash", [row.tobytes() for row in matrix], pl.Binary)
    return SketchTables(
        fingerprints.select(TRAJECTORY_KEY).with_columns(numbers),
        pl.DataFrame([numbers, minhashes]).unique().sort("sketch"),
    )


def sketch_bands(sketches: pl.DataFrame, rules: Duplicates) -> pl.DataFrame:
    """Rows of SketchBand, sorted: sketches that are the same in a band of the index have a bucket in common."""
    import numpy as np

    number, width = bands(rules.similarity, rules.permutations, rules.miss_weight)
    matrix = matrix_of(sketches["minhash"], rules)
    tables = []
    for band in range(number):
        buckets = hash_rows(matrix[:, band * width : (band + 1) * width], band)
        columns = {"partition": (buckets % PARTITIONS).astype(np.int64), "bucket": buckets.view(np.int64)}
        tables.append(pl.DataFrame(columns).with_columns(sketches["sketch"]))
    return pl.concat(tables).unique().sort("partition", "bucket", "sketch")


def matrix_of(minhashes: pl.Series, rules: Duplicates) -> "Numbers":
    """(sketches, permutations) of MinHashes as bytes."""
    import numpy as np

    return np.frombuffer(b"".join(minhashes), np.uint32).reshape(len(minhashes), rules.permutations)


def hash_rows(matrix: "Numbers", seed: int = 0) -> "Numbers":
    """A hash of 64 bits of each row."""
    import numpy as np

    hashes = np.full(len(matrix), (START + seed) * FACTOR % 2**64, np.uint64)
    for column in matrix.T:
        hashes = (hashes ^ column) * np.uint64(FACTOR)
        hashes ^= hashes >> np.uint64(29)
    return hashes


@cache
def bands(similarity: float, permutations: int, miss_weight: float) -> tuple[int, int]:
    """Number of bands, and rows per band, by the weight of missed duplicates (datasketch)."""
    from datasketch import MinHashLSH

    index = MinHashLSH(similarity, permutations, weights=(1 - miss_weight, miss_weight))
    return index.b, index.r
