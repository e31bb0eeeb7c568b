"""A release whose models are larger than a file may be: divided JSONL files, which every reader takes as it takes whole
ones."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import ROOT, call, files, lines, start, temporary
from conftest import Ran, own_copy
from thorough import first

from openclawbench.api.release import open_release
from openclawbench.errors import UnreadableInput
from openclawbench.records.release import Master
from openclawbench.release.card.configs import configs, rows
from openclawbench.release.diff.read import records
from openclawbench.release.files.jsonl_files import LISTING, open_lines, released
from openclawbench.release.files.names import LINE_FILES, MASTER_FILE, models_of
from openclawbench.release.files.parquet import TABLES, rows_of, shards_of
from openclawbench.release.validate.validate import validate
from openclawbench.runtime.engines.ray_core import RayCore
from openclawbench.tables.schema import schema

pytestmark = pytest.mark.slow
FILE_BYTES = 14_000
MODEL = "fulltax_prod_v1/scripted-a"
PATIENCE = 60.0  # seconds
OWN = {"CHECKSUMS.sha256", "README.md", "croissant.json", "datapackage.json", "publish.toml", "rules.json"}


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder of rules with small files, as the environment names it."""
    folder = tmp_path_factory.mktemp("rules")
    text = (ROOT / "pipeline" / "openclawbench" / "release" / "publish.toml").read_text()
    assert "jsonl_shard_bytes = 1_000_000_000" in text
    small = text.replace("jsonl_shard_bytes = 1_000_000_000", f"jsonl_shard_bytes = {FILE_BYTES}")
    (folder / "publish.toml").write_text(small)
    return {"OPENCLAWBENCH_RULES": str(folder)}


