"""Loaders that a stranger has: the Hub's `datasets`, polars, DuckDB, pandas and mlcroissant, offline, on a path with
blanks."""

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import Ran, lines

from openclawbench.base.canonical_json import canonical_json
from openclawbench.records.release import Master
from openclawbench.release.card.configs import DEFAULT, configs, rows
from openclawbench.release.files.parquet import arrow_schema, shards_of
from openclawbench.tables.schema import schema

pytestmark = pytest.mark.slow

MAIN = "accepted_baseline_all"  # the rules judge made every label of the example
RAI = {
    "dataLimitations",
    "dataBiases",
    "personalSensitiveInformation",
    "dataCollection",
    "dataCollectionType",
    "dataCollectionTimeFrame",
    "dataUseCases",
    "dataSocialImpact",
    "dataAnnotationProtocol",
    "dataAnnotationPlatform",
    "annotationsPerItem",
    "dataReleaseMaintenancePlan",
}


@pytest.fixture(scope="module")
def release(example: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("loaders") / "a copy of it"
    shutil.copytree(example.data / "release", root)
    return root


@pytest.fixture
def hub(hub: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same, without a network."""
    monkeypatch.setattr(socket.socket, "connect", no_network)
    return hub


def no_network(*_args: Any) -> None:
    raise AssertionError("a loader asked the network")


def labelled(root: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(root.glob(f"fulltax_prod_v1/*/{MAIN}.jsonl")) for row in lines(path)]


def test_every_configuration_loads_with_its_rows_and_its_declared_columns(release: Path, hub: Any) -> None:
    offered = configs(release)
    assert hub.get_dataset_config_names(str(release)) == [item.name for item in offered]
    assert {"accepted_baseline", "master_table", "positives_baseline", "calibration_pool"} <= {o.name for o in offered}
    for entry in offered:
        dataset = hub.load_dataset(str(release), entry.name)
        assert {split: part.num_rows for split, part in dataset.items()} == {
            split: rows(release, pattern) for split, pattern in entry.splits.items()
        }
        for part in dataset.values():
            assert part.column_names == list(entry.record.model_fields)
            assert part.features == hub.Features.from_arrow_schema(arrow_schema(entry.record))


def test_rows_are_those_of_the_jsonl_files(release: Path, hub: Any) -> None:
    dataset = hub.load_dataset(str(release), "accepted_baseline", split="full")
    want = [{name: row[name] for name in ("trajectory_id", "steps", "is_anomalous")} for row in labelled(release)]
    assert [{name: row[name] for name in want[0]} for row in dataset] == want


def test_labels_of_the_rules_judge_are_loaded_by_who_asks_for_them_alone(release: Path, hub: Any) -> None:
    assert hub.get_dataset_default_config_name(str(release)) is None
    assert DEFAULT not in hub.get_dataset_config_names(str(release))
    with pytest.raises(ValueError, match="silver_labels_baseline"):
        hub.load_dataset(str(release))
    dataset = hub.load_dataset(str(release), "silver_labels_baseline")
    assert dataset.keys() == {"train", "test"}
    assert {row["label_status"] for part in dataset.values() for row in part} == {"baseline"}


def test_a_file_in_which_a_field_is_null_throughout_loads_by_the_declared_columns(
    release: Path, hub: Any, tmp_path: Path
) -> None:
    """A guess fails at the second file: in the first, the subtype was no text but null."""
    by_label: dict[bool, list[bytes]] = {False: [], True: []}
    for row in labelled(release):
        by_label[row["is_anomalous"]].append(canonical_json(row).encode() + b"\n")
    shards = [tmp_path / "1.jsonl", tmp_path / "2.jsonl"]
    for path, part in zip(shards, (by_label[False], by_label[True]), strict=True):
        path.write_bytes(b"".join(part))
    files = [str(path) for path in shards]
    with pytest.raises(hub.exceptions.DatasetGenerationError):
        hub.load_dataset("json", data_files=files, cache_dir=str(tmp_path / "guessed"))
    declared = hub.load_dataset_builder(str(release), "accepted_baseline").info.features
    dataset = hub.load_dataset(
        "json", data_files=files, features=declared, split="train", cache_dir=str(tmp_path / "c")
    )
    assert dataset.num_rows == len(labelled(release))
    assert dataset.features["anomaly_type_l2"] == hub.Value("string")


def test_a_release_with_such_a_file_loads_by_name(release: Path, hub: Any, tmp_path: Path) -> None:
    root = tmp_path / "nothing anomalous in one model"
    shutil.copytree(release, root)
    path = root / "fulltax_prod_v1" / "scripted-a" / f"{MAIN}-00000-of-00001.parquet"
    normal = pl.read_parquet(path).filter(~pl.col("is_anomalous"))
    assert normal["anomaly_type_l2"].is_null().all()
    normal.write_parquet(path)
    dataset = hub.load_dataset(str(root), "accepted_baseline", split="full")
    assert dataset.features["anomaly_type_l2"] == hub.Value("string")
    assert any(dataset["anomaly_type_l2"])


def test_polars(release: Path) -> None:
    frame = pl.read_parquet(release / "fulltax_prod_v1" / "*" / f"{MAIN}-*.parquet")
    assert dict(frame.schema) == dict(schema(Master))
    assert [canonical_json(row) for row in frame.to_dicts()] == list(map(canonical_json, labelled(release)))
    typed = pl.read_ndjson(release / "fulltax_prod_v1" / "scripted-a" / f"{MAIN}.jsonl", schema=schema(Master))
    assert typed.equals(frame.filter(pl.col("source_model") == "scripted-a"))


def test_duckdb(release: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    parquet = f"{release}/fulltax_prod_v1/*/{MAIN}-*.parquet"
    jsonl = f"{release}/fulltax_prod_v1/*/{MAIN}.jsonl"
    want = [sum(row["is_anomalous"] for row in labelled(release)), sum(len(row["steps"]) for row in labelled(release))]
    for source in (f"read_parquet('{parquet}')", f"read_json('{jsonl}', format='newline_delimited')"):
        query = f"SELECT sum(is_anomalous::INT), sum(len(steps)) FROM {source}"
        assert list(map(int, duckdb.sql(query).fetchall()[0])) == want
    labels = f"{release}/silver_train_labels_baseline.parquet"
    joined = duckdb.sql(
        f"SELECT count(*) FROM read_parquet('{labels}') JOIN read_parquet('{parquet}') "
        "USING (source_model, trajectory_id)"
    )
    assert joined.fetchall() == [(pl.read_parquet(labels).height,)]


def test_pandas(release: Path) -> None:
    pandas = pytest.importorskip("pandas")
    result = pandas.concat(
        pandas.read_parquet(path)
        for model in ("scripted-a", "scripted-b")
        for path in shards_of(release, f"fulltax_prod_v1/{model}/{MAIN}.jsonl")
    )
    assert list(result["trajectory_id"]) == [row["trajectory_id"] for row in labelled(release)]
    assert [len(steps) for steps in result["steps"]] == [row["num_steps"] for row in labelled(release)]
    typed = pandas.read_json(release / "silver_train_labels.jsonl", lines=True, dtype=False)
    assert list(typed["trajectory_id"]) == [
        row["trajectory_id"] for row in lines(release / "silver_train_labels.jsonl")
    ]


def test_croissant_is_valid_and_every_record_set_is_read(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    monkeypatch.setattr(socket.socket, "connect", no_network)
    dataset = mlcroissant.Dataset(release / "croissant.json")
    issues = dataset.metadata.ctx.issues
    assert issues.errors == set()
    left_open = ("citeAs", "datePublished", "license", "creator", "version", "url")  # until a person names them
    assert all(any(name in warning for name in left_open) for warning in issues.warnings), issues.warnings
    offered = {
        (config.name if split == "full" else f"{config.name}_{split}"): (config, pattern)
        for config in configs(release)
        for split, pattern in config.splits.items()
    }
    assert [record_set.uuid for record_set in dataset.metadata.record_sets] == list(offered)
    for name, (entry, pattern) in offered.items():
        result = list(dataset.records(name))
        assert len(result) == rows(release, pattern) > 0
        columns = {key.split("/")[1] for key in result[0]}
        assert columns == set(entry.record.model_fields)
    by_key = {row["trajectory_id"]: row for row in labelled(release)}
    for record in dataset.records("accepted_baseline"):
        row = by_key[record["accepted_baseline/trajectory_id"].decode()]
        assert len(record["accepted_baseline/steps"]) == row["num_steps"]
        assert record["accepted_baseline/is_anomalous"] == row["is_anomalous"]
        texts = [step["accepted_baseline/steps/reflection_text"] for step in record["accepted_baseline/steps"]]
        assert [text and text.decode() for text in texts] == [step["reflection_text"] for step in row["steps"]]


def test_croissant_holds_what_the_paper_asks_of_it(release: Path) -> None:
    document = json.loads((release / "croissant.json").read_text())
    assert {f"rai:{name}" for name in RAI} <= document.keys()
    assert document["rai:dataLimitations"].startswith("Labels of this release were made by the rules judge")
    assert {"license", "creator", "datePublished", "isBasedOn"}.isdisjoint(document), "nobody has named them"
    sums = dict(line.split("  ", 1)[::-1] for line in (release / "CHECKSUMS.sha256").read_text().splitlines())
    objects = [
        entry for entry in document["distribution"] if entry["@type"] == "cr:FileObject" and entry["@id"] != "release"
    ]
    files = {member["contentUrl"]: member["sha256"] for member in objects}
    assert files.items() <= sums.items()
    assert {name for name in sums if name.endswith((".jsonl", ".parquet"))} <= files.keys()


def test_nothing_of_the_calibration_pool_is_in_what_loads_as_train(example: Ran, hub: Any) -> None:
    release = example.data / "release"
    pool = {(row["source_model"], row["trajectory_id"]) for row in lines(release / "calibration_pool.jsonl")}
    assert pool
    files = [*release.rglob("*train*.jsonl"), *release.rglob("*train*.parquet")]
    assert len(files) > 10
    for path in files:
        rows = lines(path) if path.suffix == ".jsonl" else pl.read_parquet(path).to_dicts()
        assert not pool & {(row["source_model"], row["trajectory_id"]) for row in rows}, path
    loaded = 0
    for name in hub.get_dataset_config_names(str(release)):
        if "train" in hub.get_dataset_split_names(str(release), name):
            rows = hub.load_dataset(str(release), name, split="train")
            assert not pool & {(row["source_model"], row["trajectory_id"]) for row in rows}, name
            loaded += rows.num_rows
    assert loaded
