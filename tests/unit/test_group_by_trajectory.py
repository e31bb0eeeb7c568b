"""Groups of rows that stand together are those of polars' own group_by."""

import polars as pl
import pytest

from openclawbench.tables.group_by_trajectory import group_by_trajectory
from openclawbench.tables.record import TRAJECTORY_KEY

ROWS = [("m", "a", 1), ("m", "a", 2), ("n", "a", 3), ("n", "b", None), ("m", "b", 5)]


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS])
def test_a_run_of_rows_is_a_group(rows: list[tuple[str, str, int | None]]) -> None:
    schema = {"source_model": pl.String, "trajectory_id": pl.String, "value": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row").lazy()
    built = [pl.col("value").sum().alias("sum"), pl.struct("value").alias("values")]
    grouped = table.group_by(TRAJECTORY_KEY, maintain_order=True).agg(*built, count=pl.len())
    assert group_by_trajectory(table, *built, count=pl.len()).collect().equals(grouped.collect())
