"""No address that stands in a data folder gets a session or a key before the user trusts the folder."""

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from asking import ASKING, KEY, Endpoint
from child import EXAMPLE, Ended, call, few_shards

PRICES = "price_in = 1\nprice_out = 2\n"
JUDGE = 'judge = "openai"\nmodel = "test-model"\n'


@contextmanager
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """An address, and the first bytes of every connection to it; each is closed at once."""
    heard: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(2)
                    heard.append(connection.recv(1 << 16))

        threading.Thread(target=listen, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}", heard


@pytest.fixture(scope="module")
def packed(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as somebody else hands it over: sessions and outcomes in it, worked on up to the packets."""
    data = few_shards(tmp_path_factory.mktemp("theirs") / "data")
    shutil.copytree(raw, data / "raw")
    shutil.copytree(EXAMPLE / "oracle", data / "oracle")
    assert call("packet", "--data", data).status == 0
    return data


@pytest.fixture
def data(packed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed, tmp_path / "data"))


def say(data: Path, text: str) -> None:
    (data / "openclawbench.toml").write_text(text, encoding="utf-8")


def own_rules(folder: Path, address: str) -> str:
    """A folder of rules in the data folder, whose asking.toml names another endpoint by default."""
    (folder / "rules").mkdir()
    text = ASKING.read_text(encoding="utf-8")
    default = next(line for line in text.splitlines() if line.startswith("default_base_url"))
    named = text.replace(default, f'default_base_url = "{address}"')
    (folder / "rules" / "asking.toml").write_text(named, encoding="utf-8")
    return 'rules = "rules"\n'


ASKS: dict[str, list[str]] = {
    "annotate": [],
    "run": ["--judge", "openai", "--model", "test-model"],
    "exam": ["--pairs", "1", "--seed", "1"],
}


@pytest.mark.parametrize("place", ["file", "rules", "layout"])
@pytest.mark.parametrize("verb", ASKS)
def test_no_command_asks_at_an_address_of_the_folder(verb: str, place: str, data: Path, endpoint: Endpoint) -> None:
    endpoint.script()
    address = f"{endpoint.url}/v1"
    if place == "layout":
        named = {"shards": 2, "base_url": address, "judge": "openai", "model": "test-model", "price_in": 1}
        (data / "work" / "layout.json").write_text(json.dumps(named))
    else:
        line = f'base_url = "{address}"\n' if place == "file" else own_rules(data, address)
        say(data, JUDGE + (PRICES if place == "rules" else "") + line)
    # The address of OpenAI is never reached either: where nothing is withheld, the price is not known.
    ended = call(verb, "--data", data, *ASKS[verb], env={"OPENAI_API_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:1"})
    assert endpoint.count() == 0
    assert KEY not in ended.err + ended.text
    if place == "layout" and verb != "run":
        assert "rules" in ended.err or ended.status == 0  # what the last run was told is not remembered
    else:
        assert ended.status == 2, ended.err
    if place != "layout":
        assert f"openclawbench config trust {data}" in ended.err
        assert f"{data}/openclawbench.toml: line" in ended.err


def test_a_plain_run_asks_nothing_and_says_what_is_not_judged(data: Path, endpoint: Endpoint) -> None:
    """Neither an address in the folder, nor the user's own, makes a run without a judge by option ask."""
    endpoint.script()
    say(data, JUDGE + PRICES + f'base_url = "{endpoint.url}/v1"\n')
    for verb in ("run", "merge", "release"):
        for own in ({}, {"OPENAI_BASE_URL": f"{endpoint.url}/v1"}):
            ended = call(verb, "--data", data, env={"OPENAI_API_KEY": KEY} | own)
            assert endpoint.count() == 0
            assert ended.status == 1
            assert "12 sessions are not judged yet by test-model. Ask them: openclawbench annotate" in ended.err
            assert not (data / "release").exists()


def test_a_trusted_folder_is_asked_at_until_it_changes(data: Path, endpoint: Endpoint) -> None:
    endpoint.script()
    text = JUDGE + PRICES + f'base_url = "{endpoint.url}/v1"\n'
    say(data, text)
    env = {"OPENAI_API_KEY": KEY}
    trusted = call("config", "trust", data)
    assert trusted.status == 0 and f'base_url = "{endpoint.url}/v1"' in trusted.text
    assert call("annotate", "--data", data, env=env).status == 0
    asked = endpoint.count()
    assert asked > 0
    assert f"Bearer {KEY}" in {headers["Authorization"] for headers in endpoint.log()["headers"]}
    say(data, text + "budget_usd = 1000\n")  # a changed file must be trusted again
    refused = call("annotate", "--data", data, "--stage", "a", env=env)
    assert (refused.status, endpoint.count()) == (2, asked)
    assert "line 6: budget_usd" in refused.err
    moved = Path(shutil.copytree(data, data.parent / "elsewhere"))
    say(moved, text)
    assert call("annotate", "--data", moved, env=env).status == 2  # trust is for a folder, not for a text


def test_a_rule_file_that_changes_after_the_trust_is_not_trusted(data: Path, endpoint: Endpoint) -> None:
    endpoint.script()
    say(data, JUDGE + PRICES + own_rules(data, f"{endpoint.url}/v1"))
    assert call("config", "trust", "--data", data).status == 0
    (data / "rules" / "prices.toml").write_text((ASKING.parent / "prices.toml").read_text(encoding="utf-8"))
    ended = call("annotate", "--data", data, env={"OPENAI_API_KEY": KEY})
    assert (ended.status, endpoint.count()) == (2, 0)
    assert "line 5: rules" in ended.err


@pytest.mark.parametrize("name", ["budget_usd", "budget_tokens", "price_in", "price_cached"])
def test_what_may_be_paid_is_not_decided_by_a_folder(name: str, data: Path, endpoint: Endpoint) -> None:
    """A price of 0 or a large budget would let a folder spend the user's money at the user's own endpoint."""
    endpoint.script()
    say(data, f"{JUDGE}{name} = 0\n")
    ended = call("annotate", "--data", data, "--base-url", f"{endpoint.url}/v1", env={"OPENAI_API_KEY": KEY})
    assert (ended.status, endpoint.count()) == (2, 0)
    assert f"{name}: a data folder may not say" in ended.err
    by_option = call(
        *("annotate", "--data", data, "--base-url", f"{endpoint.url}/v1", f"--{name.replace('_', '-')}", "0"),
        *("--stage", "a"),
    )
    assert f"{name}: a data folder" not in by_option.err


def connects(data: Path, *arguments: str) -> Ended:
    aws = {"AWS_ACCESS_KEY_ID": "AKIACANARY", "AWS_SECRET_ACCESS_KEY": "canary", "AWS_SESSION_TOKEN": "canary-token"}
    return call(*arguments, "--data", data, env=aws)


@pytest.mark.parametrize("verb", ["run", "status", "export", "show"])
@pytest.mark.parametrize("name", ["parts", "raw", "ray_address", "endpoint_url"])
def test_no_storage_of_the_folder_is_reached(name: str, verb: str, data: Path) -> None:
    with listener() as (address, heard):
        lines = {
            "parts": 'parts = "s3://b/p"',
            "raw": 'raw = "s3://b/p"',
            "ray_address": f'ray_address = "{address}"\nengine = "ray"',
            "endpoint_url": "",
        }
        say(data, f'{lines[name]}\nendpoint_url = "http://{address}"\n')
        arguments = {"export": ["export", "steps"], "show": ["show", "x"]}.get(verb, [verb])
        ended = connects(data, *arguments)
        assert (ended.status, heard) == (2, []), ended.err
        assert f"openclawbench config trust {data}" in ended.err


def test_what_the_user_typed_is_trusted_on_this_machine_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run writes the address of raw sessions, which its own user typed; in a copy it is one of a folder."""
    from openclawbench.storage.data_folder import DataFolder
    from openclawbench.workspace.configuration.settings_file import note_settings
    from openclawbench.workspace.settings import settings

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    folder = DataFolder(tmp_path / "data")
    folder.root.mkdir()
    note_settings(folder, settings(folder, raw="s3://bucket/sessions"), 1, False)
    assert str(settings(folder).raw) == "s3://bucket/sessions"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "somebody-else"))
    with pytest.raises(Exception, match="raw: a data folder may not say"):
        settings(folder)


def test_the_users_own_configuration_may_name_an_address(data: Path, tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.script()
    own = tmp_path / "own" / "openclawbench"
    own.mkdir(parents=True)
    (own / "config.toml").write_text(f'base_url = "{endpoint.url}/v1"\n{PRICES}')
    say(data, JUDGE)
    env = {"OPENAI_API_KEY": KEY, "XDG_CONFIG_HOME": str(tmp_path / "own")}
    assert call("annotate", "--data", data, "--stage", "a", env=env).status == 0
    assert endpoint.count() == 12
    (own / "config.toml").write_text('raw = "x"\nbase_ulr = "y"\n')
    ended = call("annotate", "--data", data, "--stage", "a", env=env)
    assert ended.status == 2
    assert "config.toml: line 1: raw: belongs to a data folder" in ended.err
    assert 'config.toml: line 2: base_ulr: there is no such setting; did you mean "base_url"?' in ended.err


def test_an_address_of_the_last_run_must_be_given_again(data: Path) -> None:
    """Without it everything would be computed again, or looked for at AWS."""
    (data / "work" / "layout.json").write_text(json.dumps({"shards": 2, "needs": ["parts", "endpoint_url"]}))
    ended = call("status", "--data", data)
    assert ended.status == 2
    assert "its last run was given --parts, --endpoint-url, and an address is not remembered" in ended.err
