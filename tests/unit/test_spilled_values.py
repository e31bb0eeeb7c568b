"""Values in temporary files: the same as those in memory, however few are held."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.intake.intake import Intake, take_in
from openclawbench.storage import spilled_values
from openclawbench.storage.data_folder import DataFolder
from openclawbench.storage.spilled_values import Multimap, SpilledGroups, SpilledList

TEXTS = st.text(st.characters(), max_size=3) | st.sampled_from(["\ud83d", "\0", "1:a", "a"])
KEYS = st.tuples(TEXTS, TEXTS)
EXAMPLE = Path(__file__).parents[2] / "data" / "example"


@pytest.fixture
def few_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Almost everything is written."""
    monkeypatch.setattr(spilled_values, "VALUES_HELD", 3)
    monkeypatch.setattr(spilled_values, "KEYS_HELD", 2)


@pytest.mark.usefixtures("few_held")
@pytest.mark.parametrize("number", [0, 2, 3, 7])
def test_a_list_gives_its_values_in_order_and_more_than_once(number: int) -> None:
    values = SpilledList({"number": at, "text": "\ud83d"} for at in range(number))
    expected = [{"number": at, "text": "\ud83d"} for at in range(number)]
    assert list(values) == expected
    assert list(zip(values, values, strict=True)) == list(zip(expected, expected, strict=True))
    assert len(values) == number
    assert bool(values) == bool(number)
    assert ({"number": 1, "text": "\ud83d"} in values) == (number > 1)


@pytest.mark.usefixtures("few_held")
def test_groups_keep_the_order_of_their_values_and_of_their_first_values() -> None:
    groups = SpilledGroups[int]()
    for value in range(20):
        groups.add(9 - value % 4, value)
    assert {group: groups[group] for group in groups} == {
        9: [0, 4, 8, 12, 16],
        8: [1, 5, 9, 13, 17],
        7: [2, 6, 10, 14, 18],
        6: [3, 7, 11, 15, 19],
    }
    with pytest.raises(KeyError):
        groups[5]


@given(st.lists(st.tuples(KEYS, TEXTS | st.integers(0, 4095))), st.integers(1, 5))
def test_a_multimap_has_each_value_of_a_key_once_in_order(pairs: list[tuple[Any, Any]], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_values, "KEYS_HELD", held)
        values: Multimap[Any] = Multimap()
        expected: dict[Any, tuple[Any, ...]] = {}
        for key, value in pairs:
            former = expected.get(key, ())
            is_new = all(value != own for own in former)
            assert values.add(key, value) == is_new
            expected[key] = (*former, value) if is_new else former
        assert (values.database is not None) == (len(expected) >= held)
        assert {key: values.get(key) for key in expected} == expected
        assert ("no such", "key") not in values
        assert values.get(("no such", "key")) == ()


@pytest.mark.usefixtures("few_held")
def test_a_full_disk_is_an_error_of_the_system() -> None:
    names: Multimap[str] = Multimap()
    for name in ("a", "b"):
        names.add(("m", name), "x")
    assert names.database is not None
    names.database.execute("PRAGMA max_page_count = 4")
    with pytest.raises(OSError, match=r"/.*, the folder for temporary files: database or disk is full"):
        for number in range(10_000):
            names.add(("m", f"name {number}"), "x" * 100)


def content_of(intake: Intake) -> list[Any]:
    """Everything that came in."""
    return [
        *({shard: rows[shard] for shard in rows} for rows in (intake.entries, intake.manifest_rows)),
        {shard: intake.oracle_rows[shard] for shard in intake.oracle_rows},
        (intake.sizes, intake.faults, intake.warnings, intake.counts, intake.oracle_rows.digests),
    ]


def test_what_comes_in_is_the_same_however_little_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(name: str) -> list[Any]:
        return content_of(take_in(DataFolder(tmp_path / name), EXAMPLE / "raw", EXAMPLE / "oracle", save=False))

    expected = taken("held")
    monkeypatch.setattr(spilled_values, "VALUES_HELD", 3)
    monkeypatch.setattr(spilled_values, "KEYS_HELD", 2)
    assert taken("spilled") == expected
    assert expected[2]


@pytest.mark.parametrize("place", ["oracle/outcomes.jsonl", "raw/run_manifest.jsonl"])
def test_half_a_character_in_a_name_of_no_session_ends_nothing(tmp_path: Path, place: str) -> None:
    session = {"type": "session", "version": 3, "id": "x", "timestamp": "2026-11-21T12:06:22.484Z", "cwd": "/w"}
    (tmp_path / "raw" / "m").mkdir(parents=True)
    (tmp_path / "oracle").mkdir()
    (tmp_path / "raw" / "m" / "x.jsonl").write_text(json.dumps(session) + "\n")
    row = {"source_model": "m", "native_session_basename": "\ud83d", "task_id": "t"}
    outcome = {"success": True} if place.startswith("oracle") else {}
    (tmp_path / place).write_text(json.dumps(row | outcome) + "\n")
    intake = take_in(DataFolder(tmp_path / "data"), tmp_path / "raw", tmp_path / "oracle", save=False)
    assert intake.oracle_rows.rows() + intake.manifest_rows.rows() == 1
