"""A release whose JSONL files are compressed: valid, the same rows, and read by the loaders that strangers have."""

import gzip
import shutil
from pathlib import Path

import polars as pl
import pytest
from child import call, files, lines
from conftest import Ran

from openclawbench.release.files.jsonl_files import open_lines
from openclawbench.release.validate.validate import validate

pytestmark = pytest.mark.slow

LABELS, MASTER = "silver_train_labels.jsonl", "fulltax_prod_v1/scripted-a/master_table_all.jsonl"


@pytest.fixture(scope="module", params=["gz", "zst"])
def release(small: Ran, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The small release, compressed, in a folder whose path has blanks."""
    data = tmp_path_factory.mktemp("compressed") / "a data folder"
    shutil.copytree(small.data, data)
    ended = call("release", "--data", data, "--raw", small.raw, "--jsonl", request.param)
    assert ended.status == 0, ended.err
    return data / "release"


def packed(release: Path, name: str) -> Path:
    (result,) = release.glob(f"{name}.*")
    return result


def test_it_holds_the_same_lines_under_other_names_and_is_valid(small: Ran, release: Path) -> None:
    plain = {name: content for name, content in files(small.data / "release").items() if name.endswith(".jsonl")}
    assert not list(release.rglob("*.jsonl"))
    for name, content in plain.items():
        with open_lines(release / name) as file:
            assert file.read() == content
    findings = validate(release)
    assert findings.ok, findings.kept
    assert packed(release, LABELS).name in (release / "CHECKSUMS.sha256").read_text()
    assert "JSONL files are compressed" in (release / "README.md").read_text()
    ended = call("diff", small.data / "release", release, "--json")
    assert ended.status == 0, ended.err
    assert ended.json["records"]["same"] == 12


def test_the_same_again_gives_the_same_bytes(small: Ran, release: Path, tmp_path: Path) -> None:
    shutil.copytree(small.data, tmp_path / "data")
    how = packed(release, LABELS).suffix[1:]
    assert call("release", "--data", tmp_path / "data", "--raw", small.raw, "--jsonl", how).status == 0
    assert files(tmp_path / "data" / "release") == files(release)


def test_a_broken_file_is_named(release: Path, tmp_path: Path) -> None:
    shutil.copytree(release, tmp_path / "copy")
    path = packed(tmp_path / "copy", MASTER)
    path.write_bytes(path.read_bytes()[:-30])
    findings = validate(tmp_path / "copy")
    assert {"checksum", "json"} <= findings.counts.keys()


def test_polars(small: Ran, release: Path) -> None:
    want = lines(small.data / "release" / LABELS)
    assert pl.read_ndjson(packed(release, LABELS)).to_dicts() == want


def test_duckdb(small: Ran, release: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    want = [(row["trajectory_id"], row["num_steps"]) for row in lines(small.data / "release" / MASTER)]
    path = packed(release, MASTER)
    query = f"SELECT trajectory_id, num_steps FROM read_json('{path}', format='newline_delimited') ORDER BY 1"
    assert duckdb.sql(query).fetchall() == sorted(want)


def test_pandas(small: Ran, release: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = packed(release, LABELS)
    if path.suffix == ".zst":
        pytest.importorskip("zstandard")
    document = pandas.read_json(path, lines=True, dtype=False)
    assert list(document["trajectory_id"]) == [row["trajectory_id"] for row in lines(small.data / "release" / LABELS)]


def test_hugging_face_datasets(small: Ran, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    path = packed(release, LABELS)
    named = datasets.load_dataset(str(release), "silver_labels_all", split="train")
    want = [row["trajectory_id"] for row in lines(small.data / "release" / LABELS)]
    assert list(named["trajectory_id"]) == want
    if path.suffix == ".zst":
        pytest.importorskip("zstandard")
    dataset = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
    assert list(dataset["trajectory_id"]) == want


def test_croissant(release: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(release / "croissant.json")
    assert dataset.metadata.ctx.issues.errors == set()
    assert len(list(dataset.records("accepted_baseline"))) > 0


def test_no_time_stands_in_what_is_written(release: Path) -> None:
    path = packed(release, LABELS)
    if path.suffix == ".gz":
        assert path.read_bytes()[4:8] == bytes(4)
        assert gzip.decompress(path.read_bytes()).endswith(b"\n")
