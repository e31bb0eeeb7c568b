"""One kind of change between two sets of tables: the rows in which a value differs, in the columns of CHANGE."""

import polars as pl

from openclawbench.tables.record import TRAJECTORY_KEY, Record

Tables = dict[type[Record], pl.LazyFrame]
AFTER = "_after"  # suffix of the columns of the later table
CHANGE = pl.Schema(
    {
        "what": pl.String(),
        "source_model": pl.String(),
        "trajectory_id": pl.String(),
        "step_id": pl.Int64(),  # null: of the whole trajectory
        "before": pl.String(),
        "after": pl.String(),
        "kind": pl.String(),  # the kind under which the change is counted
        "rules_before": pl.List(pl.String()),
        "rules_after": pl.List(pl.String()),
    }
)


def pair_rows(before: Tables, after: Tables, record: type[Record], key: list[str]) -> pl.LazyFrame:
    """Rows of a table before and after, side by side: the latter's columns end in _after."""
    return before[record].join(after[record], on=key, suffix=AFTER, maintain_order="left")


def change(
    pairs: pl.LazyFrame,
    value: str,
    before: pl.Expr,
    after: pl.Expr,
    rules: tuple[pl.Expr, pl.Expr] | None = None,
    kind: pl.Expr | None = None,
) -> pl.LazyFrame:
    """The rows in which two values differ. `rules`: the rules behind each value; `kind`: the kind under which a change
    is counted, by default "former → new"."""
    step = "step_id" if "step_id" in pairs.collect_schema() else pl.lit(None, pl.Int64).alias("step_id")
    none = pl.lit([], dtype=pl.List(pl.String()))
    rules_before, rules_after = rules or (none, none)
    return (
        pairs.select(
            pl.lit(value).alias("what"),
            *TRAJECTORY_KEY,
            step,
            before.cast(pl.String).alias("before"),
            after.cast(pl.String).alias("after"),
            (kind if kind is not None else pl.lit(None, pl.String)).alias("kind"),
            rules_before.alias("rules_before"),
            rules_after.alias("rules_after"),
        )
        .filter(pl.col("before").ne_missing(pl.col("after")))
        .with_columns(pl.coalesce("kind", named_kind()).alias("kind"))
    )


def number_change(pairs: pl.LazyFrame, name: str, rules: tuple[pl.Expr, pl.Expr] | None = None) -> pl.LazyFrame:
    """The rows in which a column of numbers differs, counted as higher or lower."""
    before, after = pl.col(name), pl.col(f"{name}{AFTER}")
    higher = pl.when(after > before).then(pl.lit("higher")).otherwise(pl.lit("lower"))
    return change(pairs, name, before, after, rules, came_or_went(before, after, higher))


def list_change(
    pairs: pl.LazyFrame, value: str, name: str, kind: str, rules: tuple[pl.Expr, pl.Expr] | None = None
) -> pl.LazyFrame:
    """The rows in which a column of lists of structs differs, shown by the entries that only one of the lists has."""
    fields = list_fields(pairs, name)
    differ = pairs.filter(pl.col(name).ne_missing(pl.col(f"{name}{AFTER}")))
    written = (entries(pl.col(name), fields), entries(pl.col(f"{name}{AFTER}"), fields))
    return change(differ, value, *as_texts(*written), rules, pl.lit(kind))


def list_fields(pairs: pl.LazyFrame, name: str) -> list[str]:
    """Names of the fields of a list's structs."""
    kind = pairs.collect_schema()[name]
    assert isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct)
    return [field.name for field in kind.inner.fields]


def entries(structs: pl.Expr, fields: list[str]) -> pl.Expr:
    """A list of structs as a list of texts, each with every field."""
    values = [pl.element().struct.field(field).cast(pl.String).fill_null("-") for field in fields]
    return structs.list.eval(pl.concat_str(values, separator=" "))


def as_texts(before: pl.Expr, after: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The entries that only one list has; the lists themselves if they only differ in order or number."""
    gone, new = before.list.set_difference(after), after.list.set_difference(before)
    same_entries = (gone.list.len() == 0) & (new.list.len() == 0)
    return (
        join_texts(pl.when(same_entries).then(before).otherwise(gone)),
        join_texts(pl.when(same_entries).then(after).otherwise(new)),
    )


def join_texts(texts: pl.Expr) -> pl.Expr:
    """A list of texts as one text; null for an empty list."""
    return pl.when(texts.list.len() > 0).then(texts.list.join("; "))


def named_kind() -> pl.Expr:
    """The change as "former → new"."""
    return pl.concat_str(pl.col("before").fill_null("-"), pl.lit(" → "), pl.col("after").fill_null("-"))


def came_or_went(before: pl.Expr, after: pl.Expr, otherwise: pl.Expr) -> pl.Expr:
    """The kind of a change: `appears` or `disappears` if a value is null before or after, else `otherwise`."""
    return (
        pl.when(before.is_null())
        .then(pl.lit("appears"))
        .when(after.is_null())
        .then(pl.lit("disappears"))
        .otherwise(otherwise)
    )
