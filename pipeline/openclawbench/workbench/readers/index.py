"""The list of trajectories: one row each, its filters, and the counts of each facet under the other filters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from openclawbench.records.tiers import status
from openclawbench.tables.record import TRAJECTORY_KEY

# Columns of the index. A value that is not known is null.
COLUMNS: dict[str, pl.DataType] = {
    "source_model": pl.String(),
    "trajectory_id": pl.String(),
    "task_id": pl.String(),
    "subset": pl.String(),
    "num_steps": pl.Int64(),
    "end": pl.String(),
    "behaviour": pl.String(),
    "oracle_outcome": pl.String(),
    "risk_score": pl.Float64(),
    "risk_bucket": pl.String(),
    "slice_label": pl.String(),
    "label": pl.String(),
    "subtype": pl.String(),
    "severity": pl.String(),
    "tier": pl.String(),
    "status": pl.String(),
    "review_cause": pl.String(),
    "onset": pl.Int64(),
    "judge": pl.String(),
    "second_label": pl.String(),
    "second_subtype": pl.String(),
    "second_pass": pl.String(),
    "human": pl.String(),
}
FACETS = {  # column -> its heading
    "label": "label",
    "subtype": "subtype",
    "tier": "tier",
    "review_cause": "review cause",
    "oracle_outcome": "outcome",
    "slice_label": "slice",
    "risk_bucket": "risk",
    "severity": "severity",
    "source_model": "model",
    "subset": "subset",
    "end": "run end",
    "behaviour": "behaviour",
    "second_pass": "second pass",
    "human": "human verdict",
}
SORTS = ("source_model", "trajectory_id", "task_id", "num_steps", "label", "tier", "severity", "risk_score", "human")
NONE = "none"  # in an address: the value is null
PAGE = 100  # rows of a page


@dataclass(frozen=True)
class Query:
    """What the address of the list asks for."""

    values: dict[str, tuple[str, ...]] = field(default_factory=dict)  # facet -> chosen values
    text: str = ""
    sort: str = "source_model"
    descending: bool = False
    page: int = 1


def read_query(parameters: Iterable[tuple[str, str]]) -> Query:
    """The query of an address; names and values that do not exist are passed over."""
    values: dict[str, tuple[str, ...]] = {}
    others: dict[str, str] = {}
    for name, value in parameters:
        if name in FACETS and value:
            values[name] = (*values.get(name, ()), value)
        else:
            others[name] = value
    sort = others.get("sort", "")
    page = others.get("page", "1")
    return Query(
        values,
        others.get("q", "").strip(),
        sort.removeprefix("-") if sort.removeprefix("-") in SORTS else "source_model",
        sort.startswith("-"),
        int(page) if page.isascii() and page.isdigit() and len(page) < 7 and int(page) else 1,
    )


def conditions(query: Query) -> dict[str, pl.Expr]:
    """Filter -> its expression."""
    found = {
        name: pl.col(name).is_in([value for value in chosen if value != NONE])
        | (pl.col(name).is_null() & pl.lit(NONE in chosen))
        for name, chosen in query.values.items()
    }
    if query.text:
        words = pl.concat_str(["source_model", "trajectory_id", "task_id"], separator="/", ignore_nulls=True)
        found["q"] = words.str.to_lowercase().str.contains(query.text.lower(), literal=True)
    return {name: expression.fill_null(False) for name, expression in found.items()}


def selected(index: pl.DataFrame, query: Query) -> pl.DataFrame:
    """The rows that the filters leave, sorted."""
    known = conditions(query)
    rows = index.filter(*known.values()) if known else index
    order = [query.sort, *(name for name in TRAJECTORY_KEY if name != query.sort)]
    return rows.sort(order, descending=[query.descending, *[False] * (len(order) - 1)], nulls_last=True)


def facets(index: pl.DataFrame, query: Query) -> dict[str, list[dict[str, Any]]]:
    """Facet -> {value, count, chosen}: each counted under the filters of the other facets, the most frequent first."""
    known = conditions(query)
    counts: dict[str, list[dict[str, Any]]] = {}
    left = index.filter(*known.values()).select(list(FACETS)) if known else index
    for name in FACETS:
        others = [expression for facet, expression in known.items() if facet != name]
        own = left if name not in known else index.filter(*others) if others else index
        rows = own.group_by(name).len().rows()
        chosen = query.values.get(name, ())
        values = {NONE if value is None else value: count for value, count in rows}
        for value in chosen:
            values.setdefault(value, 0)
        if set(values) == {NONE} and not chosen:
            continue
        counts[name] = [
            {"value": value, "count": count, "chosen": value in chosen}
            for value, count in sorted(values.items(), key=lambda item: (item[0] == NONE, -item[1], item[0]))
        ]
    return counts


def ways_out(index: pl.DataFrame, query: Query) -> list[dict[str, Any]]:
    """Where nothing matches: each filter that could go, and the rows that would then be there."""
    known = conditions(query)
    return [
        {"filter": name, "rows": index.filter(*(known[other] for other in known if other != name)).height}
        for name in known
    ]


def label_name() -> pl.Expr:
    """is_anomalous in words."""
    anomalous = pl.col("is_anomalous")
    return pl.when(anomalous).then(pl.lit("anomalous")).when(~anomalous).then(pl.lit("normal")).otherwise(None)


def label_columns(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The label's columns of the index. `rows`: Annotation or Master."""
    return rows.select(
        *TRAJECTORY_KEY,
        label=pl.when(pl.col("is_anomalous").is_null()).then(pl.lit("undecided")).otherwise(label_name()),
        subtype="anomaly_type_l2",
        severity="severity",
        tier="quality_tier",
        status=status(),
        review_cause="review_cause",
        onset="earliest_recoverable_onset",
        judge=pl.col("provenance").struct.field("judge"),
    )


def second_columns(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The columns of the second pass. `rows`: AnnotationPass2."""
    return label_columns(rows).select(*TRAJECTORY_KEY, second_label="label", second_subtype="subtype")


def finished(rows: pl.LazyFrame, verdicts: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    """The index with every column, sorted by key. `verdicts`: key -> agreement_status of the human verdict."""
    human = pl.DataFrame(
        [(*key, status) for key, status in verdicts.items()],
        {**dict.fromkeys(TRAJECTORY_KEY, pl.String), "human": pl.String},
        orient="row",
    )
    joined = rows.join(human.lazy(), on=TRAJECTORY_KEY, how="left")
    there = set(joined.collect_schema())
    missing = [pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items() if name not in there]
    same = (pl.col("label") == pl.col("second_label")) & pl.col("subtype").eq_missing(pl.col("second_subtype"))
    compared = pl.when(pl.col("second_label").is_null()).then(None).when(same).then(pl.lit("same"))
    whole = joined.with_columns(missing).with_columns(second_pass=compared.otherwise(pl.lit("differs")))
    return whole.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).sort(TRAJECTORY_KEY).collect()
