"""Shell completion: commands, options and trajectory ids, by the protocol that the scripts of the shells speak."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from child import Ran

pytestmark = pytest.mark.slow


def ask(variables: dict[str, str]) -> str:
    """What the program answers a shell."""
    environment = os.environ | variables
    program = Path(sys.executable).with_name("openclawbench")
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    return done.stdout


def bash(words: str, data: Path | None = None) -> list[str]:
    """Completions of the last word as bash asks for them."""
    variables = {
        "_OPENCLAWBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return ask(variables | ({"OPENCLAWBENCH_DATA": str(data)} if data else {})).split()


def test_commands_and_options_are_completed() -> None:
    assert bash("openclawbench re") == ["report", "release"]
    assert {"statistics", "gap", "evidence"} <= set(bash("openclawbench report "))
    assert {"--judge", "--model"} <= set(bash("openclawbench annotate --"))
    assert bash("openclawbench ben") == ["bench"]
    assert {"corpus", "release"} <= set(bash("openclawbench bench "))
    assert bash("openclawbench nothing-begins-so") == []


def test_trajectory_ids_are_completed(example: Ran, tmp_path: Path) -> None:
    names = bash("openclawbench show 2026.4.15-un", example.data)
    assert names and all(name.startswith("2026.4.15-un") for name in names)
    with_model = bash("openclawbench explain scripted-a/2026.4.15-uni", example.data)
    assert with_model and all(name.startswith("scripted-a/2026.4.15-uni") for name in with_model)
    assert bash("openclawbench show 2026", tmp_path / "nothing") == []


def test_zsh_and_fish_are_answered() -> None:
    zsh = ask({"_OPENCLAWBENCH_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "openclawbench re"})
    assert '"report"' in zsh and '"release"' in zsh
    fish = {"_OPENCLAWBENCH_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "openclawbench re"}
    assert "report" in ask(fish | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    script = ask({"_OPENCLAWBENCH_COMPLETE": f"source_{shell}"})
    assert "openclawbench" in script
    if program := shutil.which(shell):
        checked = subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr
