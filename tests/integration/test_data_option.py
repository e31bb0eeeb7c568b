"""A mistyped --data makes nothing and names what was meant; a folder's settings file says the same to every command."""

import shutil
from pathlib import Path

import pytest
from child import EXAMPLE, Ran, call, files, small_raw

COMMANDS: dict[str, list[str]] = {
    "run": [],
    "release": [],
    "annotate": [],
    "packet": ["--blind"],
    "status": [],
    "show": ["x"],
    "trace": ["x"],
    "explain": ["x"],
    "export": ["steps"],
    "push": ["a/b"],
    "validate": [],
    "exam": [],
    "view": [],
    "whatif": ["--rules", "x"],
    "ledger": ["merge"],
    "audit": ["report"],
    "report": ["evidence"],
    "collect": ["run"],
    "detect": ["score", "x"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistyped_data_folder_makes_nothing(command: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    before = sorted(tmp_path.rglob("*"))
    ended = call(command, *COMMANDS[command], "--data", tmp_path / "mime")
    assert (ended.status, ended.text) == (2, ""), ended.err
    assert f'--data {tmp_path}/mime: there is no such folder. Did you mean "{tmp_path}/mine"?' in ended.err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_example_may_be_made_beside_another(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    beside = call("demo", "--data", tmp_path / "demo2", "--files", tmp_path / "files")
    assert beside.status == 0, beside.err
    mistyped = call("exam", "--data", tmp_path / "dem0")
    assert mistyped.status == 2 and f"To make it: mkdir {tmp_path}/dem0" in mistyped.err


def test_a_new_folder_is_made_where_sessions_are_named(tmp_path: Path) -> None:
    raw = small_raw(tmp_path / "raw")
    (tmp_path / "data-a").mkdir()
    nowhere = call("normalize", "--data", tmp_path / "far-away")
    assert nowhere.status == 2 and f"openclawbench run --raw FOLDER --data {tmp_path}/far-away" in nowhere.err
    assert not (tmp_path / "far-away").exists()
    ended = call("normalize", "--data", tmp_path / "data-b", "--raw", raw)
    assert ended.status == 0, ended.err
    named = f'written, so that later runs do the same: raw = "{raw}"'
    assert f"{tmp_path}/data-b/openclawbench.toml: {named}" in ended.err
    again = call("normalize", "--data", tmp_path / "data-b")
    assert again.status == 0 and "nothing was redone" in again.text and "openclawbench.toml" not in again.err


def test_own_rules_of_the_first_run_are_those_of_the_next(tmp_path: Path) -> None:
    """Named by a variable, as the advice on a small corpus says, they are in the file from then on."""
    raw, rules = small_raw(tmp_path / "raw"), tmp_path / "my-rules"
    rules.mkdir()
    shipped = Path(EXAMPLE.parents[1] / "pipeline/openclawbench/rules/release/release.toml").read_text(encoding="utf-8")
    (rules / "release.toml").write_text(shipped.replace("test_share = 0.1 ", "test_share = 0.5 "), encoding="utf-8")
    data = tmp_path / "data"
    first = call("release", "--data", data, "--raw", raw, env={"OPENCLAWBENCH_RULES": str(rules)})
    assert first.status == 0, first.err
    assert f'rules = "{rules}"' in (data / "openclawbench.toml").read_text()
    before = files(data / "release")
    for more in ([], ["--json"]):
        plain = call("run", "--data", data, *more)
        assert plain.status == 0, plain.err
    assert files(data / "release") == before
    assert b'"test_share": 0.5' in before["rules.json"]
    shown = call("config", "show", "--data", data, "--json").json
    assert {"setting": "rules", "value": str(rules), "from": "file"} in shown["settings"]
    elsewhere = str(shutil.copytree(rules, tmp_path / "other"))
    other = call("release", "--data", data, env={"OPENCLAWBENCH_RULES": elsewhere})
    assert (
        f"rules: for this run, by environment. To keep it, write into {data}/openclawbench.toml: rules = " in other.err
    )


def test_a_share_of_the_test_side_is_a_setting(small: Ran, tmp_path: Path) -> None:
    data = Path(shutil.copytree(small.data, tmp_path / "data"))
    ended = call("release", "--data", data, "--test-share", "0.4")
    assert ended.status == 0, ended.err
    assert b"--test-share 0.4" in (data / "release" / "datapackage.json").read_bytes()
    valid = call("validate", "--data", data)
    assert valid.status == 0, valid.text
    assert call("diff", small.data / "release", "--data", data).status == 0
    wrong = call("release", "--data", data, "--test-share", "1.5")
    assert wrong.status == 2 and "test_share" in wrong.err


@pytest.mark.parametrize(
    "text", ["raw = \n", "juge = 'rules'\n", "raw = 3\nengine = 'serail'\nquarantine_limit = -1\n"]
)
def test_a_broken_file_kills_neither_doctor_nor_status(text: str, small: Ran, tmp_path: Path) -> None:
    data = Path(shutil.copytree(small.data, tmp_path / "data"))
    (data / "openclawbench.toml").write_text(text)
    for command in (["doctor"], ["status"], ["config", "show"]):
        ended = call(*command, "--data", data)
        assert ended.status == 1
        assert f"{data}/openclawbench.toml: " in " ".join(ended.err.split())
        assert "judge" in ended.text or "normalize" in ended.text
    if "serail" in text:
        for part in (
            "line 1: raw 3: is not a text",
            'did you mean "serial"?',
            "line 3: quarantine_limit -1: is too small",
        ):
            assert part in " ".join(call("doctor", "--data", data).err.split())


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("OPENCLAWBENCH_JUGDE", "OPENCLAWBENCH_JUDGE"),
        ("OPENCLAWBENCH_BUDGET", "OPENCLAWBENCH_BUDGET_USD"),
        ("OPENCLAWBENCH_ONPERSONAL", "OPENCLAWBENCH_ON_PERSONAL"),
        ("OPENCLAWBENCH_RULE", "OPENCLAWBENCH_RULES"),
        ("OPENCLAWBENCH_DATAS", "OPENCLAWBENCH_DATA"),
        ("OPENCLAWBENCH_ZZZ", None),
    ],
)
def test_a_misspelt_variable_is_named_with_what_was_meant(variable: str, meant: str | None, small: Ran) -> None:
    env = {variable: "x", "OPENCLAWBENCH_ENGIN": "serial"}
    ended = call("run", "--data", small.data, env=env)
    assert ended.status == 2
    assert f"{variable}: there is no such variable" in ended.err
    assert meant is None or f'did you mean "{meant}"?' in ended.err
    assert 'OPENCLAWBENCH_ENGIN: there is no such variable; did you mean "OPENCLAWBENCH_ENGINE"?' in ended.err
