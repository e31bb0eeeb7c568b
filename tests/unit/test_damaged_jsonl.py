"""Compressed JSONL files that are damaged, of a table that is divided: the file and the line are named."""

import gzip
import json
from pathlib import Path

import pytest

from openclawbench.errors import UnreadableInput
from openclawbench.release.diff.read import lines
from openclawbench.release.files.jsonl_files import place_of

TABLE = "master_table_all.jsonl"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two files of two lines each; the second is cut."""
    keys = [("m", f"t-{number}") for number in range(4)]
    rows = [json.dumps({"source_model": model, "trajectory_id": name}).encode() + b"\n" for model, name in keys]
    for number in range(2):
        content = gzip.compress(b"".join(rows[2 * number : 2 * number + 2]))
        path = tmp_path / f"master_table_all-{number:05}-of-00002.jsonl.gz"
        path.write_bytes(content[:-12] if number else content)
    return tmp_path / TABLE


def test_diff_names_the_damaged_file(table: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"master_table_all-00001-of-00002.jsonl.gz: line 1: cannot be read: "):
        list(lines(table))


def test_the_place_of_a_line_is_found_as_far_as_files_can_be_read(table: Path) -> None:
    first, second = (table.with_name(f"master_table_all-{number:05}-of-00002.jsonl.gz") for number in range(2))
    assert [place_of(table, number) for number in (1, 2, 3)] == [(first, 1), (first, 2), (second, 1)]
