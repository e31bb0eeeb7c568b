"""What a table is given by another is what polars' own left join gives."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.tables.lookup_join import lookup_join

NAMES = st.one_of(st.none(), st.sampled_from(["a", "b", "c", ""]))


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9))), st.sets(st.tuples(NAMES, NAMES)))
def test_it_is_the_left_join(rows: list[tuple[str | None, str | None, int]], keys: set[tuple[str | None, ...]]) -> None:
    on = {"one": pl.String, "two": pl.String}
    frame = pl.DataFrame(rows, schema={**on, "number": pl.Int64}, orient="row")
    ordered = sorted(keys, key=str)
    stated = [(*key, place) for place, key in enumerate(ordered)]
    actual_frame = pl.DataFrame(stated, schema={**on, "said": pl.Int64}, orient="row")
    expected = frame.join(actual_frame, on=["one", "two"], how="left", nulls_equal=True, maintain_order="left")
    assert lookup_join(frame, actual_frame, ["one", "two"]).equals(expected)


@pytest.mark.parametrize(
    "right_rows",
    [
        pytest.param([(1, "a", "x"), (2, None, "y"), (2, "b", None)], id="the same rows"),
        pytest.param([(2, None, "y"), (1, "a", "x"), (2, "b", None)], id="another order"),
        pytest.param([(1, "a", "x"), (2, None, "y"), (3, "b", "z")], id="another row"),
        pytest.param([(2, None, "y")], id="fewer rows"),
        pytest.param([], id="none"),
    ],
)
def test_it_is_the_left_join_of_tables_with_the_same_rows_too(
    right_rows: list[tuple[int, str | None, str | None]],
) -> None:
    rows = pl.DataFrame({"one": [1, 2, 2], "two": ["a", None, "b"], "own": [True, False, None]})
    frame = pl.DataFrame(right_rows, schema={"one": pl.Int64, "two": pl.String, "said": pl.String}, orient="row")
    joined = rows.join(frame, on=["one", "two"], how="left", nulls_equal=True, maintain_order="left")
    assert lookup_join(rows, frame, ["one", "two"]).equals(joined)
