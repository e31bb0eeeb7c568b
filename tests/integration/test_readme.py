"""The README is true: its commands run, its table of stages is computed, its names exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, Ended, call, few_shards

from openclawbench.cli.app import app
from openclawbench.cli.settings import FileSettings
from openclawbench.docs import END, START, with_flow
from openclawbench.flow import FLOW
from openclawbench.release.writer.render import LINE_FILES

pytestmark = pytest.mark.slow

README = (ROOT / "README.md").read_text(encoding="utf-8")
# These make the virtual environment, or would run this test: .ci/run runs them from nothing.
COVERED_BY_CI = {"make demo", "make test"}


def commands() -> list[str]:
    """Every command of every console block, in order, without its remark."""
    blocks = re.findall(r"^```console\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ").split(" #")[0].strip() for block in blocks for line in block.splitlines()]


def carry_out(command: str, folder: Path) -> Ended:
    """One command in a checkout."""
    if command.startswith("openclawbench "):
        return call(*shlex.split(command)[1:], cwd=folder)
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr.decode())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What every command came to, one after another in one folder that holds a checkout's example and rules."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(
        ROOT / "pipeline" / "openclawbench" / "rules",
        folder / "pipeline" / "openclawbench" / "rules",
        ignore=shutil.ignore_patterns("*.py*"),
    )
    shutil.copytree(EXAMPLE, folder / "data" / "example")
    for data in ("data", "data/other", "data/demo"):
        few_shards(folder / data)
    return {command: carry_out(command, folder) for command in commands() if command not in COVERED_BY_CI}


@pytest.mark.parametrize("command", [one for one in commands() if one not in COVERED_BY_CI])
def test_a_command_of_the_readme_works(command: str, results: dict[str, Ended]) -> None:
    assert results[command].status == 0, results[command].err
    assert "Traceback" not in results[command].err


def test_what_is_not_run_here_is_run_from_nothing() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for command in COVERED_BY_CI:
        assert command in commands()
        assert re.search(rf"\bmake\b.* {command.split()[1]}$", script, re.MULTILINE), command


def test_there_is_an_example_of_every_verb() -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    used = {shlex.split(command)[1] for command in commands() if command.startswith("openclawbench ")}
    groups = {group.name for group in app.registered_groups}
    assert used == (verbs | groups) - {"bench"}  # docs/why/benchmarks.md


def test_the_table_of_stages_is_up_to_date() -> None:
    assert with_flow(README) == README, "run `python -m openclawbench.docs`"
    table = README.partition(START)[2].partition(END)[0]
    assert re.findall(r"^\| `(\w+)` ", table, re.MULTILINE) == [stage.name for stage in FLOW]


def test_a_readme_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="flow:end"):
        with_flow(f"text {START} text")


def test_links_lead_somewhere() -> None:
    targets = [one for one in re.findall(r"\]\(([^)\s]+)\)", README) if "://" not in one]
    assert targets
    assert [one for one in targets if not (ROOT / one).exists()] == []


def test_settings_reasons_and_release_files_are_all_named() -> None:
    assert "`[bfcl.models]`" in README
    for name in set(FileSettings.model_fields) - {"bfcl"}:
        assert f"`{name}`" in README
        assert f"`OPENCLAWBENCH_{name.upper()}`" in README
    variables = set(re.findall(r"OPENCLAWBENCH_[A-Z_]+", README))
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "pipeline" / "openclawbench").rglob("*.py"))
    own = {f"OPENCLAWBENCH_{name.upper()}" for name in FileSettings.model_fields}
    assert variables - own == set(re.findall(r'"(OPENCLAWBENCH_[A-Z_]+[A-Z])"', code))
    sources = ["construct/normalize/normalize.py", "sources/io/jsonl.py", "sources/openclaw/adapter.py"]
    sources += ["intake/oracles/jsonl.py", "intake/intake.py", "intake/oracles/intake.py", "intake/oracles/bfcl.py"]
    sources += ["intake/task_manifest.py"]
    text = "\n".join((ROOT / "pipeline" / "openclawbench" / path).read_text(encoding="utf-8") for path in sources)
    reasons = set(re.findall(r'(?:Fault\(|refuse\(one, |fault\(name, number, |"reason": )"(\w+)"', text))
    reasons |= {f"bfcl_{reason}" for reason in re.findall(r'unscorable\("(\w+)"', text)} | {"bfcl_failures_only"}
    assert {
        "empty_file",
        "bfcl_duplicate_ids",
        "bfcl_no_manifest",
        "broken_json",
        "torn_last_line",
        "oracle_malformed",
        "run_manifest_malformed",
    } <= reasons
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in README] == []
    for name in LINE_FILES:
        generic = re.sub(r"stage_\w+_raw", "stage_{a,b1,b2,c}_raw", name)
        assert f"`fulltax_prod_v1/<model>/{generic}`" in README
