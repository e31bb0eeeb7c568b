"""A left join that copies nothing but what it adds."""

import polars as pl


def lookup_join(given: pl.DataFrame, found: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    """The rows of `given`, in their order, with what `found` says of their values in `on`; nulls where it says nothing,
    and a null finds a null. `found` has no value twice.

    Where both have the same in `on` row by row, as tables of the same steps have, nothing is looked up. Polars' own
    join copies every column of `given`, texts as well: of some sixty that takes five times as long.
    """
    added = [name for name in found.columns if name not in on]
    if found.is_empty():
        return given.with_columns(
            pl.lit(None, kind).alias(name) for name, kind in found.schema.items() if name in added
        )
    told = found
    if found.height != given.height or not all(found[name].equals(given[name]) for name in on):
        told = given.select(on).join(found, on=on, how="left", nulls_equal=True, maintain_order="left")
    return given.hstack([told[name] for name in added])
