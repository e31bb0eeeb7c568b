"""The list of trajectories: one row each, its filters, and the counts of each facet under the other filters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from openclawbench.records.tiers import status
from openclawbench.records.vocabulary import STEP_TEXTS
from openclawbench.tables.record import TRAJECTORY_KEY

# Columns of the index. A value that is not known is null.
COLUMNS: dict[str, pl.DataType] = {
    "source_model": pl.String(),
    "trajectory_id": pl.String(),
    "label": pl.String(),
    "subtype": pl.String(),
    "severity": pl.String(),
    "oracle_outcome": pl.String(),
    "risk_score": pl.Float64(),
    "num_steps": pl.Int64(),
    "end": pl.String(),
    "tier": pl.String(),
    "task_id": pl.String(),
    "subset": pl.String(),
    "behaviour": pl.String(),
    "risk_bucket": pl.String(),
    "slice_label": pl.String(),
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
SORTS = tuple(COLUMNS)
TITLES = FACETS | {  # column of the list -> its heading
    "trajectory_id": "id",
    "task_id": "task",
    "num_steps": "steps",
    "risk_score": "risk",
    "risk_bucket": "risk bucket",
    "end": "run end",
    "status": "status",
    "onset": "onset",
    "judge": "judge",
    "second_label": "2nd label",
    "second_subtype": "2nd subtype",
    "second_pass": "2nd pass",
    "human": "human verdict",
}
ALWAYS = "trajectory_id"  # the column that cannot be left out
SHOWN = (  # columns where the address names none
    "source_model",
    "trajectory_id",
    "label",
    "subtype",
    "tier",
    "severity",
    "oracle_outcome",
    "risk_score",
    "num_steps",
    "end",
    "task_id",
    "second_pass",
    "human",
)
HIT = "hit"  # column of the index after a search in steps: the first step with the text, 0 for a user turn
NONE = "none"  # in an address: the value is null
PAGE = 100  # rows of a page


@dataclass(frozen=True)
class Query:
    """What the address of the list asks for."""

    values: dict[str, tuple[str, ...]] = field(default_factory=dict)  # facet -> chosen values
    text: str = ""
    in_steps: bool = False  # the text is looked for in user turns and steps too
    picked: frozenset[str] = frozenset()  # MODEL/ID of the selection
    only_picked: bool = False
    columns: tuple[str, ...] = SHOWN
    sort: str = "source_model"
    descending: bool = False
    page: int = 1


def read_query(parameters: Iterable[tuple[str, str]]) -> Query:
    """The query of an address; names and values that do not exist are passed over."""
    values: dict[str, tuple[str, ...]] = {}
    others: dict[str, str] = {}
    picked = set()
    for name, value in parameters:
        if name in FACETS and value:
            values[name] = (*values.get(name, ()), value)
        elif name == "pick":
            picked.add(value)
        else:
            others[name] = value
    sort, page = others.get("sort", ""), others.get("page", "1")
    wanted = others.get("columns", "").split(",")
    columns = tuple(name for name in COLUMNS if name in wanted or name == ALWAYS)
    text = others.get("q", "").strip()
    return Query(
        values,
        text,
        bool(text) and others.get("in") == "steps",
        frozenset(picked),
        others.get("only") == "selection",
        columns if "columns" in others else SHOWN,
        sort.removeprefix("-") if sort.removeprefix("-") in SORTS else "source_model",
        sort.startswith("-"),
        int(page) if page.isascii() and page.isdigit() and len(page) < 7 and int(page) else 1,
    )


def conditions(query: Query) -> dict[str, pl.Expr]:
    """Filter -> its expression."""
    expressions = {
        name: pl.col(name).is_in([value for value in chosen if value != NONE])
        | (pl.col(name).is_null() & pl.lit(NONE in chosen))
        for name, chosen in query.values.items()
    }
    if query.text:
        words = pl.concat_str(["source_model", "trajectory_id", "task_id"], separator="/", ignore_nulls=True)
        expressions["q"] = words.str.to_lowercase().str.contains(query.text.lower(), literal=True)
        if query.in_steps:
            expressions["q"] |= pl.col(HIT).is_not_null()
    if query.only_picked:
        expressions["selection"] = pl.concat_str(TRAJECTORY_KEY, separator="/").is_in(sorted(query.picked))
    return {name: expression.fill_null(False) for name, expression in expressions.items()}


def matching_rows(index: pl.DataFrame, conditions: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The rows that every condition holds for."""
    return index.filter(*conditions.values()) if conditions else index


def without(conditions: Mapping[str, pl.Expr], name: str) -> dict[str, pl.Expr]:
    """The conditions of all filters but one."""
    return {facet: condition for facet, condition in conditions.items() if facet != name}


def select_rows(index: pl.DataFrame, query: Query) -> pl.DataFrame:
    """The rows that the filters leave, in the order of `index`, which is sorted by key."""
    return matching_rows(index, conditions(query))


