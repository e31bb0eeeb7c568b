"""What a table is given by another is what polars' own left join gives."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.construct.looked_up import looked_up

NAMES = st.one_of(st.none(), st.sampled_from(["a", "b", "c", ""]))


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9))), st.sets(st.tuples(NAMES, NAMES)))
def test_it_is_the_left_join(rows: list[tuple[str | None, str | None, int]], keys: set[tuple[str | None, ...]]) -> None:
    on = {"one": pl.String, "two": pl.String}
    frame = pl.DataFrame(rows, schema={**on, "number": pl.Int64}, orient="row")
    ordered = sorted(keys, key=str)
    said = [(*key, place) for place, key in enumerate(ordered)]
    found = pl.DataFrame(said, schema={**on, "said": pl.Int64}, orient="row")
    expected = frame.join(found, on=["one", "two"], how="left", nulls_equal=True, maintain_order="left")
    assert looked_up(frame, found, ["one", "two"]).equals(expected)
