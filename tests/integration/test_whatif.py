"""`whatif` says what a run with other rules would come to, and writes nothing."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from child import EXAMPLE, Ended, Ran, call, few_shards, files
from thorough import first

from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

# One edit of each rule file -> values of the work tables that it moves.
EDITS = {
    "describe.toml": ('"exec", "bash", ', '"bash", '),
    "shell.toml": ('category = "query"', 'category = "read"'),
    "language.toml": ("least = 30 ", "least = 600 "),
    "flags.toml": ('error_statuses = ["error", ', "error_statuses = ["),
    "align.toml": ('tool = "exec"', 'tool = "shell"'),
    "risk.toml": ("weight = 2.2", "weight = 9.9"),
    "onset.toml": ("top_k = 3", "top_k = 1"),
    "packet.toml": ("max_tokens = 80000", "max_tokens = 300"),
}
KEY = ["source_model", "trajectory_id"]
STEP = [*KEY, "step_id"]
# Table -> (rows are told apart by these, columns that are told under their own name, columns told under another).
TABLES: dict[str, tuple[list[str], list[str], dict[str, list[str]]]] = {
    "aligned_descriptor": (
        STEP,
        [
            *("event_type", "tool_name", "tool_status", "side_effect", "artifact_target", "state_write_target"),
            *("alignment_case", "previous_event_type", "previous_tool_name", "command_parts"),
            *("tool_server", "languages"),
        ],
        {
            "event_rule": ["event_type", "rule of event_type"],
            "alignment_rule": ["alignment_case", "rule of alignment"],
            "status_rule": ["tool_status", "rule of tool_status"],
            "side_effect_rule": ["side_effect", "rule of side_effect"],
            "auto_flags": ["flag ", "order of flags"],
            "flag_evidence": ["flag ", "evidence of flag "],
        },
    ),
    "step_risk": (STEP, ["step_risk"], {}),
    "risk": (
        KEY,
        [
            *("risk_score", "risk_score_raw", "risk_bucket", "slice_label", "risk_breakdown"),
            *("pass_but_high_risk", "fail_but_low_risk"),
        ],
        {"risk_signals": ["num_"]},
    ),
    "onset": (KEY, ["onset_rules"], {"onset_candidates": ["earliest_", "top_k_risky_steps", "step_risk_scores"]}),
    "packet": (KEY, ["compacted"], {}),
    "packet_index": (KEY, ["fits", "to_judge", "estimated_tokens"], {"packet_sha256": ["packet"]}),
}
APART = {"tool_name_raw", *KEY, "step_id"}  # as the session has it


def edited(folder: Path, name: str) -> Path:
    """A folder that holds one rule file with its edit."""
    folder.mkdir(parents=True, exist_ok=True)
    text = shipped_path(name).read_text(encoding="utf-8")
    before, after = EDITS[name]
    assert before in text, name
    (folder / name).write_text(text.replace(before, after), encoding="utf-8")
    return folder


def frame(data: Path, name: str, key: list[str]) -> pl.DataFrame:
    table = pl.read_parquet(data / "work" / name / "*.parquet").sort(key)
    if name == "aligned_descriptor":  # its lists stand in the descriptor
        table = table.with_columns(frame(data, "descriptor", key).select("command_parts", "flag_evidence", "languages"))
    return table


def differing(before: Path, after: Path, name: str, key: list[str], column: str) -> pl.DataFrame:
    """The rows of a table in which a column of two data folders differs, found without the program."""
    old, new = (frame(data, name, key) for data in (before, after))
    assert old.select(key).equals(new.select(key))
    differs = [a != b for a, b in zip(old[column].to_list(), new[column].to_list(), strict=True)]
    return old.select(key).filter(pl.Series(differs, dtype=pl.Boolean))


def check_table(expected_rows: dict[str, set[tuple[Any, ...]]], before: Path, after: Path, name: str) -> int:
    """Every column of one table: what is said of it is what moved. Gives how many columns moved."""
    key, own, under = TABLES[name]
    columns = set(frame(before, name, key).columns)
    assert name == "packet" or columns - APART == {*own, *under}, name
    moved = 0
    for column in [*own, *under]:
        rows = differing(before, after, name, key, column)
        moved += bool(rows.height)
        starts = tuple(under.get(column, [column]))
        reported = set().union(
            *(rows for what, rows in expected_rows.items() if what == column or what.startswith(starts))
        )
        assert set(rows.rows()) <= reported, (name, column)
        if column in own:
            assert set(rows.rows()) == expected_rows.get(column, set()), (name, column)
    return moved


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


@pytest.mark.parametrize("name", first(3, EDITS))
def test_whatif_says_what_a_run_with_these_rules_comes_to(name: str, base: Path, tmp_path: Path) -> None:
    rules = edited(tmp_path / "rules", name)
    answer = call("whatif", "--rules", rules / name, "--data", base, "--packets", "--json", "--examples", "100000")
    assert answer.status == 0, answer.err
    other = tmp_path / "data"
    shutil.copytree(base, other)
    ended = run(other, {"OPENCLAWBENCH_RULES": str(rules)})
    assert ended.status == 0, ended.err
    reported: dict[str, set[tuple[Any, ...]]] = {}
    for change in answer.json["changes"]:
        check_entry(change)
        key = STEP if change["steps"] else KEY
        reported[change["what"]] = {tuple(row[column] for column in key) for row in change["examples"]}
    assert sum([check_table(reported, base, other, table) for table in TABLES])


def check_entry(entry: dict[str, Any]) -> None:
    """Counts that belong together, and examples that show a change."""
    assert entry["trajectories"] <= sum(kind["trajectories"] for kind in entry["kinds"])
    assert entry["steps"] == sum(kind["steps"] for kind in entry["kinds"])
    assert len(entry["examples"]) == (entry["steps"] or entry["trajectories"])
    for example in entry["examples"]:
        assert example["before"] != example["after"]
        assert (example["step_id"] is not None) == bool(entry["steps"])


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
    ended = call("whatif", "--rules", shipped_path("risk.toml"), "--data", base)
    assert ended.status == 0
    assert "risk.toml: the same rules" in ended.text
    assert "0 of " in ended.text
    assert "is the file in force, so it is compared with itself" in " ".join(ended.err.split())


def test_that_packets_are_left_out_is_said(base: Path, tmp_path: Path) -> None:
    rules = edited(tmp_path / "rules", "risk.toml")
    assert "packets are not compared; --packets does" in call("whatif", "--rules", rules, "--data", base).text
    assert "not compared" not in call("whatif", "--rules", rules, "--data", base, "--packets").text


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


def test_whatif_says_which_records_other_splits_would_move(small: Ran, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    text = shipped_path("release.toml").read_text()
    (rules / "release.toml").write_text(text.replace("test_share = 0.1", "test_share = 0.5"))
    answer = call("whatif", "--rules", rules, "--data", small.data, "--json", "--examples", "100000")
    assert answer.status == 0, answer.err
    assert answer.json["stages"] == ["split"]
    other = tmp_path / "data"
    shutil.copytree(small.data, other)
    ended = call("run", "--data", other, env={"OPENCLAWBENCH_RULES": str(rules)})
    assert ended.status == 0, ended.err
    before, after = (
        pl.read_parquet(entry / "work" / "label_assignment" / "*.parquet") for entry in (small.data, other)
    )
    after = after.filter(pl.struct(after.columns).is_in(before.select(after.columns).to_struct().implode()).not_())
    moved = {
        change["what"]: {tuple(row[key] for key in KEY) for row in change["examples"]}
        for change in answer.json["changes"]
    }
    assert moved["default_cut"]
    pairs = before.join(after.unique(KEY, keep="last"), on=KEY, suffix="_after")
    for what, keys in moved.items():
        differs = pairs.filter(pl.col(what).ne_missing(pl.col(f"{what}_after")))
        assert keys == set(differs.select(KEY).rows()), what
