"""Columns that a table has from other ones: written once, and there for whoever reads."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from openclawbench.errors import UnreadableInput
from openclawbench.flow import all_stages
from openclawbench.records.evidence import AlignedDescriptor, Descriptor
from openclawbench.records.packet import Evidence, Packet
from openclawbench.records.session import Step, UserTurn
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record
from openclawbench.tables.schema import from_records

PARTS: dict[int | str, str] = {0: "a", 1: "b"}
LENT: dict[type[Record], dict[int | str, str]] = {
    Step: {0: "of-normalize", 1: "of-normalize-too"},
    UserTurn: {0: "of-normalize", 1: "of-normalize-too"},
    AlignedDescriptor: {0: "of-align", 1: "of-align-too"},
}


def key(name: str) -> dict[str, Any]:
    return {"source_model": "m", "trajectory_id": name}


def turn(text: str) -> dict[str, Any]:
    return {"user_turn": 1, "kinds": ["user"], "text": text}


def step(number: int, text: str) -> dict[str, Any]:
    return {"step_id": number, "reflection_text": text, "tool_name": "exec", "tool_name_raw": "Bash"}


def row(name: str, turns: list[dict[str, Any]], steps: list[dict[str, Any]], compacted: bool = False) -> dict[str, Any]:
    return key(name) | {"compacted": compacted, "num_steps": len(steps), "user_turns": turns, "steps": steps}


ROWS = {
    "t2": row("t2", [turn("as written")], [step(1, "long text"), step(2, "more")], compacted=True),
    "t1": row("t1", [turn("own words")], [step(1, "one")]),
    "no steps": row("no steps", [turn("anyone?")], []),
    "nothing": row("nothing", [], []),
    "no turn": row("no turn", [], [step(1, "by itself")]),
}
SHARDS = [["t2", "t1", "no steps"], ["nothing", "no turn"]]
TABLES: dict[type[Record], list[list[dict[str, Any]]]] = {
    Evidence: [[ROWS[name] for name in names] for names in SHARDS],
    Packet: [
        [row("t2", [], [step(1, "long …")], compacted=True), ROWS["t1"], ROWS["no steps"]],
        [ROWS["nothing"], ROWS["no turn"]],
    ],
    Step: [
        [key("t1") | step(1, "one"), key("t2") | step(1, "long text"), key("t2") | step(2, "more")],
        [key("no turn") | step(1, "by itself")],
    ],
    UserTurn: [
        [
            key("no steps") | turn("anyone?"),
            key("t2") | turn("") | {"raw_text": "as written"},
            key("t1") | turn("own words"),
        ],
        [],
    ],
    AlignedDescriptor: [
        [key("t2") | step(2, ""), key("t2") | step(1, ""), key("t1") | step(1, "")],
        [key("no turn") | step(1, "")],
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Five trajectories in two shards, as stages write them; the packet of the first is shortened."""
    folder = DataFolder(tmp_path)
    for record, shards in TABLES.items():
        for rows, (shard, name) in zip(shards, PARTS.items(), strict=True):
            built = {Evidence: {entry: keys[shard] for entry, keys in LENT.items()}, Packet: {Evidence: name}}.get(
                record
            )
            part = LENT[record][shard] if record in LENT else name
            folder.write_part(record, shard, part, from_records(rows, record), built)
    return folder


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("record", [Evidence, Packet])
def test_a_table_is_whole_where_it_is_read_and_in_the_order_of_its_rows(
    data: DataFolder, record: type[Record], engine: Any
) -> None:
    complete = [entry for rows in TABLES[record] for entry in rows]
    assert data.scan(record, PARTS).collect(engine=engine).equals(from_records(complete, record))
    assert data.rows(record, PARTS) == len(complete)


def test_one_trajectory_can_be_read(data: DataFolder) -> None:
    frame = data.scan(Evidence, PARTS).filter(trajectory_id="t2").collect()
    assert frame.equals(from_records([ROWS["t2"]], Evidence))


