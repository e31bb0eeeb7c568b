"""What comes with the program is found where it stands: within an installed package, else beside it in a checkout."""

from pathlib import Path

import pytest

from openclawbench.api.schemas import schema
from openclawbench.base import resources
from openclawbench.cli.commands.demo import example
from openclawbench.errors import UnreadableInput, UsageError
from openclawbench.judge.prompts import read_prompt
from openclawbench.records.json_schema import PUBLIC, described_schema

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
    assert example()[0].resolve() == inside / "example" / "raw"
    with pytest.raises(UnreadableInput, match="is not a checkout"):
        resources.checkout()


def test_what_an_installation_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "openclawbench")
    with pytest.raises(UnreadableInput, match=r"lacks its prompts\. Install it again"):
        resources.resource("prompts")


def test_a_schema_is_the_one_of_the_record() -> None:
    assert schema("step") == described_schema(PUBLIC["step"])
    with pytest.raises(UsageError, match=r"^steps: no record has this name\. Choose one of .*, step, "):
        schema("steps")
