"""Columns that a table has from another one: written once, and there for whoever reads."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.flow import whole
from pipeline.records.base import Record
from pipeline.records.packet import Evidence, Packet
from pipeline.store import DataFolder
from pipeline.tables import from_records

PARTS: dict[int | str, str] = {0: "a", 1: "b"}


def row(name: str, text: str, compacted: bool = False) -> dict[str, Any]:
    turn = {"user_turn": 1, "kinds": ["user"], "text": text}
    step = {"step_id": 1, "reflection_text": text, "auto_flags": [text]}
    return {"source_model": "m", "trajectory_id": name, "compacted": compacted, "user_turns": [turn], "steps": [step]}


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Three trajectories in two shards; the packet of the second is shortened, the third has no steps."""
    folder = DataFolder(tmp_path)
    nothing = row("t3", "") | {"user_turns": [], "steps": []}
    tables: dict[type[Record], list[list[dict[str, Any]]]] = {
        Evidence: [[row("t2", "long text", True), row("t1", "one")], [nothing]],
        Packet: [[row("t2", "long …", True), row("t1", "one")], [nothing]],
    }
    for record, shards in tables.items():
        for rows, (shard, key) in zip(shards, PARTS.items(), strict=True):
            folder.write_part(record, shard, key, from_records(rows, record))
    return folder


def texts(packets: pl.DataFrame) -> dict[str, Any]:
    return {one["trajectory_id"]: [step["reflection_text"] for step in one["steps"]] for one in packets.to_dicts()}


def test_a_packet_is_whole_where_it_is_read_and_in_the_order_of_its_rows(data: DataFolder) -> None:
    packets = data.scan(Packet, PARTS).collect()
    assert texts(packets) == {"t2": ["long …"], "t1": ["one"], "t3": []}
    assert packets["trajectory_id"].to_list() == ["t2", "t1", "t3"]
    assert packets.schema == from_records([], Packet).schema
    assert packets["user_turns"].to_list()[1] == [{"user_turn": 1, "kinds": ["user"], "text": "one"}]
    assert data.rows(Packet, PARTS) == 3


def test_only_what_differs_from_the_evidence_is_written(data: DataFolder) -> None:
    written = data.written(Packet, PARTS).collect()
    assert written["steps"].is_null().to_list() == written["user_turns"].is_null().to_list() == [False, True, True]


def test_the_lender_is_written_by_the_same_stage_and_before() -> None:
    borrowing = [(stage, record) for stage in whole(second=True) for record in stage.writes if record.BORROWED]
    assert borrowing
    for stage, record in borrowing:
        assert record.BORROWED is not None
        assert record.BORROWED.lender in stage.writes[: stage.writes.index(record)]