def test_only_what_no_other_table_has_is_written(data: DataFolder) -> None:
    packets, evidence = (data.written(record, PARTS).collect() for record in (Packet, Evidence))
    for name in ("steps", "user_turns"):
        assert packets[name].is_null().to_list() == [False, True, True, True, True]
        assert evidence[name].is_null().all()


def test_a_part_that_names_no_other_has_its_columns_itself(data: DataFolder) -> None:
    data.write_part(Evidence, 0, "alone", from_records([ROWS["t2"]], Evidence))
    for record in LENT:
        shutil.rmtree(data.table(record))
    assert data.scan(Evidence, {0: "alone"}).collect().equals(from_records([ROWS["t2"]], Evidence))


@pytest.mark.parametrize("record", [Evidence, Packet])
@pytest.mark.parametrize("lender", LENT)
def test_where_a_part_that_it_was_made_of_is_gone_that_is_said(
    data: DataFolder, record: type[Record], lender: type[Record]
) -> None:
    gone = data.parts(lender, {1: LENT[lender][1]})[1]
    gone.unlink()
    with pytest.raises(UnreadableInput) as raised:
        data.scan(record, PARTS)
    assert str(raised.value).startswith(f"{gone}: is gone, and the evidence has columns from there. Run `openclawbench")
    assert data.scan(record, {0: "a"}).collect().height == len(TABLES[record][0])


def test_another_part_of_the_same_shard_is_not_taken_for_it(data: DataFolder) -> None:
    """The former run's part is swept away later than the new one is written."""
    changed = from_records([key("t1") | step(1, "something else")], Step)
    data.write_part(Step, 0, "of-normalize-anew", changed)
    assert data.scan(Evidence, {0: "a"}).collect().equals(from_records(TABLES[Evidence][0], Evidence))


def test_an_aligned_descriptor_has_its_lists_from_the_descriptor(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    part = {"rule_id": "shell.write", "command": "touch x", "side_effect": True}
    described = [
        key("t")
        | {"step_id": 1, "event_type": "other", "tool_name": "Bash", "command_parts": [part], "auto_flags": []},
        key("t") | {"step_id": 2, "event_type": "reply", "auto_flags": ["hedge"], "command_parts": []},
    ]
    named = [{"event_type": "read", "tool_name": "exec", "alignment_case": "exact"}, {"alignment_case": "reply"}]
    descriptors = from_records([{"flag_evidence": [], "languages": [], **entry} for entry in described], Descriptor)
    aligned = from_records(
        [
            {"flag_evidence": [], "languages": [], **entry, **other}
            for entry, other in zip(described, named, strict=True)
        ],
        AlignedDescriptor,
    )
    folder.write_part(Descriptor, 0, "d", descriptors)
    folder.write_part(AlignedDescriptor, 0, "a", aligned, {Descriptor: "d"})
    assert folder.scan(AlignedDescriptor, {0: "a"}).collect().equals(aligned)
    written = folder.written(AlignedDescriptor, {0: "a"}).collect()
    lent = ("command_parts", "flag_evidence", "languages")
    for name in lent:
        assert written[name].is_null().all() and not aligned[name].is_null().any()
    assert written.drop(lent).equals(aligned.drop(lent))


def test_an_origin_is_read_by_the_stage_or_written_by_it_before() -> None:
    makers = {record: stage for stage in all_stages(second_pass=True) for record in stage.writes}
    borrowing = [
        (stage, record) for stage in all_stages(second_pass=True) for record in stage.writes if record.INHERITED
    ]
    assert {record for _, record in borrowing} == {AlignedDescriptor, Evidence, Packet}
    for stage, record in borrowing:
        assert record.INHERITED is not None
        before = stage.writes[: stage.writes.index(record)]
        assert set(record.INHERITED.origins) <= {*stage.reads.values(), *before}
        assert {stage.scope, *(makers[lender].scope for lender in record.INHERITED.origins)} == {"shard"}
