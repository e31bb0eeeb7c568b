"""README and guides are true: their commands run, one after another, and every verb has an example."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from child import ROOT, Ended, call, few_shards

from openclawbench.cli.app import PANELS

pytestmark = pytest.mark.slow

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorial.md",
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]
# These make the virtual environment, or would run this test: .ci/run runs them from nothing.
COVERED_BY_CI = {"make demo", "make test"}
DEMO = "openclawbench demo"  # what `make demo` does where there is an environment (tests/unit/test_house.py)


def commands_in(text: str) -> list[str]:
    """Every command of every console block, in order, without its remark."""
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ").split(" #")[0].strip() for block in blocks for line in block.splitlines()]


# In the order of the documents; one that is shown twice runs once.
COMMANDS = list(
    dict.fromkeys(command for path in DOCUMENTS for command in commands_in(path.read_text(encoding="utf-8")))
)
TESTED = [command for command in COMMANDS if command not in COVERED_BY_CI]


def carry_out(command: str, folder: Path) -> Ended:
    """One command in a folder."""
    if command.startswith("openclawbench view"):
        return view(shlex.split(command)[1:], folder)
    if command.startswith("openclawbench "):
        return call(*shlex.split(command)[1:], cwd=folder)
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def view(arguments: list[str], folder: Path) -> Ended:
    """Start the workbench, open its first page, and end it."""
    command = [sys.executable, "-m", "openclawbench", *(name for name in arguments if name != "--open")]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        answer = httpx.get(address, follow_redirects=False)
        entered = httpx.get(address.partition("?")[0], cookies=answer.cookies)
        server.terminate()
    return Ended(0 if entered.status_code == 200 else 1, entered.content, "")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What every command came to, one after another in one folder: an empty one, as a user of the wheel has it, but for
    the collection of a checkout."""
    folder = tmp_path_factory.mktemp("empty")
    shutil.copytree(ROOT / "data" / "collected", folder / "data" / "collected")
    for data in ("data", "data/mine", "data/other", "data/demo"):
        few_shards(folder / data)
    assert carry_out(DEMO, folder).status == 0
    return {command: carry_out(command, folder) for command in TESTED}


@pytest.mark.parametrize("command", TESTED)
def test_a_command_of_the_documents_works(command: str, results: dict[str, Ended]) -> None:
    assert results[command].status == 0, results[command].err
    assert "Traceback" not in results[command].err


def test_what_is_not_run_here_is_run_from_nothing() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for command in COVERED_BY_CI:
        assert command in COMMANDS
        assert re.search(rf"\bmake\b.* {command.split()[1]}$", script, re.MULTILINE), command


def test_there_is_an_example_of_every_verb() -> None:
    commands = {name for panel in PANELS.values() for name in panel}
    used = {shlex.split(command)[1] for command in COMMANDS if command.startswith("openclawbench ")}
    assert used == commands - {"bench"}  # docs/why/benchmarks.md
