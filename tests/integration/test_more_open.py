"""A release that lets out more than the one that it replaces is made only if the command says so."""

import shutil
from pathlib import Path

import pytest
from asking import Endpoint, arguments, rules
from child import Ran, call, files


@pytest.fixture
def data(small: Ran, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small.data, tmp_path / "data"))


def test_what_was_redacted_stays_so_until_the_option_is_repeated(data: Path) -> None:
    redacted = call("release", "--data", data, "--on-personal", "redact")
    assert redacted.status == 0, redacted.err
    sentence = "on_personal: for this run, by option. To keep it, write into"
    assert f'{sentence} {data}/openclawbench.toml: on_personal = "redact"' in redacted.err
    before = files(data / "release")
    for verb in ("release", "run"):
        plain = call(verb, "--data", data)
        assert plain.status == 2
        assert f"{data}/release: was not replaced" in plain.err and "(--on-personal report)" in plain.err
        assert files(data / "release") == before
    with (data / "openclawbench.toml").open("a") as file:
        file.write('on_personal = "report"\n')
    assert call("release", "--data", data).status == 2  # a file is no decision about this release
    assert files(data / "release") == before
    assert call("release", "--data", data, "--on-personal", "block").status in (0, 1)
    opened = call("release", "--data", data, "--on-personal", "report")
    assert opened.status == 0, opened.err
    assert call("release", "--data", data).status == 0  # no more open than it is


def test_labels_of_a_model_are_not_replaced_by_those_of_the_embedded_judge(
    raw: Path, endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.script()
    data = tmp_path / "data"
    (data / "work").mkdir(parents=True)
    (data / "work" / "layout.json").write_text('{"shards": 2}')
    (data / "openclawbench.toml").write_text(f'raw = "{raw}"\njudge = "rules"\n')
    env = rules(tmp_path)
    judged = call(*arguments(endpoint, data, raw, verb="release"), env=env)
    assert judged.status == 0, judged.err
    before, asked = files(data / "release"), endpoint.count()
    plain = call("release", "--data", data, env=env)
    assert plain.status == 2
    assert "labels of test-model would be gone (--judge rules)" in plain.err
    assert (files(data / "release"), endpoint.count()) == (before, asked)
    (data / "openclawbench.toml").write_text(f'raw = "{raw}"\njudge = "openai"\nmodel = "test-model"\n')
    again = call("release", "--data", data, "--oracle", arguments(endpoint, data, raw)[6], env=env)
    assert again.status == 0, again.err
    assert (files(data / "release"), endpoint.count()) == (before, asked)
    assert call("release", "--data", data, "--judge", "rules", env=env).status == 0
