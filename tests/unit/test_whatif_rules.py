"""Which rule file a file of somebody's own stands for."""

import shutil
from pathlib import Path

import pytest

from openclawbench.errors import InvalidRules, UnreadableInput, UsageError
from openclawbench.inspect.whatif.rules import differs, passed_over, read_own
from openclawbench.inspect.whatif.whatif import RULES, make_plan
from openclawbench.rules.loading.own_folder import PACKAGE, own_files
from openclawbench.rules.loading.rule_file import rule_path

RULE_FILES = sorted((PACKAGE / "rules").rglob("*.toml"))


def copy(name: str, to: Path, more: str = "") -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(more + rule_path(name).read_text(encoding="utf-8"), encoding="utf-8")
    return to


@pytest.mark.parametrize("name", list(RULES))
def test_a_file_is_known_by_its_name_by_a_key_or_by_its_keys(name: str, tmp_path: Path) -> None:
    ways = [
        copy(name, tmp_path / name),
        copy(name, tmp_path / "mine.toml", f'file = "{name}"\n'),
        copy(name, tmp_path / "x"),
    ]
    for path in ways:
        ((file, (result, rules)),) = read_own([path], RULES).items()
        assert (file, result, type(rules)) == (name, path, RULES[name])
        assert not differs(rules)


def test_a_folder_stands_for_its_rule_files_and_several_can_be_given(tmp_path: Path) -> None:
    for name in ("risk.toml", "onset.toml"):
        copy(name, tmp_path / "folder" / name)
    shutil.copy(rule_path("packet.toml"), tmp_path)
    assert sorted(read_own([tmp_path / "folder", tmp_path / "packet.toml"], RULES)) == [
        "onset.toml",
        "packet.toml",
        "risk.toml",
    ]


def test_a_copy_of_all_rules_may_be_given_where_those_of_other_stages_are_as_in_force(tmp_path: Path) -> None:
    for path in RULE_FILES:
        copy(path.name, tmp_path / path.name, "# a comment\n")
    assert sorted(read_own([tmp_path], RULES)) == sorted(RULES)
    others = {path.name for path in passed_over([tmp_path], RULES)}
    assert others == {path.name for path in RULE_FILES} - set(RULES)
    with pytest.raises(UsageError, match=r"asking\.toml: stands for none of"):
        read_own([tmp_path / "asking.toml"], RULES)
    text = (tmp_path / "judge.toml").read_text(encoding="utf-8")
    (tmp_path / "judge.toml").write_text(text.replace('version = "', 'version = "x', 1), encoding="utf-8")
    with pytest.raises(UsageError, match=r"judge\.toml: stands for none of"):
        read_own([tmp_path], RULES)


@pytest.mark.parametrize(
    "name", ["flgas.toml", "more/flgas.toml", "RISK.TOML", "risk.tml", "file.toml", "a_rather_different_name.toml"]
)
def test_a_folder_with_a_misspelt_name_is_refused_as_a_run_refuses_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy("risk.toml", tmp_path / "risk.toml")
    own = copy("flags.toml", tmp_path / name, 'file = "flags.toml"\n')
    with pytest.raises(InvalidRules) as refused:
        read_own([tmp_path], RULES)
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(tmp_path))
    with pytest.raises(InvalidRules) as refused_by_a_run:
        own_files()
    assert str(refused.value) == str(refused_by_a_run.value)
    monkeypatch.delenv("OPENCLAWBENCH_RULES")
    assert list(read_own([own], RULES)) == ["flags.toml"]  # a file that is named itself may be called anything


def test_other_files_beside_rule_files_are_no_fault(tmp_path: Path) -> None:
    copy("risk.toml", tmp_path / "risk.toml")
    for name in ("risk.toml~", "risk.toml.orig", "README.md", "notes.txt"):
        (tmp_path / name).write_text("x")
    assert list(read_own([tmp_path], RULES)) == ["risk.toml"]


def test_two_files_for_one_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    path, other = copy("risk.toml", tmp_path / "a.toml"), copy("risk.toml", tmp_path / "b.toml")
    with pytest.raises(UsageError, match=r"b\.toml: .*a\.toml stands for risk\.toml already"):
        read_own([path, other], RULES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableInput, match=r"empty: holds no \*\.toml file"):
        read_own([tmp_path / "empty"], RULES)


@pytest.mark.parametrize(
    ("file", "packets", "stages"),
    [
        ("shell.toml", False, ["describe", "align", "fuse", "slice", "onset"]),
        ("align.toml", True, ["align", "fuse", "slice", "onset", "packet"]),
        ("risk.toml", False, ["slice", "onset"]),
        ("onset.toml", False, ["onset"]),
        ("packet.toml", False, ["packet"]),
    ],
)
def test_only_what_a_file_reaches_is_made_again(file: str, packets: bool, stages: list[str]) -> None:
    asked = make_plan({file: RULES[file].load()}, packets)
    assert [stage.name for stage in asked.stages] == stages
