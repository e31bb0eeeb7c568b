"""What a person reads who did not write the program: help in order, how a run ended and why, colour, completion."""

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from child import EXAMPLE, ROOT, Ran, call, environment

from openclawbench.cli.app import PANELS

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def test_help_lists_every_command_in_a_panel_and_promises_nothing() -> None:
    ended = call("--help", env={"COLUMNS": "80"})
    assert ended.status == 0
    assert [line[:-1] for line in ended.text.splitlines() if re.fullmatch(r"[A-Z][^:]*:", line)] == ["Options", *PANELS]
    assert max(map(len, ended.text.splitlines())) <= 80
    assert "audited" not in ended.text
    assert "..." not in ended.text.replace("[ARGS]...", "")


def test_commands_are_completed() -> None:
    asked = {"_OPENCLAWBENCH_COMPLETE": "complete_bash", "COMP_WORDS": "openclawbench whati", "COMP_CWORD": "1"}
    ended = call(env=asked)
    assert (ended.status, ended.text.split()) == (0, ["whatif"]), ended.err


def test_a_run_says_what_the_splits_came_to(small: Ran, tmp_path: Path) -> None:
    printed = small.ended.json
    total = {(row["cut"], row["side"]): row["records"] for row in printed["splits"]}
    lines = (small.data / "release" / "silver_test_labels.jsonl").read_text().splitlines()
    assert total["default_cut", "test"] == len(lines)
    assert printed["exit"] == {"status": 0, "why": []}
    data = tmp_path / "data"
    shutil.copytree(small.data, data)
    shutil.rmtree(data / "release")
    ended = call("run", "--data", data)
    assert f"splits   train {total['default_cut', 'train']} (" in ended.text
    assert [f"warning: {caution}" for caution in printed["cautions"]] == [
        line for line in ended.err.splitlines() if line.startswith("warning: ")
    ]


def test_exit_status_1_is_explained_in_the_last_line(small: Ran, tmp_path: Path) -> None:
    raw, data = tmp_path / "raw", tmp_path / "data"
    (raw / "m").mkdir(parents=True)
    shutil.copy(EXAMPLE / "raw" / "scripted-a" / "2026.4.15-unicode.jsonl", raw / "m")
    (raw / "m" / "broken.jsonl").write_text("junk\n")
    (tmp_path / "outcomes.jsonl").write_text("junk\n")
    ended = call("run", "--to", "fuse", "--data", data, "--raw", raw, "--oracle", tmp_path / "outcomes.jsonl")
    assert ended.status == 1
    assert ended.err.splitlines()[-1] == (
        "exit status 1: 1 file quarantined; 1 fault in outcomes or the run manifest; fuse is done, without them. "
        "`openclawbench status` lists each with what to do."
    )
    status = call("status", "--data", data).text
    assert "broken.jsonl" in status
    assert "outcomes.jsonl" in status


def on_a_terminal(columns: int, *arguments: str | Path, **more: str) -> str:
    """What `openclawbench ARGUMENTS` writes on a terminal of so many columns."""
    code = "import sys; from openclawbench.cli.app import main; sys.argv[0] = 'openclawbench'; main()"
    controller, terminal = pty.openpty()
    env = environment({"TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "40"} | more)
    asked = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(asked, stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=ROOT):
        os.close(terminal)
        written = b""
        while True:
            try:
                written += (more_bytes := os.read(controller, 65536))
            except OSError:  # the other side is closed
                break
            if not more_bytes:
                break
    os.close(controller)
    return written.decode().replace("\r", "")


@pytest.mark.parametrize("columns", [72, 100])
def test_tables_fit_the_terminal(columns: int, small: Ran) -> None:
    for asked in (["status", "--data", small.data], ["doctor", EXAMPLE / "raw"]):
        lines = ESCAPE.sub("", on_a_terminal(columns, *asked)).splitlines()
        tables = [line for line in lines if "│" in line or "━" in line]
        assert tables
        assert max(map(len, tables)) <= columns


def test_a_terminal_has_colour_unless_told_otherwise(tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[31mb"
    with_colour, without = (on_a_terminal(100, "doctor", hostile, **more) for more in ({}, {"NO_COLOR": "1"}))
    assert "\x1b[31merror: " in with_colour
    assert "\x1b[31m" not in without
    assert "a\\x1b[31mb" in with_colour  # what comes from outside is written out, never acted upon
    assert ESCAPE.sub("", with_colour) == ESCAPE.sub("", without)