@pytest.fixture(scope="module")
def data(small: Ran, rules: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of the small release, divided, in a folder whose path has blanks."""
    data = own_copy(small.data, tmp_path_factory.mktemp("divided") / "a data folder")
    ended = call("release", "--data", data, "--raw", small.raw, env=rules)
    assert ended.status == 0, ended.err
    return data


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    return own_copy(data / "release", tmp_path / "release")


def counted(release: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a table in each of its files."""
    return {path.name: lines(path) for path in released(release / name)}


def test_every_table_of_a_model_is_divided_at_the_same_trajectories(small: Ran, data: Path) -> None:
    release, complete_data = data / "release", small.data / "release"
    assert set(models_of(release)) == set(models_of(complete_data))
    for model in models_of(release):
        folder = f"fulltax_prod_v1/{model}"
        masters = counted(release, f"{folder}/{MASTER_FILE}")
        count = len(masters)
        assert count > 1
        ids = [[row["trajectory_id"] for row in of_one] for of_one in masters.values()]
        listing = json.loads((release / folder / LISTING).read_text())
        assert set(listing) == set(LINE_FILES)
        for table in LINE_FILES:
            of_file = counted(release, f"{folder}/{table}")
            stem = table.removesuffix(".jsonl")
            assert [*of_file] == [f"{stem}-{number:05}-of-{count:05}.jsonl" for number in range(count)]
            for own, entry, of_one in zip(ids, listing[table], of_file.values(), strict=True):
                in_file = [row["trajectory_id"] for row in of_one]
                assert set(in_file) <= set(own)
                path = release / folder / entry["file"]
                assert (entry["rows"], entry["bytes"]) == (len(of_one), path.stat().st_size)
                assert (entry["first"], entry["last"]) == ((in_file[0], in_file[-1]) if of_one else (None, None))
                assert path.stat().st_size <= FILE_BYTES or len(of_one) == 1
            with (
                open_lines(release / folder / table) as divided,
                open_lines(complete_data / folder / table) as lines_of_whole,
            ):
                assert divided.read() == lines_of_whole.read()


def test_the_other_files_are_those_of_the_whole_one(small: Ran, data: Path) -> None:
    release, actual_files = files(data / "release"), files(small.data / "release")
    tables = {f"fulltax_prod_v1/{model}/{table}" for model in models_of(data / "release") for table in LINE_FILES}
    same = {name for name in actual_files if name not in tables | OWN and "-of-" not in name}
    assert same and all(release[name] == actual_files[name] for name in same)
    for table in tables & {f"{MODEL}/{name}" for name in TABLES}:
        roots = (data / "release", small.data / "release")
        typed = [[row for path in shards_of(root, table) for row in rows_of(path)] for root in roots]
        assert typed[0] == typed[1]
    assert "divided" in (data / "release" / "README.md").read_text()
    assert "divided" not in (small.data / "release" / "README.md").read_text()


def test_it_is_valid_and_the_same_release(small: Ran, data: Path) -> None:
    findings = validate(data / "release")
    assert findings.ok, findings.kept
    for pair in ([small.data, data], [data, small.data]):
        compared = call("diff", *(folder / "release" for folder in pair), "--json")
        assert compared.status == 0, compared.err
        assert compared.json["records"]["same"] == 12
    figures = [
        call("report", "statistics", folder / "release", "--json").json["sections"] for folder in (small.data, data)
    ]
    assert figures[0] == figures[1]
    opened = [open_release(folder / "release") for folder in (small.data, data)]
    assert [*opened[0].records()] == [*opened[1].records()]


def test_compressed_files_are_divided_too(small: Ran, data: Path, rules: dict[str, str], tmp_path: Path) -> None:
    own_copy(data, tmp_path / "data")
    ended = call("release", "--data", tmp_path / "data", "--raw", small.raw, "--jsonl", "zst", env=rules)
    assert ended.status == 0, ended.err
    release = tmp_path / "data" / "release"
    assert not list(release.rglob("*.jsonl"))
    assert {path.suffix for path in released(release / MODEL / MASTER_FILE)} == {".zst"}
    findings = validate(release)
    assert findings.ok, findings.kept
    assert [line.raw for line in records(release)] == [line.raw for line in records(data / "release")]


def test_what_is_wrong_is_named_with_its_file(copy: Path) -> None:
    first, second, *_ = released(copy / MODEL / MASTER_FILE)
    row = json.loads(second.read_bytes().splitlines()[0])
    second.write_bytes(second.read_bytes().replace(b'"task_id"', b'"task_ids"', 1))
    places = {(finding.file, finding.line) for finding in validate(copy).kept if finding.check == "schema"}
    assert (f"{MODEL}/{second.name}", 1) in places
    second.write_bytes(b"{\n" + second.read_bytes())
    with pytest.raises(UnreadableInput, match=rf"{second.name}: line 1: is not a record"):
        list(records(copy))
    second.unlink()
    findings = validate(copy)
    assert {"file_missing", "listing"} <= findings.counts.keys()
    assert row["trajectory_id"] not in {line["trajectory_id"] for line in lines(first)}


def test_a_listing_that_is_wrong_and_a_table_that_is_there_twice_are_found(copy: Path) -> None:
    listing = json.loads((copy / MODEL / LISTING).read_text())
    listing[MASTER_FILE][0]["last"] = "another"
    (copy / MODEL / LISTING).write_text(json.dumps(listing))
    assert [finding.file for finding in validate(copy).kept if finding.check == "listing"] == [f"{MODEL}/{LISTING}"]
    with open_lines(copy / MODEL / MASTER_FILE) as file:
        (copy / MODEL / MASTER_FILE).write_bytes(file.read())
    twice = [finding.file for finding in validate(copy).kept if finding.check == "file_unknown"]
    assert twice == [f"{MODEL}/{MASTER_FILE}"]


def test_polars_and_duckdb_read_all_files_of_a_table(data: Path) -> None:
    want = sorted(
        row["trajectory_id"] for rows in counted(data / "release", f"{MODEL}/{MASTER_FILE}").values() for row in rows
    )
    pattern = data / "release" / MODEL / "master_table_all-*.jsonl"
    assert sorted(pl.scan_ndjson(pattern, schema=schema(Master)).collect()["trajectory_id"]) == want
    duckdb = pytest.importorskip("duckdb")
    query = f"SELECT trajectory_id FROM read_json('{pattern}', format='newline_delimited') ORDER BY 1"
    assert [row[0] for row in duckdb.sql(query).fetchall()] == want


def test_datasets_loads_every_configuration(data: Path, hub: Any) -> None:
    release = data / "release"
    for config in configs(release):
        loaded = hub.load_dataset(str(release), config.name)
        assert {split: loaded[split].num_rows for split in config.splits} == {
            split: rows(release, pattern) for split, pattern in config.splits.items()
        }


def test_mlcroissant_reads_the_records(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    monkeypatch.chdir(data / "release")
    dataset = mlcroissant.Dataset("croissant.json")
    read = {row["master_table/trajectory_id"].decode() for row in dataset.records("master_table")}
    assert read == {line.head.trajectory_id for line in records(data / "release")}


def again(data: Path, small: Ran, to: Path) -> Path:
    """A copy of the data folder that lacks its release."""
    copied = own_copy(data, to)
    (copied / "work" / "manifests" / "publish.json").unlink()
    return copied


@pytest.mark.parametrize("how", first(1, [("processes", "2"), ("processes", "1"), ("ray", "2")]), ids="-".join)
def test_any_engine_gives_the_same_bytes(
    how: tuple[str, str], small: Ran, data: Path, rules: dict[str, str], tmp_path: Path
) -> None:
    if how[0] == RayCore.name:
        pytest.importorskip("ray")
    copied = again(data, small, tmp_path / "data")
    ended = call("release", "--data", copied, "--raw", small.raw, "--engine", how[0], "--workers", how[1], env=rules)
    assert ended.status == 0, ended.err
    assert files(copied / "release") == files(data / "release")
    assert temporary(copied) == []


@pytest.mark.parametrize("number", first(1, [signal.SIGKILL, signal.SIGINT]))
def test_a_killed_worker_or_an_interrupt_while_pieces_are_written_changes_nothing(
    number: signal.Signals, small: Ran, data: Path, rules: dict[str, str], tmp_path: Path
) -> None:
    copied = again(data, small, tmp_path / "data")
    arguments = ["release", "--data", copied, "--raw", small.raw, "--engine", "processes", "--workers", "2"]
    child = start(*arguments, env=rules)
    limit = time.monotonic() + PATIENCE
    while not list((copied / ".tmp-release").glob("fulltax_prod_v1/*/*.jsonl")):
        assert not child.has_ended() and time.monotonic() < limit
        time.sleep(0.002)
    listed = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    if not listed.exists():
        pytest.skip("no list of child processes on this system")
    named = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in listed.read_text().split()}
    workers = [pid for pid, command in named.items() if b"spawn_main" in command]
    assert workers
    os.kill(workers[0] if number == signal.SIGKILL else child.pid, number)
    ended = child.wait()
    if number == signal.SIGINT:
        assert (ended.status, "Traceback" in ended.err) == (3, False), ended.err
        assert files(copied / "release") == files(data / "release")  # the former one
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
        ended = call(*arguments, env=rules)
    assert ended.status == 0, ended.err
    assert files(copied / "release") == files(data / "release")
    assert temporary(copied) == []
