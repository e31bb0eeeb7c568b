"""A release that language models judged, in two passes: what loads by default, and the pool that both are sure of."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from asking import Endpoint, arguments, rules
from child import Ran, call, few_shards, lines

from openclawbench.base.canonical_json import canonical_json
from openclawbench.release.card.configs import DEFAULT, configs
from openclawbench.release.validate.validate import validate

pytestmark = pytest.mark.slow

BOTH = "both_high_confidence"


@pytest.fixture(scope="module")
def judged(small: Ran, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of twelve sessions, judged by one language model and once more by another that sees less."""
    folder = tmp_path_factory.mktemp("judged")
    data, env = few_shards(folder / "data"), rules(folder)
    endpoint.script()
    assert call(*arguments(endpoint, data, small.raw, verb="annotate"), env=env).status == 0
    endpoint.script(blind=0.6)
    second = arguments(endpoint, data, small.raw, "--pass", "2", verb="annotate")
    second[second.index("test-model")] = "other-model"
    ended = call(*second, env=env)
    assert ended.status == 0, ended.err
    ended = call("release", "--data", data, env=env)
    assert ended.status == 0, ended.err
    return data / "release"


def test_its_labels_are_accepted_and_the_release_is_valid(judged: Path) -> None:
    findings = validate(judged)
    assert findings.ok, findings.kept
    records = [row for path in judged.glob("fulltax_prod_v1/*/master_table_all.jsonl") for row in lines(path)]
    assert {row["label_status"] for row in records} == {"accepted"}
    positives = [row for path in judged.glob("fulltax_prod_v1/*/positives_structured_all.jsonl") for row in lines(path)]
    assert len(positives) == sum(bool(r["is_anomalous"]) for r in records if r["label_status"] == "accepted") > 0
    assert not any(lines(path) for path in judged.glob("fulltax_prod_v1/*/*_baseline_all.jsonl"))
    assert not {config.name for config in configs(judged)} & {"silver_labels_baseline", "accepted_baseline"}


def test_what_loads_by_default_is_accepted(judged: Path, hub: Any) -> None:
    dataset = hub.load_dataset(str(judged))
    assert hub.get_dataset_default_config_name(str(judged)) == DEFAULT
    assert {row["label_status"] for part in dataset.values() for row in part} == {"accepted"}


def test_the_pool_that_both_passes_are_sure_of_loads_by_name_with_its_sides(judged: Path, hub: Any) -> None:
    complete_lines = lines(judged / f"{BOTH}.jsonl")
    assert 0 < len(complete_lines) < len(lines(judged / "reference_pass_labels.jsonl"))
    for config, folder in ((BOTH, ""), (f"{BOTH}_paper_cut", "paper_cut/")):
        dataset = hub.load_dataset(str(judged), config)
        for side, part in dataset.items():
            known = {row["trajectory_id"] for row in lines(judged / f"{folder}silver_{side}_labels.jsonl")}
            assert [dict(row) for row in part] == [row for row in complete_lines if row["trajectory_id"] in known]
            assert part.num_rows > 0
    paper = hub.load_dataset(str(judged), f"{BOTH}_paper_cut")
    pool = {row["trajectory_id"] for row in lines(judged / "calibration_pool.jsonl")}
    in_paper = {row["trajectory_id"] for part in paper.values() for row in part}
    assert {row["trajectory_id"] for row in complete_lines} - in_paper <= pool
    assert "train" not in paper or not pool & {row["trajectory_id"] for row in paper["train"]}


@pytest.mark.parametrize(
    "name", [f"{BOTH}.jsonl", f"{BOTH}.parquet", f"{BOTH}_train.parquet", f"paper_cut/{BOTH}_train.parquet"]
)
@pytest.mark.parametrize("change", ["a row less", "another label"])
def test_what_it_says_of_them_is_checked(judged: Path, name: str, change: str, tmp_path: Path) -> None:
    shutil.copytree(judged, tmp_path / "release")
    path = tmp_path / "release" / name
    rows = lines(path) if path.suffix == ".jsonl" else pl.read_parquet(path).to_dicts()
    rows[:1] = [] if change == "a row less" else [rows[0] | {"scoreable": not rows[0]["scoreable"]}]
    if path.suffix == ".jsonl":
        path.write_bytes(b"".join(canonical_json(row).encode() + b"\n" for row in rows))
    else:
        pl.DataFrame(rows, schema=pl.read_parquet_schema(path)).write_parquet(path)
    result = validate(tmp_path / "release").counts.keys()
    assert result & {"second_pass", "labels", "parquet"} and result > {"checksum"}
