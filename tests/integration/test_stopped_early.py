"""Ctrl-C or SIGTERM while the program is still being read in: status 3 and a sentence, as at any other moment."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("which", ["SIGINT", "SIGTERM"])
def test_a_signal_while_modules_are_read_ends_with_status_3(which: str) -> None:
    """The signal comes when the first module of the program asks for it, whatever the machine is doing."""
    text = (
        "import os, signal, sys, openclawbench.__main__ as entry\n"
        "class Sent:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == 'openclawbench.cli.exit': os.kill(os.getpid(), signal.{which})\n"
        "sys.meta_path.insert(0, Sent())\n"
        "entry.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", text, "status"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr, ended.stdout) == (3, "stopped; nothing was begun\n", "")


def test_the_program_is_entered_where_ctrl_c_is_heard() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "openclawbench", "--version"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
