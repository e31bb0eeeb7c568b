"""A run redoes what is stale and nothing else, and whatever the way there, the release has the same bytes."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from child import EXAMPLE, SMALL, Ran, call, few_shards, files, manifest, redone, temporary

from openclawbench.flow import FLOW
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.runtime.stage import PARTITIONS
from openclawbench.storage.data_folder import DataFolder

pytestmark = pytest.mark.slow

# Stages that come before the first one that reads risk.toml, or beside it.
BEFORE_RISK = {"normalize", "fingerprint", "describe", "summary", "align", "fuse", "matches", "coverage"}


def stamps(data: Path) -> dict[str, int]:
    """When each file under work/ and release/ was written."""
    return {str(path): path.stat().st_mtime_ns for path in data.rglob("*") if path.is_file()}


def copy_of(ran: Ran, to: Path) -> tuple[Path, Path]:
    """Data and raw folder of a run, to change."""
    shutil.copytree(ran.data, to / "data")
    shutil.copytree(ran.raw, to / "raw")
    return to / "data", to / "raw"


def again(data: Path, raw: Path, env: dict[str, str] | None = None) -> dict[str, int]:
    return redone(call("run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--json", env=env))


def rules_with(folder: Path, name: str, old: str, new: str) -> dict[str, str]:
    """A folder of rules with one edited file, as the environment names it."""
    folder.mkdir()
    text = shipped_path(name).read_text(encoding="utf-8")
    assert re.search(old, text)
    (folder / name).write_text(re.sub(old, new, text, count=1), encoding="utf-8")
    return {"OPENCLAWBENCH_RULES": str(folder)}


def test_a_second_run_redoes_nothing_and_says_so(example: Ran) -> None:
    before, written = files(example.data / "release"), stamps(example.data)
    ended = call("run", "--data", example.data)
    assert ended.status == 0
    assert "nothing has changed, nothing was redone" in ended.text
    assert not re.search(r"^\w+: \d+ of \d+ shards", ended.err, re.MULTILINE)
    assert files(example.data / "release") == before
    changed = {Path(path).name for path, stamp in stamps(example.data).items() if written.get(path) != stamp}
    assert changed <= {"intake.json", "layout.json", ".lock"}


def test_another_folder_other_shards_order_and_times_give_the_same_release(small: Ran, tmp_path: Path) -> None:
    raw = tmp_path / "elsewhere"
    for number, path in enumerate(sorted(small.raw.rglob("*.jsonl"), reverse=True)):
        target = raw / path.relative_to(small.raw)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        os.utime(target, (1_000_000_000 + number,) * 2)
    stages = again(few_shards(tmp_path / "data", 5), raw)
    assert stages["normalize"] > small.ended.json["stages"][0]["redone"] == 2
    assert files(tmp_path / "data" / "release") == files(small.data / "release")


def test_a_touched_file_with_the_same_bytes_redoes_nothing(small: Ran, tmp_path: Path) -> None:
    data, raw = copy_of(small, tmp_path)
    for path in raw.rglob("*.jsonl"):
        os.utime(path, (1, 1))
    assert set(again(data, raw).values()) == {0}


# What follows from the whole corpus is done for every partition, and for both shards.
REDONE = {stage.name: 1 for stage in FLOW} | {"near": PARTITIONS, "split": 2}


def test_an_added_session_redoes_one_shard_and_removing_it_gives_the_former_release(small: Ran, tmp_path: Path) -> None:
    data, raw = copy_of(small, tmp_path)
    name = "2026.4.15-thinking.jsonl"
    assert name.removesuffix(".jsonl") not in SMALL["scripted-a"]
    shutil.copy2(EXAMPLE / "raw" / "scripted-a" / name, raw / "scripted-a")
    assert again(data, raw) == REDONE
    assert manifest(data, "normalize")["outputs"]["Trajectory"]["rows"] == 13
    assert manifest(data, "normalize")["redone"] == 1
    assert files(data / "release") != files(small.data / "release")
    for stage in FLOW:  # of the shards, most of which were left as they are, the rows are those that stand there
        actual_manifest = manifest(data, stage.name)
        parts = {int(shard) if shard.isdigit() else shard: key for shard, key in actual_manifest["parts"].items()}
        for record in stage.writes:
            assert actual_manifest["outputs"][record.__name__]["rows"] == DataFolder(data).rows(record, parts), record

    (raw / "scripted-a" / name).unlink()
    assert again(data, raw) == REDONE
    assert files(data / "release") == files(small.data / "release")
    assert temporary(data) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "kept"),
    [
        ("risk.toml", r"(?m)^weight = 2\.2$", "weight = 9.9", BEFORE_RISK),
        (
            "release.toml",
            r"(?m)^test_share = 0\.1",
            "test_share = 0.3",
            {s.name for s in FLOW} - {"merge", "fingerprint"},
        ),
    ],
)
def test_an_edited_rule_file_redoes_what_reads_it_and_what_depends_on_that(
    small: Ran, tmp_path: Path, name: str, old: str, new: str, kept: set[str]
) -> None:
    data, raw = copy_of(small, tmp_path)
    env = rules_with(tmp_path / "rules", name, old, new)
    stages = again(data, raw, env)
    readers = {stage.name for stage in FLOW if any(rules.FILE in (name, "*.toml") for rules in stage.rules.values())}
    assert readers
    for stage in readers:
        assert stages[stage] > 0, stage
    after_merge = {"place", "draw", "near", "split", "certify", "count", "summarize", "render", "search_text"}
    assert {stage for stage, count in stages.items() if not count} == kept - after_merge
    assert files(data / "release") != files(small.data / "release")
    assert not_as_shipped(small.data) == [] and not_as_shipped(data) == [name]
    assert [call("status", "--data", data, "--json", env=entry).json["release"] for entry in (env, {})] == [
        "current",
        "stale",
    ]


def not_as_shipped(data: Path) -> list[str]:
    """The rule files that the release's data package says to be other than the program's."""
    rules = json.loads((data / "release" / "datapackage.json").read_bytes())["provenance"]["rules"]
    return [rule["file"] for rule in rules if not rule["as_shipped"]]


def test_a_comment_in_a_rule_file_redoes_nothing(small: Ran, tmp_path: Path) -> None:
    data, raw = copy_of(small, tmp_path)
    env = rules_with(tmp_path / "rules", "risk.toml", r"\A", "# a remark\n\n")
    assert set(again(data, raw, env).values()) == {0}
    assert files(data / "release") == files(small.data / "release")
