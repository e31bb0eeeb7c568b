"""Parquet beside JSONL: the same rows with declared types, in row groups and files of a bounded size."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import LabelRow, Master
from openclawbench.release.files.parquet import ParquetTable, arrow_schema, name_parts, rows_of, shards_of, table_of
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.settings import Parquet, PublishRules
from openclawbench.storage.data_folder import DataFolder

SIZES = Parquet(row_group_rows=3, row_group_bytes=1_000, shard_bytes=1_200, compression_level=1)
TEXTS = [
    "short",
    "a line\u2028that splitlines would cut",
    "x" * 900,
    "\\ud83d as text",
    "é" * 300,
    "",
    "tab\tand\nnewline",
]


def line_of(number: int, text: str) -> bytes:
    row = LabelRow(
        source_model="m",
        trajectory_id=f"{number:03}-{text}",
        task_id=None,
        is_anomalous=None if number % 2 else False,
        anomaly_type_l2=None,
        quality_tier="high_confidence_accepted",
        label_status="accepted",
        scoreable=True,
        in_calibration_pool=False,
    )
    return canonical_json(row).encode()


def written(folder: Path, lines: list[bytes], sizes: Parquet = SIZES) -> list[Path]:
    staging = StagingFolder(DataFolder(folder))
    table = ParquetTable(staging, "of a model/labels.jsonl", LabelRow, sizes)
    for start in range(0, len(lines), 4):  # what is read together, a row group, a file: each of another size
        few = lines[start : start + 4]
        table.add(table_of(few, arrow_schema(LabelRow)), [*map(len, few)])
    name_parts(staging, table.jsonl, table.close())
    return shards_of(staging.root, "of a model/labels.jsonl")


@pytest.fixture
def lines() -> list[bytes]:
    return [line_of(number, text) for number, text in enumerate(TEXTS * 2)]


def test_rows_written_as_json_are_the_lines_letter_for_letter(tmp_path: Path, lines: list[bytes]) -> None:
    contents = [canonical_json(row).encode() for path in written(tmp_path, lines) for row in rows_of(path)]
    assert contents == lines


def test_a_table_above_the_size_is_continued_in_further_files(tmp_path: Path, lines: list[bytes]) -> None:
    shards = written(tmp_path, lines)
    assert len(shards) > 2
    assert [path.name for path in shards] == [
        f"labels-{number:05}-of-{len(shards):05}.parquet" for number in range(len(shards))
    ]
    files = [pq.ParquetFile(path) for path in shards]
    groups = [file.metadata.row_group(number).num_rows for file in files for number in range(file.num_row_groups)]
    assert max(groups) == SIZES.row_group_rows
    for path in shards:
        rows = [canonical_json(row) for row in rows_of(path)]
        assert sum(map(len, rows)) <= SIZES.shard_bytes or len(rows) <= SIZES.row_group_rows


def test_a_table_of_many_row_groups_is_continued_in_further_files(tmp_path: Path, lines: list[bytes]) -> None:
    shards = written(tmp_path, lines, SIZES.model_copy(update={"shard_bytes": 1 << 30, "shard_row_groups": 2}))
    groups = [pq.read_metadata(path).num_row_groups for path in shards]
    assert groups == [2] * (len(groups) - 1) + [groups[-1]]
    assert len(groups) > 2
    assert [canonical_json(row).encode() for path in shards for row in rows_of(path)] == lines


def test_a_column_that_is_all_null_keeps_its_type_and_an_empty_table_its_columns(tmp_path: Path) -> None:
    (path,) = written(tmp_path / "nulls", [line_of(1, "a")])
    assert pq.read_table(path).column("anomaly_type_l2").type == pa.string()
    assert pq.read_table(path).column("is_anomalous").to_pylist() == [None]
    (path,) = written(tmp_path / "empty", [])
    assert pq.read_schema(path).equals(arrow_schema(LabelRow))
    assert pq.read_metadata(path).num_rows == 0


def test_the_same_lines_give_the_same_bytes(tmp_path: Path, lines: list[bytes]) -> None:
    first, second = written(tmp_path / "first", lines), written(tmp_path / "second", lines)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_field_that_is_no_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid):
        written(tmp_path, [b'{"source_model":"m","surprise":1}'])


def test_the_settings_in_force_are_readable_and_every_type_of_a_master_record_is_known() -> None:
    assert PublishRules.load().parquet.row_group_rows <= 250
    assert pa.types.is_struct(arrow_schema(Master).field("steps").type.value_type)
