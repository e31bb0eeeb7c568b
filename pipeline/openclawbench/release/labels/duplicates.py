"""Near duplicates: the sides of the cuts that have a trajectory's text, or one that is nearly the same."""

from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.records.release import (
    LabelPlaces,
    NearSides,
    PaperStrata,
    PoolMembers,
    SketchBands,
    Sketches,
)
from openclawbench.release.labels.places import IN_POOL, RESERVED, on_sides, status_and_cuts
from openclawbench.release.labels.sketches import matrix_of
from openclawbench.rules.release.release import Duplicates, ReleaseRules
from openclawbench.runtime.stage import stage

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

NEAR_TEST, NEAR_RESERVED = "near_duplicate_of_test", "near_duplicate_of_calibration_task"
COMPARED_AT_ONCE = 1 << 24  # numbers of MinHashes: bounds the memory that a large group takes


@stage(scope="partition")
def near(
    bands: SketchBands,
    sketches: Sketches,
    places: LabelPlaces,
    strata: PaperStrata,
    pool: PoolMembers,
    rules: ReleaseRules,
) -> NearSides:
    """Rows (sketch, side), sorted: a record with a sketch like this one is on this side. Only for sketches that share
    a bucket of the partition with another one, or with the same one of another shard.

    Near duplicates have an estimated Jaccard similarity of the shingles of at least `similarity`. Candidates come from
    an index whose bands favour recall; each is compared before it counts.
    """
    groups = shared_buckets(bands)
    candidates = groups.select("sketch").unique().lazy()
    known = sketches.join(candidates, on="sketch", how="semi").unique("sketch").sort("sketch").collect()
    candidate_places = on_sides(places.join(candidates, on="sketch", how="semi"), strata, pool)
    sides = memberships(candidate_places, strata.collect()).unique().collect()
    return near_sides(groups, known, sides, rules.duplicates).lazy()


def shared_buckets(bands: pl.LazyFrame) -> pl.DataFrame:
    """Rows (bucket, sketch) of the buckets that hold two sketches, or one sketch of two shards."""
    rows = bands.select("bucket", "sketch").collect()
    return rows.filter(rows["bucket"].is_duplicated()).unique().sort("bucket", "sketch")


def near_sides(groups: pl.DataFrame, known: pl.DataFrame, sides: pl.DataFrame, rules: Duplicates) -> pl.DataFrame:
    """NearSide of the sketches in `groups`. `known`: Sketch of each, sorted; `sides`: rows (sketch, side) of each that
    is on a side."""
    import numpy as np

    numbers, names = known.select("sketch").with_row_index("row"), sides["side"].unique().sort()
    is_on_side = np.zeros((known.height, len(names)), np.float32)
    at = sides.join(numbers, on="sketch", maintain_order="left")
    is_on_side[at["row"].to_numpy(), names.search_sorted(at["side"]).to_numpy()] = 1
    rows = groups.join(numbers, on="sketch", maintain_order="left")
    matrix, reached = matrix_of(known["minhash"], rules), np.zeros(is_on_side.shape, bool)
    for group in rows.group_by("bucket", maintain_order=True).agg("row")["row"]:
        members = group.to_numpy()
        reached[members] |= sides_reached(matrix[members], is_on_side[members], rules)
    row, side = np.nonzero(reached)
    return pl.DataFrame({"sketch": known["sketch"].gather(row), "side": names.gather(side)})


def sides_reached(sketches: "Numbers", is_on_side: "Numbers", rules: Duplicates) -> "Numbers":
    """For each sketch and each side: whether a similar sketch is on that side."""
    import numpy as np

    at_once = max(1, COMPARED_AT_ONCE // sketches.size)
    parts = []
    for start in range(0, len(sketches), at_once):
        equal = np.count_nonzero(sketches[start : start + at_once, None] == sketches, axis=2)
        parts.append((equal / rules.permutations >= rules.similarity).astype(np.float32) @ is_on_side > 0)
    return np.concatenate(parts)


def memberships(rows: pl.LazyFrame, strata: pl.DataFrame) -> pl.LazyFrame:
    """Rows (sketch, side) of records with text: the sides for which near duplicates are searched. `rows`: of
    on_sides(). A cut's name is the test side of the cut, among the records that certificates are about."""
    status, cuts = status_and_cuts(strata)
    is_certified, reason = pl.col("label_status") == status, pl.col("default_reason")
    sides = {
        NEAR_TEST: pl.col("default_cut") == "test",
        NEAR_RESERVED: reason.is_in([IN_POOL, RESERVED]),
        IN_POOL: pl.col("in_calibration_pool"),
        **{name: is_certified & (cut == "test") for name, cut in cuts.items()},
    }
    named = [pl.when(condition).then(pl.lit(name)) for name, condition in sides.items()]
    with_text = rows.drop_nulls("sketch")
    return with_text.select("sketch", side=pl.concat_list(named)).explode("side").drop_nulls("side")
