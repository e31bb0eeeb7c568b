"""What `doctor` says of the programs that a collection needs."""

from pathlib import Path

import pytest

from openclawbench.collect.programs_found import programs_found

VARIABLES = ("OPENCLAWBENCH_NODE", "OPENCLAWBENCH_OPENCLAW", "OPENCLAWBENCH_BFCL_PYTHON")


def test_each_program_is_looked_for_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    for missing in VARIABLES:
        for name in VARIABLES:
            monkeypatch.setenv(name, "/nowhere/at/all" if name == missing else installed[name])
        rows = {row["program"]: row for row in programs_found()}
        versions = {name: row["version"] for name, row in rows.items()}
        expected = {"node": "v24.1.0", "openclaw": "2026.6.11", "bfcl-eval": "1.0", "mcp": versions["mcp"]}
        gone = dict(zip(VARIABLES, ("node", "openclaw", "bfcl-eval"), strict=True))[missing]
        assert versions == expected | {gone: None}
        assert rows[gone]["place"] is None and " install " in rows[gone]["install"]


def test_a_program_that_is_too_old_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: dict[str, str]
) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, installed[name])
    old = tmp_path / "old-node"
    old.write_text("#!/bin/sh\necho v18.20.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("OPENCLAWBENCH_NODE", str(old))
    row = programs_found()[0]
    assert row["problem"] == f"{old} is Node v18.20.1; OpenClaw needs 22.19 or newer."
