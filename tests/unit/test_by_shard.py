"""What a run keeps of every session: packed by shard, several values a name."""

from pipeline.by_shard import ByShard
from pipeline.several import Several
from pipeline.tables import SMALL_BYTES, TOGETHER_BYTES, bytes_of, shared_bytes


def test_rows_come_back_shard_by_shard_as_they_were() -> None:
    rows = {3: [{"name": "a", "shards": None}, {"name": "\ud83d"}], 11: [{"name": "b"}]}
    packed = ByShard(rows)
    assert dict(packed) == rows
    assert packed.get(4, []) == []
    assert dict(packed.only(11)) == {11: rows[11]}
    assert dict(packed.only(4)) == {}


def test_rows_of_a_shard_are_nobody_elses() -> None:
    packed = ByShard({0: [{"name": "a"}]})
    packed[0][0]["name"] = "changed by who asked"
    assert packed[0] == [{"name": "a"}]


def test_a_key_has_each_value_once_in_order() -> None:
    found: Several[str, int] = Several()
    for value in (2, 1, 2):
        found.add("name", value)
    assert found == {"name": (2, 1)}


def test_bytes_of_files_come_back_in_order_however_they_are_held_together() -> None:
    sizes = [10, SMALL_BYTES + 1, None, 0, *[SMALL_BYTES] * (TOGETHER_BYTES // SMALL_BYTES + 2), SMALL_BYTES + 1, 3]
    values = [None if size is None else bytes([at]) * size for at, size in enumerate(sizes)]
    column = shared_bytes("content", iter(values))
    assert list(bytes_of(column)) == values
    assert [value and value[0] for value in column.to_list()] == values
    assert 4 < column.n_chunks() < len(values)
