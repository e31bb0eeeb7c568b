"""Export: a stage's table as JSONL, Parquet or CSV."""

import io
import json
from collections.abc import Iterable
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.spreadsheet import csv_bytes
from openclawbench.errors import UsageError
from openclawbench.inspect.find import fresh_rows
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.fulltax import Annotation, DecisionA, DecisionB1, DecisionB2, DecisionC
from openclawbench.records.oracle import Coverage, EventDescriptor, Fused, UnmatchedRow
from openclawbench.records.packet import Packet, PacketCut
from openclawbench.records.release import LabelAssignment, Master
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.session import FileOutcome, Step, TraceSummaryRow, Trajectory, UserTurn
from openclawbench.release.privacy.gate import Gate
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.runtime.run import Run
from openclawbench.tables.record import TRAJECTORY_KEY, Record

TABLES: dict[str, type[Record]] = {
    "normalize": Trajectory,
    "files": FileOutcome,
    "trace": TraceSummaryRow,
    "enrich": AlignedDescriptor,
    "fuse": EventDescriptor,
    "outcomes": Fused,
    "coverage": Coverage,
    "unmatched-rows": UnmatchedRow,
    "slice": Risk,
    "onset": Onset,
    "packet": Packet,
    "packet-cuts": PacketCut,
    "stage-a": DecisionA,
    "stage-b1": DecisionB1,
    "stage-b2": DecisionB2,
    "stage-c": DecisionC,
    "annotate": Annotation,
    "merge": Master,
    "labels": LabelAssignment,
}
FORMATS = ("jsonl", "parquet", "csv")


def read_table(run: Run, name: str) -> pl.DataFrame:
    """The table of a stage, sorted by key; `normalize` gives a trajectory a row with its steps and user turns.

    Stale shards are left out (openclawbench.inspect.find.left_out reports them). Raises NotFound if all are stale.
    """
    if name not in TABLES:
        raise UsageError(f"export {name}: there is no such table. Use one of: {', '.join(TABLES)}.")
    frame = fresh_rows(run, TABLES[name])
    if name == "normalize":
        for record, column in ((Step, "steps"), (UserTurn, "user_turns")):
            fields = [field for field in record.model_fields if field not in TRAJECTORY_KEY]
            nested = (
                fresh_rows(run, record)
                .group_by(TRAJECTORY_KEY, maintain_order=True)
                .agg(pl.struct(fields).alias(column))
            )
            frame = frame.join(nested, on=TRAJECTORY_KEY, how="left").with_columns(pl.col(column).fill_null([]))
    order = [
        column for column in ("source_model", "trajectory_id", "step_id", "path") if column in frame.collect_schema()
    ]
    return frame.collect().sort(order, nulls_last=True)


def let_out(run: Run, name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table as a release would hold its texts. Raises ReleaseBlocked if one of them blocks a release."""
    gate = Gate(PrivacyRules.load(overrides=run.overrides), f"export {name}")
    return pl.DataFrame(gate.let_out(frame.to_dicts()), schema=frame.schema, orient="row")


def encode(frame: pl.DataFrame, kind: str) -> Iterable[bytes]:
    """The table in one of FORMATS. In CSV a struct becomes one column for each field, `column.field`; lists are JSON
    text; a text that a spreadsheet would run begins with an apostrophe."""
    if kind == "jsonl":
        return (canonical_json(row).encode() + b"\n" for row in frame.iter_rows(named=True))
    buffer = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(buffer, compression="zstd")
    elif kind == "csv":
        frame = flatten_structs(frame)
        nested = [name for name, kind_ in frame.schema.items() if kind_.is_nested()]
        rows = ([as_text(v) if k in nested else v for k, v in row.items()] for row in frame.iter_rows(named=True))
        return [csv_bytes(frame.columns, rows)]
    else:
        raise UsageError(f"format {kind}: use one of: {', '.join(FORMATS)}.")
    return [buffer.getvalue()]


def flatten_structs(frame: pl.DataFrame) -> pl.DataFrame:
    """Each struct as one column for each field, named `column.field`, at any depth."""
    while structs := [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]:
        frame = frame.select(
            column
            for name in frame.columns
            for column in (fields_of(frame.schema[name], name) if name in structs else [pl.col(name)])
        )
    return frame


def fields_of(kind: pl.DataType, name: str) -> list[pl.Expr]:
    """The fields of a struct column as columns."""
    assert isinstance(kind, pl.Struct)
    return [pl.col(name).struct.field(field.name).alias(f"{name}.{field.name}") for field in kind.fields]


def as_text(value: Any) -> str | None:
    """A nested value as JSON text."""
    return None if value is None else json.dumps(value, ensure_ascii=False)
