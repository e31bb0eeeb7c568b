"""Pieces of a release: ranges of trajectories of a bounded size, and sorted files merged so many at a time."""

import random
from pathlib import Path

import polars as pl
import pytest

from openclawbench.records.release import LineSize, ReleaseLine
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.settings import PublishRules
from openclawbench.release.writer import pieces
from openclawbench.release.writer.pieces import Piece, limit_files, merge, plan_pieces, rows_in
from openclawbench.release.writer.steps import compress_lines
from openclawbench.runtime.engines.serial import Serial
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.schema import schema

IDS = [f"t-{number:03}" for number in range(40)] + ["é", "\U0001f600", "\uffee"]


def sizes(of_model: dict[str, list[int]]) -> pl.LazyFrame:
    rows = [(model, IDS[number], size) for model, own in of_model.items() for number, size in enumerate(own)]
    random.Random(1).shuffle(rows)
    return pl.LazyFrame(rows, schema(LineSize), orient="row")


def test_a_model_below_the_size_is_one_piece_and_a_larger_one_as_few_as_fit() -> None:
    first, second, third, small = plan_pieces(sizes({"small": [5, 5], "large": [4, 4, 4, 11, 3, 3]}), 12)
    assert small == Piece("small", 0, 1, None, None)
    assert [(piece.first, piece.end) for piece in (first, second, third)] == [
        (None, "t-003"),
        ("t-003", "t-004"),
        ("t-004", None),
    ]
    assert first.name("master_table_all.jsonl") == "fulltax_prod_v1/large/master_table_all-00000-of-00003.jsonl"
    assert small.name("master_table_all.jsonl") == "fulltax_prod_v1/small/master_table_all.jsonl"


def test_a_line_that_is_longer_than_a_file_has_a_piece_of_its_own() -> None:
    bounds = [(piece.first, piece.end) for piece in plan_pieces(sizes({"m": [9, 1, 9, 1]}), 3)]
    assert bounds == [(None, "t-001"), ("t-001", "t-002"), ("t-002", "t-003"), ("t-003", None)]
    assert plan_pieces(sizes({}), 3) == []


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Five sorted files, in groups of two rows."""
    rows = [(model, key, ["f"], f"{model} {key} {line}") for model in "mn" for key in IDS for line in range(2)]
    paths = [tmp_path / f"{number}.parquet" for number in range(5)]
    for number, path in enumerate(paths):
        frame = pl.DataFrame(rows[number::5], schema(ReleaseLine), orient="row").sort("source_model", "trajectory_id")
        frame.write_parquet(path, row_group_size=2)
    return paths


def test_files_merged_in_levels_have_the_rows_of_all_in_order(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge(shards, tmp_path / "at once.parquet")
    monkeypatch.setattr(pieces, "FAN_IN", 2)
    monkeypatch.setattr(pieces, "GROUP_BYTES", 40)
    (tmp_path / "scratch").mkdir()
    few = limit_files(shards, tmp_path / "scratch", lambda _: Serial())
    assert len(few) == 2
    assert sorted(path for path in (tmp_path / "scratch").iterdir()) == sorted(few)
    assert all(path.exists() for path in shards)
    merge(few, tmp_path / "in levels.parquet")
    rows = list(rows_in(tmp_path / "in levels.parquet"))
    assert rows == list(rows_in(tmp_path / "at once.parquet")) == sorted(rows)
    assert len(rows) == 4 * len(IDS)


def test_pieces_divide_the_rows_of_a_file(shards: list[Path]) -> None:
    own = plan_pieces(sizes({"m": [1] * len(IDS), "n": [1] * len(IDS)}), 7)
    for path in shards:
        assert [row for piece in own for row in rows_in(path, piece)] == list(rows_in(path))


def test_a_model_whose_name_ends_as_a_jsonl_file_does_is_compressed_as_others_are(tmp_path: Path) -> None:
    staging, settings = StagingFolder(DataFolder(tmp_path)), PublishRules.load().model_copy(update={"jsonl": "gz"})
    staging.write("fulltax_prod_v1/m.jsonl/master_table_all.jsonl", b"{}\n")
    compress_lines(staging, settings)
    assert [path.name for path in (staging.root / "fulltax_prod_v1" / "m.jsonl").iterdir()] == [
        "master_table_all.jsonl.gz"
    ]
