"""Counts by source model, and shares."""

from typing import Any

import polars as pl

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import TraceSummaryRow
from openclawbench.reports.section import BY_MODEL, Row, Tables


def models_of(table: pl.LazyFrame) -> list[str]:
    """The source models of a table, sorted."""
    return table.select("source_model").unique().sort("source_model").collect()["source_model"].to_list()


def all_models(tables: Tables) -> list[str]:
    """Every source model that has a trajectory, even one without steps."""
    return sorted({*models_of(tables(TraceSummaryRow)), *models_of(tables(AlignedDescriptor))})


def by_model(table: pl.LazyFrame, keys: list[str], name: str = "steps", records: str | None = None) -> list[Row]:
    """Counts of a table by `keys`: one row per combination, with the count under `name` and {source model: count} under
    BY_MODEL. The most frequent comes first; ties are in the order of the keys. `records`: the column that says how
    many records a row stands for; without it, one."""
    number = pl.col(records).sum() if records else pl.len()
    counted = table.group_by([*keys, "source_model"]).agg(number.alias("n")).sort(*keys, "source_model").collect()
    counts: dict[tuple[Any, ...], dict[str, int]] = {}
    for *key, model, number in counted.select(*keys, "source_model", "n").iter_rows():
        counts.setdefault(tuple(key), {})[model] = number
    rows = [dict(zip(keys, key, strict=True)) | {name: sum(n.values()), BY_MODEL: n} for key, n in counts.items()]
    return sorted(rows, key=lambda row: -row[name])


def with_models(rows: list[Row], models: list[str]) -> list[Row]:
    """The rows with a count for every model: 0 where BY_MODEL does not name it."""
    return [{**row, BY_MODEL: {model: row[BY_MODEL].get(model, 0) for model in models}} for row in rows]


def share(part: int, total: int) -> float | None:
    """part / total, rounded to six places; None if `total` is 0."""
    return round(part / total, 6) if total else None


def review_bounds(accepted: int, anomalous: int, in_review: int, undecided: int) -> tuple[float | None, float | None]:
    """The share of anomalous ones if all that are in review or undecided were normal, and if all were anomalous. Both
    are None where a judge has decided nothing. `anomalous`: of the accepted."""
    if not accepted + in_review:
        return None, None
    open_ones = in_review + undecided
    return share(anomalous, accepted + open_ones), share(anomalous + open_ones, accepted + open_ones)


def percent(share: float | None, digits: int = 2, nothing: str = "-") -> str:
    """A share as a percentage; `nothing` if the share is None."""
    return nothing if share is None else f"{100 * share:.{digits}f} %"
