"""Each setting that may let more out, against the release in the folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.openness import more_open
from openclawbench.workspace.settings import settings


def released(folder: Path, commands: list[str], judge: str = "rules", **actions: Any) -> Path:
    """A release as far as it is read: its rules and where it comes from."""
    privacy = PrivacyRules.load().model_dump() | actions
    folder.mkdir()
    (folder / "rules.json").write_text(json.dumps({"privacy.toml": privacy}))
    judges = [{"annotation_pass": 1, "judge": judge, "judge_model": f"{judge}-model"}]
    package = {"provenance": {"commands": commands, "judges": judges}}
    (folder / "datapackage.json").write_text(json.dumps(package))
    return folder


PLAIN = ["openclawbench release --judge rules"]
CASES: dict[str, tuple[dict[str, Any], dict[str, str], str | None]] = {
    "as before": ({}, {}, None),
    "mails were redacted": ({"on_email": "redact"}, {}, "email (redact before) (--on-personal report)"),
    "phones were blocked": ({"on_phone": "block"}, {}, "phone (block before) (--on-personal report)"),
    "said again": ({"on_user_name": "redact"}, {"on_personal": "report"}, None),
    "stricter": ({"on_email": "report"}, {"on_personal": "redact"}, None),
    "block to redact": ({"on_account": "block"}, {"on_personal": "redact"}, None),
    "suspected keys": ({"on_suspected_key": "redact"}, {}, "suspected key (redact before) (--on-keys block)"),
    "keys by option": ({"on_key": "block"}, {"on_keys": "report"}, None),
    "the other option": ({"on_email": "redact"}, {"on_keys": "redact"}, "email (redact before) (--on-personal report)"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_left_in_and_was_not(case: str, tmp_path: Path) -> None:
    actions, flags, expected = CASES[case]
    (tmp_path / "data").mkdir()
    chosen = settings(DataFolder(tmp_path / "data"), **flags)
    sentences = list(more_open(released(tmp_path / "release", PLAIN, **actions), chosen))
    assert sentences == ([] if expected is None else [expected])


@pytest.mark.parametrize("by", ["option", "environment", "file"])
def test_a_licence_is_accepted_by_option_alone(by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    if by == "environment":
        monkeypatch.setenv("OPENCLAWBENCH_NONCOMMERCIAL", "accept")
    if by == "file":
        (tmp_path / "data" / "openclawbench.toml").write_text('noncommercial = "accept"\n')
    flags = {"noncommercial": "accept"} if by == "option" else {}
    chosen = settings(DataFolder(tmp_path / "data"), **flags)
    sentences = list(more_open(released(tmp_path / "release", PLAIN), chosen))
    assert (sentences == []) == (by == "option")
    accepted = released(tmp_path / "accepted", ["openclawbench release --judge rules --noncommercial accept"])
    assert list(more_open(accepted, chosen)) == []


def test_own_rules_that_find_less_must_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    former = released(tmp_path / "release", PLAIN)
    (tmp_path / "rules").mkdir()
    text = shipped_path("privacy.toml").read_text(encoding="utf-8")
    assert "\nallow = [" in text
    (tmp_path / "rules" / "privacy.toml").write_text(text.replace("\nallow = [", "\nallow = ['(?s).*', ", 1))
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(tmp_path / "rules"))
    (tmp_path / "data").mkdir()
    (sentence,) = more_open(former, settings(DataFolder(tmp_path / "data")))
    assert sentence == f"{rule_path('privacy.toml')} finds less: allow (?s).* (--on-keys block)"
    assert list(more_open(former, settings(DataFolder(tmp_path / "data"), on_keys="block"))) == []


def test_without_a_release_nothing_is_more_open(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    chosen = settings(DataFolder(tmp_path / "data"), on_personal="report")
    assert list(more_open(tmp_path / "release", chosen)) == []
    asked = released(tmp_path / "asked", PLAIN, judge="openai")
    assert list(more_open(asked, chosen)) == ["labels of openai-model would be gone (--judge rules)"]
