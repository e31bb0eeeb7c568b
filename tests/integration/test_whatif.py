"""`whatif` says what a run with other rules would come to, and writes nothing."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import EXAMPLE, ROOT, Ended, Ran, call, few_shards, files

pytestmark = pytest.mark.slow

RULES = ROOT / "pipeline" / "rules"
# One edit of each rule file -> values of the work tables that it moves.
EDITS = {
    "describe.toml": ('"exec", "bash", ', '"bash", '),
    "shell.toml": ('category = "query"', 'category = "read"'),
    "flags.toml": ('error_statuses = ["error", ', "error_statuses = ["),
    "align.toml": ('tool = "exec"', 'tool = "shell"'),
    "risk.toml": ("weight = 2.2", "weight = 9.9"),
    "onset.toml": ("top_k = 3", "top_k = 1"),
    "packet.toml": ("max_tokens = 80000", "max_tokens = 300"),
}
STEP_COLUMNS = ["event_type", "tool_name", "tool_status", "side_effect", "artifact_target", "state_write_target"]
KEY = ["source_model", "trajectory_id"]


def edited(folder: Path, name: str) -> Path:
    """A folder that holds one rule file with its edit."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (RULES / name).read_text(encoding="utf-8")
    before, after = EDITS[name]
    assert before in text, name
    (folder / name).write_text(text.replace(before, after), encoding="utf-8")
    return folder


def frame(data: Path, name: str, key: list[str]) -> pl.DataFrame:
    return pl.read_parquet(data / "work" / name / "*.parquet").sort(key)


def really_moved(before: Path, after: Path) -> dict[str, int]:
    """Value -> trajectories in which two data folders differ, found without the program."""
    found: dict[str, int] = {}

    def count(what: str, old: pl.Series, new: pl.Series, keys: pl.DataFrame) -> None:
        differs = pl.Series([a != b for a, b in zip(old.to_list(), new.to_list(), strict=True)])
        moved = keys.filter(differs).unique().height
        if moved:
            found[what] = moved

    steps = [frame(data, "aligned_descriptor", [*KEY, "step_id"]) for data in (before, after)]
    for name in STEP_COLUMNS:
        count(name, steps[0][name], steps[1][name], steps[0].select(KEY))
    for flag in sorted({flag for one in steps for flags in one["auto_flags"] for flag in flags}):
        old, new = (one["auto_flags"].list.contains(flag) for one in steps)
        count(f"flag {flag}", old, new, steps[0].select(KEY))
    risks = [frame(data, "risk", KEY) for data in (before, after)]
    for name in ("risk_score", "risk_bucket", "slice_label"):
        count(name, risks[0][name], risks[1][name], risks[0].select(KEY))
    onsets = [frame(data, "onset", KEY) for data in (before, after)]
    for name in (
        field.name for field in onsets[0].schema["onset_candidates"].fields if field.name != "step_risk_scores"
    ):
        old, new = (one["onset_candidates"].struct.field(name) for one in onsets)
        count(name, old, new, onsets[0].select(KEY))
    packets = [frame(data, "packet_index", KEY) for data in (before, after)]
    count("packet", packets[0]["packet_sha256"], packets[1]["packet_sha256"], packets[0].select(KEY))
    short = [frame(data, "packet", KEY)["compacted"] for data in (before, after)]
    count("compacted", short[0], short[1], packets[0].select(KEY))
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in two shards, up to packets."""
    data = few_shards(tmp_path_factory.mktemp("base") / "data")
    ended = run(data)
    assert ended.status == 0, ended.err
    return data


def run(data: Path, env: dict[str, str] | None = None) -> Ended:
    return call(
        "run", "--to", "packet", "--data", data, "--raw", EXAMPLE / "raw", "--oracle", EXAMPLE / "oracle", env=env
    )


@pytest.mark.parametrize("name", EDITS)
def test_whatif_says_what_a_run_with_these_rules_comes_to(name: str, base: Path, tmp_path: Path) -> None:
    rules = edited(tmp_path / "rules", name)
    said = call("whatif", "--rules", rules / name, "--data", base, "--packets", "--json")
    assert said.status == 0, said.err
    other = tmp_path / "data"
    shutil.copytree(base, other)
    ended = run(other, {"OPENCLAWBENCH_RULES": str(rules)})
    assert ended.status == 0, ended.err
    found = {one["what"]: one["trajectories"] for one in said.json["changes"]}
    wanted = really_moved(base, other)
    assert {what: count for what, count in found.items() if not what.startswith("rule of")} == wanted
    assert wanted
    for one in said.json["changes"]:
        check_entry(one)


def check_entry(one: dict[str, Any]) -> None:
    """Counts that belong together, and examples that show a change."""
    assert one["trajectories"] <= sum(kind["trajectories"] for kind in one["kinds"])
    assert one["steps"] == sum(kind["steps"] for kind in one["kinds"])
    assert 1 <= len(one["examples"]) <= 3
    for example in one["examples"]:
        assert example["before"] != example["after"]
        assert (example["step_id"] is not None) == bool(one["steps"])


def test_not_a_byte_of_the_data_folder_changes(base: Path, tmp_path: Path) -> None:
    for name in EDITS:
        edited(tmp_path / "rules", name)
    before = files(base)
    stamps = {path: path.stat().st_mtime_ns for path in base.rglob("*")}
    ended = call("whatif", "--rules", tmp_path / "rules", "--data", base, "--packets", "--examples", "1")
    assert ended.status == 0, ended.err
    assert files(base) == before
    assert {path: path.stat().st_mtime_ns for path in base.rglob("*")} == stamps
    for name in EDITS:
        assert f"/{name} in the place of {name}" in ended.text
    assert (
        "made again in memory: describe, align, fuse, slice, onset, packet; the work tables are as they were"
        in ended.text
    )


def test_only_the_stages_that_a_file_reaches_are_made_again(base: Path, tmp_path: Path) -> None:
    for name, stages in {"onset.toml": ["onset"], "risk.toml": ["slice", "onset"], "packet.toml": ["packet"]}.items():
        rules = edited(tmp_path / name, name)
        assert call("whatif", "--rules", rules, "--data", base, "--json").json["stages"] == stages


def test_rules_that_are_in_force_move_nothing(base: Path) -> None:
    ended = call("whatif", "--rules", RULES / "risk.toml", "--data", base)
    assert ended.status == 0
    assert "risk.toml: the same rules" in ended.text
    assert "0 of " in ended.text


def test_a_shard_that_is_stale_is_left_out_and_said(small: Ran, tmp_path: Path) -> None:
    shutil.copytree(small.data, tmp_path / "data")
    shutil.copytree(small.raw, tmp_path / "raw")
    path = next((tmp_path / "raw").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"\n", b" \n", 1))
    env = {"OPENCLAWBENCH_RAW": str(tmp_path / "raw")}
    rules = edited(tmp_path / "rules", "risk.toml")
    ended = call("whatif", "--rules", rules, "--data", tmp_path / "data", "--json", env=env)
    assert (ended.status, ended.json["shards"], ended.json["shards_left_out"]) == (0, 1, 1)
    assert "1 of 2 shards are not up to date and left out" in ended.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("weight = 3", "stands for none of describe.toml, shell.toml"),
        ('file = "risk.toml"\nversion = "1"', "mine.toml: scale: is missing (and 8 more). Correct the file."),
        ('file = "risk.toml"\nscale = ', "mine.toml: cannot read the rules: "),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, says: str, small: Ran, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    ended = call("whatif", "--rules", tmp_path / "mine.toml", "--data", small.data)
    assert (ended.status, ended.text) == (2, "")
    assert says in ended.err
