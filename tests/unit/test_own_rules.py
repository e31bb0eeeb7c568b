"""OPENCLAWBENCH_RULES: a folder that is none, or a file whose name means nothing, is an error and not the defaults."""

import importlib
import pkgutil
import shutil
from pathlib import Path

import pytest

from openclawbench.errors import InvalidRules
from openclawbench.inspect.doctor import rules_of_a_run, settings_in_force
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.rules.loading.own_folder import OVERRIDE, PACKAGE, own_files, rule_file_names, shipped_path
from openclawbench.rules.loading.rule_book import RuleBook
from openclawbench.rules.loading.rule_file import Rules, rule_path
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import usable_settings


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one rule file, which is in force."""
    folder = tmp_path / "my-rules"
    folder.mkdir()
    text = shipped_path("release.toml").read_text()
    (folder / "release.toml").write_text(text.replace("test_share = 0.1", "test_share = 0.3"))
    monkeypatch.setenv(OVERRIDE, str(folder))
    return folder


def test_a_file_of_the_folder_takes_the_place_of_the_one_of_its_name(own: Path) -> None:
    assert ReleaseRules.load().test_share == 0.3
    assert rule_path("risk.toml") == shipped_path("risk.toml")
    assert own_files() == {"release.toml": own / "release.toml"}


def test_a_copy_of_the_shipped_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(PACKAGE / "rules", tmp_path / "rules")
    monkeypatch.setenv(OVERRIDE, str(copy))
    assert rule_path("risk.toml") == copy / "construct" / "risk.toml"
    assert not [row for row in own_files().values() if not row.is_relative_to(copy)]
    (copy / "risk.toml").write_text('version = "1"\n')
    with pytest.raises(InvalidRules, match=r"risk\.toml: .*risk\.toml is a rule file of the same name"):
        rule_path("risk.toml")


def test_rule_files_are_those_that_a_loader_reads() -> None:
    """Data files of the package (families of the exam, descriptions of fields) cannot be replaced."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "openclawbench."):
        if module.name.endswith(("settings", "rules", "recipe")) or ".rules." in module.name:
            importlib.import_module(module.name)
    read = {
        getattr(kind, "FILE", "") for kind in Rules.__subclasses__() if kind.__module__.startswith("openclawbench.")
    }
    assert rule_file_names() == {name for name in read if name.endswith(".toml") and "*" not in name}


def test_a_folder_that_is_not_there_is_named_with_the_one_that_was_meant(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OVERRIDE, str(own.with_name("my-rule")))
    with pytest.raises(InvalidRules, match=r"OPENCLAWBENCH_RULES: .*my-rule: No such.*Did you mean \".*/my-rules\""):
        rule_path("risk.toml")


def test_doctor_refuses_a_rule_as_a_run_does(own: Path, tmp_path: Path) -> None:
    text = shipped_path("risk.toml").read_text()
    (own / "risk.toml").write_text(text.replace("\nscale = ", '\nscale = "big"  # ', 1))
    with pytest.raises(InvalidRules, match=r"risk\.toml: line \d+: scale: "):
        settings_in_force(usable_settings(DataFolder(tmp_path / "data"))[0])


def test_doctor_knows_the_rules_of_every_stage(own: Path, tmp_path: Path) -> None:
    shipped_names = {path.name for path in (PACKAGE / "rules").rglob("*.toml")}
    assert shipped_names <= {kind.FILE for kind in rules_of_a_run()}
    (own / "a" / "b").mkdir(parents=True)
    (own / "a" / "b" / "control.toml").write_text(f"nonsense_key = 1\n{shipped_path('control.toml').read_text()}")
    with pytest.raises(InvalidRules, match=r"control\.toml: line 1: nonsense_key: "):
        settings_in_force(usable_settings(DataFolder(tmp_path / "data"))[0])


@pytest.mark.parametrize("name", ["relaese.toml", "release.tml", "Risk.toml", "release.TOML", "prompt_a.toml"])
def test_a_misspelt_file_is_named(name: str, own: Path) -> None:
    (own / name).write_text('version = "1"\n')
    with pytest.raises(InvalidRules, match=rf"{name}: there is no rule file .*; (did you mean|rule files are)"):
        ReleaseRules.load()


@pytest.mark.parametrize("name", ["README.md", "release.toml~", "release.toml.orig", ".git"])
def test_what_is_no_rule_file_may_lie_beside(name: str, own: Path) -> None:
    (own / name).write_text("notes\n")
    assert ReleaseRules.load().test_share == 0.3


def test_a_folder_without_any_rule_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.md").write_text("not here\n")
    monkeypatch.setenv(OVERRIDE, str(tmp_path))
    with pytest.raises(InvalidRules, match=r"holds no rule file; rule files are .*risk\.toml"):
        rule_path("risk.toml")


def test_doctor_shows_the_folder_and_what_it_says_otherwise(own: Path, tmp_path: Path) -> None:
    in_force = settings_in_force(usable_settings(DataFolder(tmp_path / "data"))[0])
    assert {"setting": "rules", "value": own, "from": "environment"} in in_force["settings"]
    assert in_force["own_rule_files"] == [
        {"file": str(own / "release.toml"), "in_place_of": "release.toml", "other_keys": ["test_share"]}
    ]


def test_what_a_setting_overrides_stays_with_who_asked() -> None:
    """No second data folder of the same process gets the first one's settings."""
    shipped = PacketRules.load()
    changed = PacketRules.load(overrides={PacketRules.FILE: {"unmatched": "review"}})
    assert (shipped.unmatched, changed.unmatched) == ("exclude", "review")
    assert changed.digest != shipped.digest == PacketRules.load().digest
    overridden = RuleBook.load(overrides={PacketRules.FILE: {"unmatched": "review"}})
    assert overridden.version != RuleBook.load().version
