"""`openclawbench diff` on small hand-made releases: what each cause is named for, moves, and what is refused."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from openclawbench.base.terminal import output
from openclawbench.cli.commands.diff import print_diff
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.release.diff.causes import MEANINGS, answered_anew
from openclawbench.release.diff.diff import diff
from openclawbench.release.diff.fields import changed_fields
from openclawbench.release.diff.markdown import as_markdown

Record = dict[str, Any]
Change = Callable[[Record], object]
ROOT = "fulltax_prod_v1/m"


def record(name: str, **fields: Any) -> Record:
    """A record with the fields that a diff looks at."""
    step = {"step_id": 1, "action_kind": "reply", "action_text": f"done {name}", "event_type": "reply"}
    versions = {"a": "a/v1", "b1": "b1/v1", "b2": None, "c": None}
    stamps = {"rules_version": "r1", "schema_version": "1", "judge": "rules", "judge_model": "rules"}
    provenance = stamps | {"prompt_versions": versions, "packet_sha256": name}
    label = {"is_anomalous": False, "anomaly_type_l2": None, "quality_tier": "high_confidence_accepted"}
    context = {"task_id": "t", "mode": None, "oracle": None, "risk_score": 0.1, "stages": {"a": {"route_label": "x"}}}
    stated = {"steps": [step], "user_turns": [{"user_turn": 1, "text": "go"}]}
    key = {"source_model": "m", "trajectory_id": name}
    return key | stated | context | label | {"provenance": provenance} | fields


def put(path: Path, rows: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def release(root: Path, rows: list[Record], test: str = "", pool: str = "", out: str = "") -> Path:
    """A release: each record is on the train side, but those whose names are in `test` or `out`."""
    put(root / ROOT / "master_table_all.jsonl", rows)
    keys = [{"source_model": "m", "trajectory_id": row["trajectory_id"]} for row in rows]
    of = {
        entry: [key for key in keys if key["trajectory_id"] in names] for entry, names in (("test", test), ("out", out))
    }
    for folder in ("", "paper_cut/"):
        rest = [key for key in keys if key["trajectory_id"] not in test + out]
        put(root / f"{folder}silver_train_labels.jsonl", rest)
        put(root / f"{folder}silver_test_labels.jsonl", of["test"])
        put(root / f"{folder}label_exclusions.jsonl", [key | {"reason": "no_decision"} for key in of["out"]])
    put(root / "calibration_pool.jsonl", [key for key in keys if key["trajectory_id"] in pool])
    put(root / "prompts" / "a" / "v1.md", [])
    return root


def compared(folder: Path, before: list[Record], after: list[Record], **sides: str) -> dict[str, Any]:
    """The diff of two releases made of these records."""
    return diff(release(folder / "A", before), release(folder / "B", after, **sides), 2)


def moved(record_: Record, change: Change) -> Record:
    """A copy with one change."""
    copy = deepcopy(record_)
    change(copy)
    return copy


def test_two_copies_of_a_release_are_identical(tmp_path: Path) -> None:
    difference = compared(tmp_path, [record("x"), record("y")], [record("x"), record("y")])
    assert difference["identical"]
    assert {name: count for name, count in difference["records"].items() if count} == {"a": 2, "b": 2, "same": 2}
    assert not any(difference[name] for name in ("changed", "label_flips", "tier_moves", "fields"))
    assert not any(difference["split_moves"].values())


def flip(row: Record) -> None:
    row |= {"is_anomalous": True, "anomaly_type_l2": "execution_coordination_failure", "stages": {"a": None}}


def with_stamp(**stamps: Any) -> Change:
    def change(row: Record) -> None:
        flip(row)
        row["provenance"] |= stamps

    return change


def other_text(row: Record) -> None:
    row["steps"][0]["action_text"] = "else"


def other_words(row: Record) -> None:
    row["user_turns"][0]["text"] = "stop"


def other_words_and_rules(row: Record) -> None:
    other_words(row)
    row["provenance"]["rules_version"] = "r2"


def other_score_and_judge(row: Record) -> None:
    row["risk_score"] = 0.2
    row["provenance"] |= {"rules_version": "r2", "judge": "openai"}


CAUSES: list[tuple[Change, str]] = [
    (other_text, "raw_session"),
    (other_words, "raw_session"),
    (other_words_and_rules, "rule_version"),  # a rule takes the envelope off
    (lambda row: row["steps"].append(row["steps"][0]), "raw_session"),
    (lambda row: row.update(oracle={"success": True}), "raw_outcome"),
    (lambda row: row.update(task_id="u"), "raw_outcome"),
    (lambda row: row.update(mode="functions"), "raw_outcome"),
    (lambda row: row.pop("mode"), "code"),  # the schema of one of them lacks the field
    (with_stamp(rules_version="r2"), "rule_version"),
    (with_stamp(prompt_versions={"a": "a/v2", "b1": "b1/v1"}), "prompt_version"),
    (with_stamp(prompt_versions={"a": "a/v1", "b1": "b1/v1", "b2": "b2/v1"}), "code"),  # B2 was not asked before
    (with_stamp(judge="openai", judge_model="gpt"), "judge"),
    (with_stamp(schema_version="2"), "code"),
    (flip, "code"),
    (other_score_and_judge, "rule_version"),  # a judge does not move a score
    (with_stamp(rules_version="r2", judge_model="other"), "rule_version + judge"),
]


@pytest.mark.parametrize(("change", "cause"), CAUSES)
def test_a_changed_record_has_the_cause_whose_mark_moved(change: Change, cause: str, tmp_path: Path) -> None:
    difference = compared(tmp_path, [record("x"), record("y")], [record("x"), moved(record("y"), change)])
    assert not difference["identical"]
    assert [(entry["cause"], entry["records"], entry["examples"]) for entry in difference["changed"]] == [
        (cause, 1, ["m/y"])
    ]
    assert difference["records"]["same"] == 1


def test_a_judge_that_does_not_repeat_itself_is_a_cause() -> None:
    stamp = record("x")["provenance"]
    assert answered_anew(stamp | {"judge": "openai"}, stamp, ["stages.a.route_label"])
    assert not answered_anew(stamp, stamp, ["stages.a.route_label"])
    assert not answered_anew(stamp | {"judge": "openai"}, stamp | {"packet_sha256": "p"}, ["stages.a"])


def test_a_prompt_edited_under_its_version_is_a_cause(tmp_path: Path) -> None:
    before, after = release(tmp_path / "A", [record("x")]), release(tmp_path / "B", [moved(record("x"), flip)])
    (after / "prompts" / "a" / "v1.md").write_text("other words")
    assert [entry["cause"] for entry in diff(before, after, 1)["changed"]] == ["prompt_version"]


def test_records_of_which_only_the_stamp_differs_have_not_changed(tmp_path: Path) -> None:
    stamped = moved(record("x"), lambda row: row["provenance"].update(rules_version="r2"))
    difference = compared(tmp_path, [record("x")], [stamped])
    assert (difference["records"]["restamped"], difference["records"]["changed"]) == (1, 0)
    assert difference["fields"][0]["field"] == "provenance.rules_version"
    assert difference["releases"]["b"]["made_with"]["rules_version"] == {"r2": 1}


def test_flips_stand_by_subtype_and_tier(tmp_path: Path) -> None:
    def to_review(row: Record) -> None:
        row |= {"is_anomalous": None, "quality_tier": "review_or_unresolved"}

    rows = [record(name) for name in "abc"]
    after = [moved(rows[0], flip), moved(rows[1], flip), moved(rows[2], to_review)]
    difference = compared(tmp_path, rows, after)
    high, review = "high_confidence_accepted", "review_or_unresolved"
    flips = [
        (*(label_flip[name] for name in list(label_flip)[:4]), label_flip["records"])
        for label_flip in difference["label_flips"]
    ]
    assert flips == [
        ("normal", "execution_coordination_failure", high, high, 2),
        ("normal", "undecided", high, review, 1),
    ]
    assert [
        (tier_move["tier_from"], tier_move["tier_to"], tier_move["records"]) for tier_move in difference["tier_moves"]
    ] == [(high, review, 1)]


def test_added_removed_and_renamed_sessions(tmp_path: Path) -> None:
    renamed = record("a") | {"trajectory_id": "zz"}
    difference = compared(tmp_path, [record("a"), record("b"), record("c")], [record("b"), record("d"), renamed])
    named = {name: [entry["examples"] for entry in difference[name]] for name in ("added", "removed", "other_key")}
    assert named == {"added": [["m/d"]], "removed": [["m/c"]], "other_key": [["m/zz"]]}


def test_split_moves_are_told_from_records_that_come_and_go(tmp_path: Path) -> None:
    before, after = [record(name) for name in "abcd"], [record(name) for name in "abce"]
    split_moves = compared(tmp_path, before, after, test="a", out="b", pool="c")["split_moves"]
    for cut in ("default_cut", "paper_cut"):
        sides = {(entry["from"], entry["to"]): entry["examples"] for entry in split_moves[cut]}
        assert sides == {
            ("train", "test"): ["m/a"],
            ("train", "left out: no_decision"): ["m/b"],
            ("train", None): ["m/d"],
            (None, "train"): ["m/e"],
        }
    assert ("out", "in") in {(member["from"], member["to"]) for member in split_moves["calibration_pool"]}


def test_fields_are_named_once_by_their_path() -> None:
    before = {"a": 1, "steps": [{"x": 1, "y": None}, {"x": 1, "y": None}], "same": {"deep": [1]}}
    after = {"a": True, "steps": [{"x": 2, "y": None}, {"x": 2}, {}], "same": {"deep": [1]}, "new": None}
    assert changed_fields(before, after) == ["a", "new", "steps[]", "steps[].x", "steps[].y"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{\n", "line 3: is not a record"),
        (b'{"source_model": "m", "trajectory_id": "a"}\n', "line 3: stands twice or out of order"),
        (b'{"source_model": "m", "trajectory_id": "z"}\n', "line 3: has no steps"),
        (b'{"source_model": "m", "trajectory_id": "\xff"}\n', "line 3: is not a record"),
    ],
)
def test_a_line_that_is_no_record_is_refused(line: bytes, says: str, tmp_path: Path) -> None:
    rows = [record("a"), record("b")]
    before, after = release(tmp_path / "A", rows), release(tmp_path / "B", rows)
    with (after / ROOT / "master_table_all.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(UnreadableInput, match=says):
        diff(before, after, 1)


def made_from(root: Path, risk: str, prompt: str) -> None:
    rules = [{"file": name, "sha256": of} for name, of in (("risk.toml", risk), ("slices.toml", "0"))]
    stated = {"provenance": {"rules": rules, "prompts": [{"stage": "a", "version": "v1", "sha256": prompt}]}}
    (root / "datapackage.json").write_text(json.dumps(stated))


def test_rule_files_and_prompts_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = release(tmp_path / "A", [record("a")]), release(tmp_path / "B", [record("a")])
    assert diff(before, after, 1)["made_from"] is None
    made_from(before, "1", "1")
    made_from(after, "2", "1")
    actual_diff = diff(before, after, 1)
    assert actual_diff["made_from"] == {"rules": ["risk.toml"], "prompts": []}
    assert "rules that differ: `risk.toml`." in as_markdown(actual_diff, MEANINGS)
    print_diff(actual_diff, output())
    assert "rules that differ: risk.toml\n" in capsys.readouterr().out
    made_from(after, "1", "2")
    assert diff(before, after, 1)["made_from"] == {"rules": [], "prompts": ["a/v1"]}


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="so it is not a release"):
        diff(release(tmp_path / "A", []), tmp_path, 1)


def test_names_stay_data_in_markdown(tmp_path: Path) -> None:
    nasty = "x|`<img src=x>\x1b[31m"
    difference = compared(tmp_path, [], [record("a") | {"trajectory_id": nasty}])
    text = as_markdown(difference, MEANINGS)
    assert "`m/x\\x7c\\x60<img src=x>\\x1b[31m`" in text
    assert "\x1b" not in text
    for cause in MEANINGS:
        assert f"- `{cause}`: " in text
