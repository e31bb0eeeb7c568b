"""The benchmarks of asking run through, and their numbers fit together. None of them is judged here."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import judge, peers

pytestmark = pytest.mark.slow


def printed(show: object, results: object) -> str:
    console = Console(file=io.StringIO(), width=200)
    show(console, results)  # type: ignore[operator]
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_asking_is_measured_beside_bare_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "IN_FLIGHT", (8,))
    result = judge.run_benchmark(judge.Job(1, tmp_path, 0.0, answered=300, memory=(50, 100)))
    assert [(row["measure"], row["calls"]) for row in result["rows"]] == [(name, 32) for name in judge.MEASURES]
    assert all(row["cpu"] > 0 and row["peak_mb"] > 0 for row in result["rows"])
    rows = {row["measure"]: row for row in judge.medians(result["rows"])}
    assert {rows[name]["ratios"][name] for name in judge.REFERENCES} == {1.0}
    assert result["restart"]["calls"] == 301 and result["restart"]["to_first_call"] > 0
    assert "to the first new call" in printed(judge.print_results, result)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_neighbours_stand_in_one_table_and_say_why_where_they_cannot_be_measured(tmp_path: Path) -> None:
    """A loop that keeps nothing pays for everything twice; the engine at most for what was in flight at the kill."""
    ready = tmp_path / "forgetful" / "venv" / "bin"
    ready.mkdir(parents=True)
    (ready / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (ready / "python").chmod(0o755)
    (tmp_path / "forgetful" / "ready").touch()
    forgetful = peers.Peer("forgetful", "openai", [], "openai", True)
    missing = peers.Peer("missing", "missing", [str(tmp_path / "no-such-wheel.whl")], "litellm", False)
    broken = peers.Peer("broken", "openai", [], "no_such_driver", False)
    (tmp_path / "broken").symlink_to(tmp_path / "forgetful")
    todo = peers.Job([missing, forgetful, broken], 96, 8, tmp_path, {})
    result = peers.run_benchmark(todo, Console(file=io.StringIO()))
    own, absent, plain, failed = result["rows"]
    assert absent["why_not"].startswith("not installed") and absent["resume"] is None
    assert "no_such_driver" in failed["why_not"]
    assert own["why_not"] is None and own["calls_more"] == 0 and own["most_in_flight"] <= 8
    twice = {row["name"]: int(row["resume"].split()[0]) for row in (own, plain)}
    assert twice["openclawbench"] <= 8 + 4 and twice["forgetful"] >= 40
    assert " 0 never" in own["resume"]
    text = printed(peers.print_results, result)
    assert all(row["name"] in text for row in result["rows"])
