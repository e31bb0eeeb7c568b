"""Every column that a rule can change is compared, by whatever it is told."""

from typing import Any

import polars as pl
import pytest

from openclawbench.inspect.whatif.changes import COMPARE, NOT_COMPARED, ORDER, changes
from openclawbench.inspect.whatif.whatif import EVIDENCE
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.packet import Packet, PacketCut, PacketIndex
from openclawbench.records.risk import Onset, Risk, StepRisk
from openclawbench.tables.record import STEP_KEY, Record
from openclawbench.tables.schema import from_records, schema

KEY = {"source_model": "m", "trajectory_id": "t"}
FLAG = {"flag": "hedge", "rule_id": "flags.hedge.maybe", "field": "thinking", "start": 3, "end": 8, "cause": None}
PART = {"event_type": "query", "rule_id": "shell.grep", "command": "grep a b", "side_effect": False, "target": None}
ROWS: dict[type[Record], dict[str, Any]] = {
    AlignedDescriptor: {
        "step_id": 1,
        "event_type": "query",
        "event_rule": "shell.grep",
        "tool_name": "exec",
        "tool_status": "ok",
        "status_rule": "status.ok",
        "side_effect": False,
        "side_effect_rule": "effect.none",
        "command_parts": [PART],
        "auto_flags": ["hedge"],
        "flag_evidence": [FLAG],
        "languages": [{"field": "narration", "language": "en", "coverage": "covered"}],
        "tool_name_raw": "bash",
        "previous_tool_name": "bash",
        "previous_event_type": "other",
        "alignment_case": "exact",
        "alignment_rule": "align.exec",
    },
    StepRisk: {"step_id": 1, "step_risk": 1.5},
    Risk: {
        "risk_signals": dict.fromkeys(schema(Risk)["risk_signals"].to_schema(), 1),  # type: ignore[attr-defined]
        "risk_breakdown": [{"signal": "other_steps", "count": 1, "contribution": 0.4}],
        "risk_score_raw": 0.4,
        "risk_score": 2.0,
        "risk_bucket": "low",
        "slice_label": "pass_low_risk",
        "pass_but_high_risk": False,
        "fail_but_low_risk": False,
    },
    Onset: {
        "onset_candidates": {
            "earliest_side_effect_step": 1,
            "top_k_risky_steps": [1, 2],
            "step_risk_scores": [{"step_id": 1, "step_risk": 1.5}],
        },
        "onset_rules": [{"candidate": "top_k_risky_steps", "step_id": 1, "rule_id": "onset.top_k_risky_steps"}],
    },
    Packet: {"compacted": False},
    PacketIndex: {"packet_sha256": "ab" * 32, "to_judge": True, "estimated_tokens": 100, "fits": True},
    PacketCut: {
        "place": "step",
        "number": 1,
        "field": "thinking",
        "characters": 900,
        "left_out": 100,
        "rule_id": "packet.other",
    },
}
FLAGS = [[], ["uncertainty"], ["hedge", "uncertainty"]]  # other values of auto_flags
# Columns that are not compared -> why.
APART = {
    (AlignedDescriptor, "tool_name_raw"): "as the session wrote it",
    **dict.fromkeys(
        ((Packet, name) for name in schema(Packet) if name != "compacted"),
        "columns of other tables; PacketIndex.packet_sha256 changes with any of them",
    ),
}


def tables(**changed: Any) -> dict[type[Record], pl.LazyFrame]:
    """A row of each table; `changed` is table name -> columns with another value."""
    return {
        record: from_records([KEY | row | changed.get(record.__name__, {})], record).lazy()
        for record, row in ROWS.items()
    }


def others(value: Any, kind: Any) -> list[Any]:
    """Other values of a column, one for each of its fields where it has some."""
    if isinstance(kind, pl.Struct):
        fields = {field.name: field.dtype for field in kind.fields}
        complete = dict.fromkeys(fields) | value
        return [complete | {name: other} for name in fields for other in others(complete[name], fields[name])]
    if isinstance(kind, pl.List):
        changed = [[other] for other in others(value[0], kind.inner)]
        return [[], value * 2, *changed, [*value, *changed[-1]]]
    if isinstance(value, bool):
        return [not value]
    return [(value or 0) + 1] if kind in (pl.Int64, pl.Float64) else [f"other {value}"]


def cases() -> list[Any]:
    """Each column of each compared table with each other value of it."""
    return [
        pytest.param(record, name, other, id=f"{record.__name__}.{name}-{number}")
        for record, row in ROWS.items()
        for name, kind in schema(record).items()
        if name not in STEP_KEY and (record, name) not in APART
        for number, other in enumerate(FLAGS if name == "auto_flags" else others(row.get(name), kind))
    ]


@pytest.mark.parametrize(("record", "name", "other"), cases())
def test_no_column_is_forgotten(record: type[Record], name: str, other: Any) -> None:
    frame = changes(tables(), tables(**{record.__name__: {name: other}}))
    assert frame.height >= 1
    assert set(frame["what"]) <= set(ORDER)
    assert frame.filter(pl.col("before").eq_missing(pl.col("after"))).is_empty()
    assert frame["kind"].null_count() == 0


def test_what_is_the_same_is_no_change() -> None:
    assert changes(tables(), tables()).is_empty()


def test_every_table_of_these_stages_is_compared_or_said_not_to_be() -> None:
    written = {record for stage in EVIDENCE for record in stage.writes}
    assert written == {*COMPARE, *NOT_COMPARED, PacketIndex, PacketCut}
    assert set(ROWS) == written - set(NOT_COMPARED)


def test_evidence_of_a_flag_that_moves_to_another_place_is_told_with_its_rules() -> None:
    other = FLAG | {"rule_id": "flags.hedge.perhaps", "start": 20, "end": 27}
    frame = changes(tables(), tables(AlignedDescriptor={"flag_evidence": [other]}))
    assert frame.drop("source_model", "trajectory_id").to_dicts() == [
        {
            "what": "evidence of flag hedge",
            "step_id": 1,
            "kind": "other rules",
            "before": "flags.hedge.maybe thinking 3 8 -",
            "after": "flags.hedge.perhaps thinking 20 27 -",
            "rules_before": ["flags.hedge.maybe"],
            "rules_after": ["flags.hedge.perhaps"],
        }
    ]


def test_a_tool_that_is_aligned_otherwise_is_told() -> None:
    frame = changes(tables(), tables(AlignedDescriptor={"alignment_case": "kept", "alignment_rule": None}))
    assert dict(frame.select("what", "kind").iter_rows())["alignment_case"] == "exact → kept"


def test_another_order_of_the_same_flags_is_told() -> None:
    orders = (["hedge", "uncertainty"], ["uncertainty", "hedge"])
    rows = (ROWS[AlignedDescriptor] | KEY | {"auto_flags": order} for order in orders)
    (row,) = changes(
        *({AlignedDescriptor: from_records([record], AlignedDescriptor).lazy()} for record in rows)
    ).to_dicts()
    assert (row["what"], row["step_id"], row["kind"]) == ("order of flags", 1, "another order")
    assert (row["before"], row["after"]) == ("hedge; uncertainty", "uncertainty; hedge")
