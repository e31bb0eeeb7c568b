"""`openclawbench diff` on releases that the program made: other rules, another session, and the same again."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from child import EXAMPLE, Ran, call, lines

from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

MORE = "2026.2.1-sequential-tools"


def again(small: Ran, folder: Path, env: dict[str, str] | None = None, more: str | None = None) -> Path:
    """The release that a copy of the small run comes to with other rules or one more session."""
    shutil.copytree(small.data, folder / "data")
    shutil.copytree(small.raw, folder / "raw")
    if more is not None:
        shutil.copy2(EXAMPLE / "raw" / "scripted-a" / f"{more}.jsonl", folder / "raw" / "scripted-a")
    where = ["--data", folder / "data", "--raw", folder / "raw", "--oracle", EXAMPLE / "oracle"]
    ended = call("run", *where, env=env)
    assert ended.status == 0, ended.err
    return folder / "data" / "release"


def compared(a: Path, b: Path, *more: str | Path) -> Any:
    ended = call("diff", a, b, "--json", *more)
    assert ended.status == 0, ended.err
    return ended.json


def master(release: Path) -> dict[str, dict[str, Any]]:
    """Records by id, from the files themselves."""
    rows = [row for path in release.rglob("master_table_all.jsonl") for row in lines(path)]
    return {f"{row['source_model']}/{row['trajectory_id']}": row for row in rows}


def test_a_release_and_its_copy(small: Ran, tmp_path: Path) -> None:
    shutil.copytree(small.data / "release", tmp_path / "a copy")
    difference = compared(small.data / "release", tmp_path / "a copy")
    assert difference["identical"]
    assert (difference["records"]["same"], difference["records"]["a"]) == (12, 12)
    assert "identical: no file differs" in call("diff", small.data / "release", tmp_path / "a copy").text


def test_other_weights_move_scores_and_slices_and_no_label(small: Ran, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    text = shipped_path("risk.toml").read_text()
    (rules / "risk.toml").write_text(text.replace("weight = 2.2", "weight = 9.9"))
    after = again(small, tmp_path, env={"OPENCLAWBENCH_RULES": str(rules)})
    difference = compared(small.data / "release", after, "--markdown", tmp_path / "diff.md", "--examples", "99")
    old, new = master(small.data / "release"), master(after)
    assert old.keys() == new.keys()
    moved = {key for key in old if old[key]["risk_score_raw"] != new[key]["risk_score_raw"]}
    assert moved
    assert [(entry["cause"], set(entry["examples"])) for entry in difference["changed"]] == [("rule_version", moved)]
    assert difference["records"]["restamped"] == len(old) - len(moved)
    assert not difference["label_flips"]
    assert not difference["tier_moves"]
    counts = {field["field"]: field["records"] for field in difference["fields"]}
    assert counts["provenance.rules_version"] == len(old)
    assert counts["risk_score_raw"] == len(moved)
    for name in ("risk_bucket", "slice_label"):
        assert counts.get(name, 0) == sum(old[key][name] != new[key][name] for key in old)
    assert "| `rule_version` |" in (tmp_path / "diff.md").read_text()


def test_one_more_session_is_added_and_moves_nobody_in_the_default_cut(small: Ran, tmp_path: Path) -> None:
    after = again(small, tmp_path, more=MORE)
    difference = compared(small.data / "release", after)
    (added,) = difference["added"]
    assert (added["cause"], added["records"]) == ("raw_session", 1)
    assert MORE in added["examples"][0]
    assert difference["records"]["same"] == 12
    moves = [entry for entry in difference["split_moves"]["default_cut"] if entry["from"] is not None]
    assert [move for move in moves if "calibration_pool" not in move["from"] + str(move["to"])] == []
    assert compared(after, small.data / "release")["records"]["removed"] == 1


def test_what_cannot_be_compared_is_refused(small: Ran, tmp_path: Path) -> None:
    ended = call("diff", small.data / "release", tmp_path)
    assert (ended.status, ended.text) == (2, "")
    assert "so it is not a release" in ended.err
