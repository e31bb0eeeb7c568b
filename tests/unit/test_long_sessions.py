"""A very long session is read in another way, which gives the same tables."""

import gzip
import mmap
import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from normalizing import RULES, SAMPLES, raw_row

import openclawbench.intake.file_scanner
import openclawbench.intake.raw_folder
import openclawbench.sources.io.step_spool
import openclawbench.tables.bytes_column
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.intake.intake import take_in
from openclawbench.intake.raw_folder import whole_content
from openclawbench.intake.scan import scan
from openclawbench.records.session import RunManifestRow, SourceFile, Step
from openclawbench.sources.io import mmap_files as mapped
from openclawbench.sources.openclaw.adapter import OpenClaw
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.bytes_column import bytes_column
from openclawbench.tables.schema import StreamedTable, conform, empty, from_records

FILES = [path for path in sorted(SAMPLES.rglob("*.jsonl*")) if path.is_file()]
HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-02-01T00:00:00.000Z"}\n'


def tables(contents: list[bytes]) -> list[pl.DataFrame]:
    """What normalize makes of files, given to it as the intake does."""
    rows = [raw_row(content, f"m/{number}.jsonl") | {"content": None} for number, content in enumerate(contents)]
    files = from_records(rows, SourceFile).with_columns(bytes_column("content", [*contents])).lazy()
    return [entry.collect() for entry in normalize(files, empty(RunManifestRow).lazy(), RULES)]


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From one byte on; steps are packed after each record. Names what was read in the other way."""
    read: list[str] = []
    parse_long = OpenClaw.parse_long

    def noted(self: OpenClaw, *arguments: object) -> object:
        result = parse_long(self, *arguments)  # type: ignore[arg-type]
        read.append("long" if result is not None else "not long")
        return result

    monkeypatch.setattr(openclawbench.tables.bytes_column, "SMALL_BYTES", 0)
    monkeypatch.setattr(
        openclawbench.tables.bytes_column, "LARGE_BYTES", 13
    )  # arrow keeps no shorter value in a buffer of its own
    monkeypatch.setattr(openclawbench.sources.io.step_spool, "PART_BYTES", 1)
    monkeypatch.setattr(OpenClaw, "parse_long", noted)
    return read


@pytest.mark.slow
def test_every_sample_gives_the_same_tables(everything_is_long: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [path.read_bytes() for path in FILES]
    frames = tables(contents)
    assert everything_is_long.count("long") >= 30
    monkeypatch.undo()
    for frame, other in zip(frames, tables(contents), strict=True):
        assert frame.equals(other)


@pytest.mark.parametrize(
    "tail",
    [b'{"type":"message","id":1', b'{"type":"message","message":{"role":5}}\n', b"\xff\n", b'{"type":"custom"}\n{"ty'],
    ids=["torn", "unexpected shape", "no JSON", "torn after a record"],
)
def test_what_is_wrong_with_a_file_is_said_the_same_way(
    tail: bytes, everything_is_long: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = tables([HEADER + tail])
    assert everything_is_long
    monkeypatch.undo()
    for frame, other in zip(frames, tables([HEADER + tail]), strict=True):
        assert frame.equals(other)


def folder_tables(raw: Path, data: Path) -> list[pl.DataFrame]:
    """What normalize makes of a folder of files, by the real scan, all files in one shard."""
    intake = take_in(DataFolder(data), raw, None, save=False)
    files = pl.concat([intake.read(SourceFile, shard) for shard in sorted(intake.entries)])
    return [entry.collect() for entry in normalize(files, empty(RunManifestRow).lazy(), RULES)]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A raw folder with samples, one of them packed."""
    folder = tmp_path / "raw/m"
    folder.mkdir(parents=True)
    for number, path in enumerate(FILES[:40]):
        shutil.copy(path, folder / f"{number}-{path.name}")
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(FILES[0].read_bytes()))
    return folder.parent


def test_files_that_are_mapped_give_what_files_that_are_read_give(
    raw: Path, tmp_path: Path, everything_is_long: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped, "CHUNK", mmap.PAGESIZE)  # of memory that is given back at a time
    monkeypatch.setattr(openclawbench.intake.file_scanner, "LARGE_BYTES", 1)
    monkeypatch.setattr(openclawbench.intake.raw_folder, "LARGE_BYTES", 1)
    frames, entries = folder_tables(raw, tmp_path / "data"), list(scan(DataFolder(tmp_path / "data"), raw, save=False))
    assert everything_is_long.count("long") >= 10
    monkeypatch.undo()
    assert entries == list(scan(DataFolder(tmp_path / "data"), raw, save=False))
    for frame, other in zip(frames, folder_tables(raw, tmp_path / "data"), strict=True):
        assert frame.equals(other)


def test_a_file_that_is_cut_short_while_it_is_mapped_is_still_what_it_was(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclawbench.intake.file_scanner, "LARGE_BYTES", 1)
    monkeypatch.setattr(openclawbench.intake.raw_folder, "LARGE_BYTES", 1)
    path = sorted(raw.rglob("*.jsonl"))[0]
    before = path.read_bytes()
    content, stamp = whole_content(str(path))
    assert isinstance(content, mmap.mmap)
    os.truncate(path, 0)
    assert bytes(content) == before
    assert stamp[0] == len(before)


def test_a_table_that_is_written_part_by_part_is_the_same_table(tmp_path: Path) -> None:
    steps = conform(tables([FILES[0].read_bytes()])[1], Step)
    data = DataFolder(tmp_path)
    data.write_part(Step, 0, "whole", steps)
    data.write_part(Step, 0, "parts", StreamedTable([steps[at : at + 2].lazy() for at in range(0, len(steps), 2)]))
    complete, parts = (data.scan(Step, {0: key}).collect() for key in ("whole", "parts"))
    assert parts.equals(complete)
    assert parts.schema == complete.schema
