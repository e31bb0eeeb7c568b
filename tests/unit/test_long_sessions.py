"""A very long session is read in another way, which gives the same tables."""

import polars as pl
import pytest
from normalizing import RULES, SAMPLES, raw_row

import pipeline.sources.packed
import pipeline.tables
from pipeline.construct.normalize import normalize
from pipeline.records.session import RunManifestRow, SourceFile
from pipeline.sources.openclaw import OpenClaw
from pipeline.tables import empty, from_records, shared_bytes

FILES = [path for path in sorted(SAMPLES.rglob("*.jsonl*")) if path.is_file()]
HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-02-01T00:00:00.000Z"}\n'


def tables(contents: list[bytes]) -> list[pl.DataFrame]:
    """What normalize makes of files, given to it as the intake does."""
    rows = [raw_row(b"", f"m/{number}.jsonl") for number, _ in enumerate(contents)]
    files = from_records(rows, SourceFile).with_columns(shared_bytes("content", [*contents])).lazy()
    return [one.collect() for one in normalize(files, empty(RunManifestRow).lazy(), RULES)]


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From one byte on; steps are packed after each record. Names what was read in the other way."""
    read: list[str] = []
    whole = OpenClaw.parse_long

    def noted(self: OpenClaw, *arguments: object) -> object:
        found = whole(self, *arguments)  # type: ignore[arg-type]
        read.append("long" if found is not None else "not long")
        return found

    monkeypatch.setattr(pipeline.tables, "SMALL_BYTES", 0)
    monkeypatch.setattr(pipeline.tables, "LARGE_BYTES", 13)  # arrow keeps no shorter value in a buffer of its own
    monkeypatch.setattr(pipeline.sources.packed, "AT_ONCE", 1)
    monkeypatch.setattr(OpenClaw, "parse_long", noted)
    return read


def test_every_sample_gives_the_same_tables(everything_is_long: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [path.read_bytes() for path in FILES]
    found = tables(contents)
    assert everything_is_long.count("long") >= 30
    monkeypatch.undo()
    for one, other in zip(found, tables(contents), strict=True):
        assert one.equals(other)


@pytest.mark.parametrize(
    "tail",
    [b'{"type":"message","id":1', b'{"type":"message","message":{"role":5}}\n', b"\xff\n", b'{"type":"custom"}\n{"ty'],
    ids=["torn", "unexpected shape", "no JSON", "torn after a record"],
)
def test_what_is_wrong_with_a_file_is_said_the_same_way(
    tail: bytes, everything_is_long: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tables([HEADER + tail])
    assert everything_is_long
    monkeypatch.undo()
    for one, other in zip(found, tables([HEADER + tail]), strict=True):
        assert one.equals(other)
