"""`openclawbench push`: a whole release in one commit, or a sentence, against a stand-in for the Hub."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, Ended, call, few_shards, files
from conftest import Ran
from fake_hub import Hub, fake_hub

from openclawbench.release import hub as hub_module
from openclawbench.release.hub import push

pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.slow

TOKEN = "hf_" + "notarealtokenbutlongenoughforone"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with fake_hub(TOKEN) as result:
        yield result


@pytest.fixture
def release(small: Ran, tmp_path: Path) -> Path:
    root = tmp_path / "a copy of it"
    shutil.copytree(small.data / "release", root)
    return root


def who(folder: Path) -> dict[str, str]:
    """The environment of somebody who says who they are and under which licence."""
    (folder / "rules").mkdir()
    text = (ROOT / "pipeline" / "openclawbench" / "release" / "publish.toml").read_text(encoding="utf-8")
    text = text.replace('creator = ""', 'creator = "Ada"').replace('license = ""', 'license = "mit"')
    (folder / "rules" / "publish.toml").write_text(text, encoding="utf-8")
    return {"OPENCLAWBENCH_RULES": str(folder / "rules")}


@pytest.fixture
def named(small: Ran, tmp_path: Path) -> Path:
    """The same release by somebody who says who they are."""
    shutil.copytree(small.data, tmp_path / "named")
    ended = call("release", "--data", tmp_path / "named", env=who(tmp_path))
    assert ended.status == 0, ended.err
    return tmp_path / "named" / "release"


def pushed(hub: Hub, release: Path, home: Path, *more: str, token: str | None = TOKEN) -> Ended:
    env = {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    env |= {"HF_TOKEN": token} if token else {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    return call("push", "ada/set", "--release", release, *more, env=env)


def test_a_release_arrives_whole_in_one_private_commit(hub: Hub, release: Path, tmp_path: Path) -> None:
    hub.files["of_a_former_release.jsonl"] = b"{}\n"
    hub.files[".gitattributes"] = b"*.parquet filter=lfs\n"
    before = files(release)
    ended = pushed(hub, release, tmp_path / "home")
    assert ended.status == 0, ended.err
    assert hub.files == before | {".gitattributes": b"*.parquet filter=lfs\n"}
    assert (hub.private, hub.commits) == (True, 1)
    assert "private" in ended.text and "1 of a former release removed" in ended.text
    assert f"{hub.url}/datasets/ada/set/commit/1" in ended.text
    assert files(release) == before


def test_a_release_that_names_neither_creator_nor_licence_is_not_made_public(
    hub: Hub, release: Path, tmp_path: Path
) -> None:
    ended = pushed(hub, release, tmp_path / "home", "--public")
    assert ended.status == 2
    assert "gives no [dataset] creator and [dataset] license" in ended.err
    assert hub.commits == 0
    private = pushed(hub, release, tmp_path / "home")
    assert private.status == 0 and "warning: " in private.err and "[dataset] license" in private.err


def test_the_token_reaches_no_file_and_no_line(hub: Hub, release: Path, tmp_path: Path) -> None:
    hub.refuse = 403
    ended = pushed(hub, release, tmp_path / "home")
    assert ended.status == 2
    assert "403" in ended.err and "You have no right to do this" in ended.err and "HF_TOKEN" in ended.err
    assert TOKEN not in ended.err + ended.text
    assert not [name for name, content in files(tmp_path).items() if TOKEN.encode() in content]


def test_a_wrong_token_is_refused_with_a_sentence(hub: Hub, release: Path, tmp_path: Path) -> None:
    ended = pushed(hub, release, tmp_path / "home", token="hf_another")
    assert ended.status == 2
    assert "401" in ended.err
    assert "Traceback" not in ended.err


def test_what_has_arrived_is_not_sent_again(hub: Hub, release: Path, tmp_path: Path) -> None:
    hub.uploads_before_failure = 4
    ended = pushed(hub, release, tmp_path / "home")
    assert ended.status == 2
    assert "Run it again" in ended.err
    assert (hub.commits, hub.files) == (0, {})
    there = set(hub.blobs)
    assert there
    hub.uploads_before_failure, hub.log = -1, []
    assert pushed(hub, release, tmp_path / "home").status == 0
    assert not [name for name in there if hub.count(f"PUT /lfs/{name}")]
    assert hub.files == files(release)


def test_a_release_with_a_fault_is_not_sent(hub: Hub, release: Path, tmp_path: Path) -> None:
    (release / "taxonomy.toml").write_text("")
    ended = pushed(hub, release, tmp_path / "home")
    assert ended.status == 1
    assert "nothing was uploaded" in ended.text and "taxonomy.toml" in ended.text
    assert hub.log == []


def test_a_public_repository_is_not_written_by_chance(hub: Hub, release: Path, named: Path, tmp_path: Path) -> None:
    hub.private = False
    ended = pushed(hub, release, tmp_path / "home")
    assert ended.status == 2
    assert "is public" in ended.err
    assert hub.commits == 0
    assert pushed(hub, named, tmp_path / "home", "--public").status == 0
    assert hub.commits == 1


def test_without_a_token_nothing_is_asked(hub: Hub, release: Path, tmp_path: Path) -> None:
    ended = pushed(hub, release, tmp_path / "home", token=None)
    assert ended.status == 2
    assert "there is no token" in ended.err
    assert hub.log == []


def test_an_endpoint_that_is_down_is_said(release: Path, tmp_path: Path) -> None:
    with fake_hub(TOKEN) as gone:
        pass
    ended = pushed(gone, release, tmp_path / "home")
    assert ended.status == 2
    assert "Run it again" in ended.err
    assert "Traceback" not in ended.err


def test_without_the_library_the_extra_is_named(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "find_spec", lambda _name: None)
    with pytest.raises(hub_module.UsageError, match=r"'CHECKOUT\[hub\]'"):
        push(release, "ada/set", False)


ADDRESS = "ada.lovelace@analytical-engine.org"


@pytest.fixture
def example_with_address(tmp_path: Path) -> Path:
    """A release of one session in which an address stands."""
    session = (EXAMPLE / "raw" / "scripted-a" / "2026.2.1-unknown-tool.jsonl").read_text(encoding="utf-8")
    raw = tmp_path / "raw" / "m" / "s.jsonl"
    raw.parent.mkdir(parents=True)
    raw.write_text(session.replace('"text":"', f'"text":"{ADDRESS} '), encoding="utf-8")
    data = few_shards(tmp_path / "data")
    assert call("release", "--data", data, "--raw", tmp_path / "raw", env=who(tmp_path)).status == 0
    return data / "release"


def test_what_was_found_is_looked_at_before_everyone_sees_it(
    example_with_address: Path, hub: Hub, tmp_path: Path
) -> None:
    ended = pushed(hub, example_with_address, tmp_path / "home", "--public")
    assert ended.status == 2
    assert "Look at these" in ended.err and "--yes" in ended.err
    assert ADDRESS not in ended.err + ended.text and "email" in ended.err
    assert (hub.commits, hub.files) == (0, {})
    assert pushed(hub, example_with_address, tmp_path / "home", "--public", "--yes").status == 0
    assert hub.commits == 1
