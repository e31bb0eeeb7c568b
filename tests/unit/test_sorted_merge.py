"""Sorted files become one sorted stream, however many they are and however their row groups lie."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclawbench.tables import sorted_merge
from openclawbench.tables.sorted_merge import ORDER, merge_sorted, write_sorted


@given(st.lists(st.lists(st.text(max_size=3), max_size=9), min_size=1, max_size=9))
def test_any_division_into_files_gives_the_sorted_rows(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_merge, "ROWS", 2)
        patch.setattr(sorted_merge, "FAN_IN", 2)
        files = []
        for number, words in enumerate(parts):
            files.append(folder / f"{number}.parquet")
            rows = {ORDER: words, "place": [f"{number}.{at}" for at in range(len(words))]}
            write_sorted(pl.DataFrame(rows, {ORDER: pl.String, "place": pl.String}), files[-1])
        tables = list(merge_sorted(files, folder))
    assert all(table.height for table in tables)
    rows = [row for table in tables for row in table.rows()]
    wanted = [(word, f"{number}.{at}") for number, words in enumerate(parts) for at, word in enumerate(words)]
    assert [word for word, _ in rows] == sorted(word for word, _ in wanted)
    assert sorted(rows) == sorted(wanted)


def test_no_more_than_a_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number in range(sorted_merge.FAN_IN * 2 + 1):
        files.append(tmp_path / f"{number}.parquet")
        write_sorted(pl.DataFrame({ORDER: [f"{number:05}", f"{number + 1000:05}"]}), files[-1])
    taken = []
    at_once = sorted_merge.merged_at_once

    def counted(some: list[Path]) -> object:
        taken.append(len(some))
        return at_once(some)

    monkeypatch.setattr(sorted_merge, "merged_at_once", counted)
    rows = pl.concat(merge_sorted(files, tmp_path))[ORDER].to_list()
    assert rows == sorted(rows) and len(rows) == 2 * len(files)
    assert taken == [sorted_merge.FAN_IN, sorted_merge.FAN_IN, 1, 3]
