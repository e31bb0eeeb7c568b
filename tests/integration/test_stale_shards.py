"""A shard that is stale hides its own trajectories and no others: show, trace and export go on with the rest."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from child import Ended, Ran, call, table

from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

Half = tuple[Path, list[str], list[str]]
RUN_FIRST = "is not up to date. Run `openclawbench run --data "


@pytest.fixture(scope="module")
def half(small: Ran, tmp_path_factory: pytest.TempPathFactory) -> Half:
    """A data folder of two shards, one of them stale by a changed session; its fresh and its stale trajectory ids."""
    folder = tmp_path_factory.mktemp("half")
    shutil.copytree(small.data, folder / "data")
    shutil.copytree(small.raw, folder / "raw")
    parts = sorted((small.data / "work" / "trajectory").glob("*.parquet"))
    rows = table(small.data, "trajectory")
    changed = next(row for row in rows if row["source_model"] == "scripted-a")
    path = folder / "raw" / changed["source_file"]
    path.write_bytes(path.read_bytes().replace(b"\n", b" \n", 1))
    assert len(parts) == 2

    ids = [pl.read_parquet(part)["trajectory_id"].to_list() for part in parts]
    stale = ids[0] if changed["trajectory_id"] in ids[0] else ids[1]
    done = [row["trajectory_id"] for row in rows if row["trajectory_id"] not in stale]
    return folder, done, stale


def ask(half: Half, *arguments: str) -> Ended:
    folder = half[0]
    return call(*arguments, "--data", folder / "data", env={"OPENCLAWBENCH_RAW": str(folder / "raw")})


@pytest.mark.parametrize("command", ["show", "trace"])
def test_a_trajectory_of_a_fresh_shard_is_read_and_one_of_a_stale_shard_is_named(half: Half, command: str) -> None:
    _, done, stale = half
    assert done and stale
    for wanted in done:
        ended = ask(half, command, wanted)
        assert (ended.status, bool(ended.out)) == (0, True), ended.err
    for wanted in (stale[0], stale[0].rpartition(".")[0]):
        ended = ask(half, command, wanted)
        assert (ended.status, ended.text) == (2, "")
        assert f"error: {wanted}: its session" in ended.err
        assert RUN_FIRST in ended.err
    assert "no trajectory has this id" in ask(half, command, "nobody").err


def test_export_writes_what_is_up_to_date_and_says_what_is_left_out(half: Half) -> None:
    _, done, _ = half
    ended = ask(half, "export", "merge")
    assert ended.status == 1
    assert sorted(json.loads(line)["trajectory_id"] for line in ended.out.split(b"\n") if line) == sorted(done)
    assert "1 of 2 shards of Master are not up to date and left out. Run `openclawbench run --data " in ended.err
    corpus = ask(half, "export", "labels")
    assert (corpus.status, corpus.text) == (2, "")
    assert RUN_FIRST in corpus.err


def test_nothing_is_left_out_of_a_folder_that_is_up_to_date(small: Ran) -> None:
    ended = call("export", "merge", "--data", small.data)
    assert (ended.status, ended.err) == (0, "")


def test_a_rule_that_changed_leaves_what_does_not_depend_on_it(small: Ran, tmp_path: Path) -> None:
    text = shipped_path("risk.toml").read_text(encoding="utf-8")
    (tmp_path / "risk.toml").write_text(text.replace("weight = 2.2", "weight = 2.3"), encoding="utf-8")
    env = {"OPENCLAWBENCH_RULES": str(tmp_path)}
    wanted = table(small.data, "trajectory")[0]["trajectory_id"]
    assert call("trace", wanted, "--data", small.data, env=env).status == 0
    shown = call("show", wanted, "--data", small.data, env=env)
    assert shown.status == 2
    assert f"error: {wanted}: its " in shown.err and RUN_FIRST in shown.err
    assert call("export", "enrich", "--data", small.data, env=env).status == 0
    assert call("export", "slice", "--data", small.data, env=env).status == 2


def test_steps_that_are_gone_are_missed_where_evidence_is_read_and_made_again(small: Ran, tmp_path: Path) -> None:
    data = shutil.copytree(small.data, tmp_path / "data")
    shutil.rmtree(data / "work" / "step")
    shown = call("show", "scripted-a/2026.4.15-unicode", "--data", data)
    assert (shown.status, shown.text) == (2, "")
    assert "is gone, and the evidence has columns from there. Run `openclawbench run --data " in shown.err
    again = call("run", "--data", data, "--json", env={"OPENCLAWBENCH_RAW": str(small.raw)})
    assert {stage["stage"] for stage in again.json["stages"] if stage["redone"]} == {"normalize"}
    assert call("show", "scripted-a/2026.4.15-unicode", "--data", data).status == 0