def in_order(rows: pl.DataFrame, query: Query, start: int = 0, count: int | None = None) -> pl.DataFrame:
    """Rows in the order of the query, from `start`, `count` of them; rows of one value stay in theirs."""
    if query.sort == TRAJECTORY_KEY[0] and not query.descending:
        return rows.slice(start, count)
    places = rows.select(query.sort).with_row_index("place")
    places = places.sort(query.sort, descending=query.descending, nulls_last=True, maintain_order=True)
    return rows[places["place"].slice(start, count)]


def neighbours(
    index: pl.DataFrame, query: Query, key: tuple[str, str]
) -> tuple[int | None, int, dict[str, tuple[str, str]]]:
    """(place of a trajectory in the list, its length, {before, after}: the keys beside it); place None: it is not
    in the list."""
    names = {*TRAJECTORY_KEY, query.sort, *query.values, "task_id", *({HIT} if query.in_steps else ())}
    rows = in_order(select_rows(index.select(sorted(names)), query), query).select(TRAJECTORY_KEY)
    model, name = key
    place = rows.select(
        ((pl.col("source_model") == model) & (pl.col("trajectory_id") == name)).arg_true().first()
    ).item()
    if place is None:
        return None, rows.height, {}
    neighbour_places = {"before": place - 1, "after": place + 1}
    return place, rows.height, {name: rows.row(at) for name, at in neighbour_places.items() if 0 <= at < rows.height}


def facets(index: pl.DataFrame, rows: pl.DataFrame, query: Query) -> dict[str, list[dict[str, Any]]]:
    """Facet -> {value, count, chosen}: each counted under the filters of the other facets, the most frequent first.

    `rows`: what all filters leave of `index`.
    """
    expressions = conditions(query)
    counted = count_values(rows, [name for name in FACETS if name not in expressions])
    for name in query.values:
        counted |= count_values(matching_rows(index, without(expressions, name)), [name])
    counts: dict[str, list[dict[str, Any]]] = {}
    for name in FACETS:
        chosen = query.values.get(name, ())
        values = dict.fromkeys(chosen, 0) | counted[name]
        if set(values) <= {NONE} and not chosen:
            continue
        counts[name] = [
            {"value": value, "count": count, "chosen": value in chosen}
            for value, count in sorted(values.items(), key=lambda item: (item[0] == NONE, -item[1], item[0]))
        ]
    return counts


def count_values(rows: pl.DataFrame, names: list[str]) -> dict[str, dict[str, int]]:
    """Column -> value -> how often it occurs."""
    columns = rows.select(pl.col(name).value_counts().implode() for name in names)
    return {
        name: {NONE if entry[name] is None else entry[name]: entry["count"] for entry in columns[name][0]}
        for name in names
    }


def suggest_filter_removals(index: pl.DataFrame, query: Query) -> list[dict[str, Any]]:
    """Each filter, with the number of rows that match without it: shown where nothing matches."""
    expressions = conditions(query)
    return [{"filter": name, "rows": matching_rows(index, without(expressions, name)).height} for name in expressions]


def find_text(rows: pl.LazyFrame, text: str) -> pl.DataFrame:
    """Key and HIT of the trajectories whose user turns or steps contain a text, regardless of case. `rows`: Evidence or
    Master."""

    def has(texts: pl.Expr) -> pl.Expr:
        if text.isascii():  # several times as fast
            return texts.str.contains_any([text], ascii_case_insensitive=True)
        return texts.str.to_lowercase().str.contains(text.lower(), literal=True)

    element = pl.element().struct
    in_steps = pl.any_horizontal(has(element.field(name)).fill_null(False) for name in STEP_TEXTS)
    in_turns = has(element.field("text")).fill_null(False)
    first = pl.col("steps").list.eval(pl.when(in_steps).then(element.field("step_id"))).list.min()
    turn = pl.col("user_turns").list.eval(in_turns).list.any()
    return (
        rows.select(*TRAJECTORY_KEY, pl.when(first.is_null() & turn).then(0).otherwise(first).cast(pl.Int64).alias(HIT))
        .filter(pl.col(HIT).is_not_null())
        .collect()
    )


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


def complete_index(rows: pl.LazyFrame, verdicts: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    """The index with all its columns, sorted by key. `verdicts`: key -> agreement_status of the human verdict."""
    human = pl.DataFrame(
        [(*key, status) for key, status in verdicts.items()],
        {**dict.fromkeys(TRAJECTORY_KEY, pl.String), "human": pl.String},
        orient="row",
    )
    joined = rows.join(human.lazy(), on=TRAJECTORY_KEY, how="left")
    present = set(joined.collect_schema())
    missing = [pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items() if name not in present]
    same = (pl.col("label") == pl.col("second_label")) & pl.col("subtype").eq_missing(pl.col("second_subtype"))
    compared = pl.when(pl.col("second_label").is_null()).then(None).when(same).then(pl.lit("same"))
    complete = joined.with_columns(missing).with_columns(second_pass=compared.otherwise(pl.lit("differs")))
    return complete.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items()).sort(TRAJECTORY_KEY).collect()
