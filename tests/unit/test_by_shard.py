"""What a run keeps of every session: packed by shard, several values a name."""

import pickle
from pathlib import Path

import pytest

from openclawbench.base.multimap import Multimap
from openclawbench.intake.rows_by_shard import ByShard, TableByShard
from openclawbench.records.session import RunManifestRow
from openclawbench.rules.loading.rule_file import canonical_digest
from openclawbench.tables.bytes_column import BATCH_BYTES, SMALL_BYTES, bytes_column, iter_bytes


def test_rows_come_back_shard_by_shard_as_they_were() -> None:
    rows = {3: [{"name": "a", "shards": None}, {"name": "\ud83d"}], 11: [{"name": "b"}]}
    packed = ByShard(rows)
    assert dict(packed) == rows
    assert packed.get(4, []) == []
    assert dict(packed.only(11)) == {11: rows[11]}
    assert dict(packed.only(4)) == {}


def test_rows_reach_another_process_by_the_name_of_their_file_or_as_bytes(tmp_path: Path) -> None:
    rows = {0: ["a"], 3: ["b", "c"]}
    named = ByShard(rows, tmp_path / "rows")
    pickled = pickle.dumps(named)
    assert b"rows" in pickled and len(pickled) < 400
    opened = pickle.loads(pickled)
    (tmp_path / "rows").unlink()  # as when the folder of the process that scanned is removed
    assert dict(opened) == rows
    for held in (opened, ByShard(rows)):
        sent = pickle.loads(pickle.dumps(held.only(3)))
        assert dict(sent) == {3: ["b", "c"]} and dict(pickle.loads(pickle.dumps(sent))) == {3: ["b", "c"]}
        assert dict(pickle.loads(pickle.dumps(held))) == rows


def test_rows_of_a_shard_are_nobody_elses() -> None:
    packed = ByShard({0: [{"name": "a"}]})
    packed[0][0]["name"] = "changed by who asked"
    assert packed[0] == [{"name": "a"}]


def test_rows_are_counted_as_they_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = ByShard({0: ["a", "b"], 3: ["c"]})
    monkeypatch.setattr(ByShard, "__getitem__", None)  # unpacking them all takes as long as reading them did
    assert (packed.rows(), packed.only(0).rows(), packed.only(7).rows()) == (3, 2, 0)


def test_rows_of_a_record_are_held_as_tables_and_come_back_as_they_were() -> None:
    blank = dict.fromkeys(RunManifestRow.model_fields)
    rows = [blank | {"source_model": "m", "native_session_basename": name, "attempt": 2} for name in ("a", "b", "c")]
    held = TableByShard(RunManifestRow, {0: rows[:2], 5: rows[2:]})
    assert dict(held) == {0: rows[:2], 5: rows[2:]}
    assert held.rows() == 3
    assert held.digests[5] == canonical_digest(rows[2:])
    assert dict(held.only(5)) == {5: rows[2:]} and held.only(5).digests == {5: held.digests[5]}
    assert dict(held.only(1)) == {} and held.table(1).columns == list(blank)


def test_half_a_character_is_written_out_and_the_rows_beside_it_are_kept() -> None:
    blank = dict.fromkeys(RunManifestRow.model_fields)
    rows = [
        blank | {"source_model": "m", "native_session_basename": name} for name in ("\ud83d", "\U0001f600", "\\ud83d")
    ]
    names = TableByShard(RunManifestRow, {0: rows}).table(0)["native_session_basename"].to_list()
    assert names == ["\\ud83d", "\U0001f600", "\\ud83d"]


def test_a_key_has_each_value_once_in_order() -> None:
    multimap: Multimap[str, int] = Multimap()
    for value in (2, 1, 2):
        multimap.add("name", value)
    assert multimap == {"name": (2, 1)}


def test_bytes_of_files_come_back_in_order_however_they_are_held_together() -> None:
    sizes = [10, SMALL_BYTES + 1, None, 0, *[SMALL_BYTES] * (BATCH_BYTES // SMALL_BYTES + 2), SMALL_BYTES + 1, 3]
    values = [None if size is None else bytes([at]) * size for at, size in enumerate(sizes)]
    column = bytes_column("content", iter(values))
    assert list(iter_bytes(column)) == values
    assert [value and value[0] for value in column.to_list()] == values
    assert 4 < column.n_chunks() < len(values)
