"""What comes with the program is found where it stands: within an installed package, else beside it in a checkout."""

from pathlib import Path

import pytest

from openclawbench.api.schemas import schema
from openclawbench.base import resources
from openclawbench.cli.commands.demo import example
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.judge.prompts import read_prompt
from openclawbench.records.json_schema import PUBLIC, described_schema
from openclawbench.rules.loading.own_folder import own_files, rule_file_names
from openclawbench.workspace.example_files import write_example_files

ROOT = Path(__file__).parents[2]


def test_a_checkout_has_them_beside_the_package() -> None:
    assert resources.resource("prompts") == ROOT / "prompts"
    assert resources.resource("schemas") == ROOT / "schemas"
    assert resources.resource("example") == ROOT / "data" / "example"
    assert resources.checkout() == ROOT


def test_an_installed_package_has_them_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "site-packages" / "openclawbench" / resources.INSIDE
    (inside / "prompts" / "plain").mkdir(parents=True)
    text = (ROOT / "prompts" / "plain" / "v1.md").read_bytes()
    (inside / "prompts" / "plain" / "v7.md").write_bytes(text.replace(b'"v1"', b'"v7"'))
    (inside / "example" / "raw").mkdir(parents=True)
    (inside / "schemas").mkdir()
    (inside / "schemas" / "step.schema.json").write_text('{"title": "Step of the wheel"}')
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "site-packages" / "openclawbench")
    monkeypatch.chdir(tmp_path)
    assert read_prompt("plain").version == "v7"
    assert schema("step") == {"title": "Step of the wheel"}
    assert example().resolve() == inside / "example"
    with pytest.raises(UnreadableInput, match="is not a checkout"):
        resources.checkout()


def test_what_an_installation_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "openclawbench")
    with pytest.raises(UnreadableInput, match=r"lacks its prompts\. Install it again"):
        resources.resource("prompts")


def test_files_to_begin_with_are_copied_from_an_installation_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    counts = write_example_files(folder)
    for part in ("raw", "oracle"):
        originals = [path for path in (ROOT / "data" / "example" / part).rglob("*") if path.is_file()]
        assert counts[part] == len(originals) > 0
        for path in originals:
            assert (folder / path.relative_to(ROOT / "data" / "example")).read_bytes() == path.read_bytes()
    monkeypatch.setenv("OPENCLAWBENCH_RULES", str(folder / "rules"))
    assert own_files().keys() == rule_file_names()
    inside = tmp_path / "openclawbench" / resources.INSIDE / "example"
    (inside / "raw" / "m").mkdir(parents=True)
    (inside / "raw" / "m" / "a.jsonl").write_text("of the wheel")
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "openclawbench")
    assert write_example_files(tmp_path / "other")["raw"] == 1
    assert (tmp_path / "other" / "raw" / "m" / "a.jsonl").read_text() == "of the wheel"


def test_files_to_begin_with_replace_nothing(tmp_path: Path) -> None:
    counts = write_example_files(tmp_path)
    (tmp_path / "rules" / "onset.toml").unlink()
    (tmp_path / "mine.txt").write_text("mine")
    assert write_example_files(tmp_path) == counts and (tmp_path / "rules" / "onset.toml").is_file()
    (tmp_path / "rules" / "risk.toml").write_text("edited")
    (tmp_path / "rules" / "onset.toml").unlink()
    with pytest.raises(UsageError, match=r"risk\.toml: is not what would be written there\. Name a new folder"):
        write_example_files(tmp_path)
    assert (tmp_path / "rules" / "risk.toml").read_text() == "edited"
    assert not (tmp_path / "rules" / "onset.toml").exists()
    with pytest.raises(UsageError, match=r"mine\.txt: is not a folder"):
        write_example_files(tmp_path / "mine.txt")
    with pytest.raises(UsageError, match=r"mine\.txt: is not a folder"):
        write_example_files(tmp_path / "mine.txt" / "copy")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "rules").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"rules: is not a folder"):
        write_example_files(tmp_path / "linked")
    assert [path.name for path in (tmp_path / "linked").iterdir()] == ["rules"]


def test_a_schema_is_the_one_of_the_record() -> None:
    assert schema("step") == described_schema(PUBLIC["step"])
    with pytest.raises(UsageError, match=r"^steps: no record has this name\. Choose one of .*, step, "):
        schema("steps")
