"""What is made of a listing is made once for it, and no two listings are ever compared."""

import pytest

from openclawbench.sources.aec_bench.context import folders
from openclawbench.sources.io.listing_cache import Listing, cached_by_listing
from openclawbench.sources.sidecars.run_artifact_paths import layout


class Uncompared(frozenset[str]):
    """A listing whose paths nobody may go through to compare it."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("two listings were compared")

    __hash__ = frozenset.__hash__


def test_it_is_made_once_for_each_listing() -> None:
    listings: list[Listing] = []

    @cached_by_listing
    def count(paths: Listing) -> int:
        listings.append(paths)
        return len(paths)

    first, second = Uncompared({"a", "b"}), Uncompared({"a", "b"})
    assert [count(entry) for entry in (first, first, second, second, first)] == [2] * 5
    assert len(listings) == 3


@pytest.mark.parametrize("sorted_out", [layout, folders])
def test_sources_sort_a_listing_out_once(sorted_out: object) -> None:
    for paths in (Uncompared({"m/a.jsonl", "m/b.json"}), Uncompared({"m/a.jsonl", "m/b.json"})):
        assert callable(sorted_out)
        assert sorted_out(paths) is sorted_out(paths)
