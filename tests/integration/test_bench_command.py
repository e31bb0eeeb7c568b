"""`openclawbench bench stages`: every stage is measured, and the numbers fit together. None of them is judged here."""

import io
import json
from pathlib import Path

import pytest
from child import call
from rich.console import Console

from benchmarks.end_to_end import growth, print_end_to_end, run_end_to_end
from openclawbench.flow import stages_up_to

pytestmark = pytest.mark.slow


def test_the_cpu_stages_are_measured_beside_normalize(tmp_path: Path) -> None:
    ended = call("bench", "stages", "--scale", "0.0005", "--scratch", tmp_path, "-o", tmp_path / "out")
    assert ended.status == 0, ended.err
    document = json.loads((tmp_path / "out" / "stages.json").read_bytes())
    assert list(document["stages"]) == [stage.name for stage in stages_up_to("packet")][1:]
    assert document["corpus"]["sessions"] == 16
    assert document["corpus"]["steps"] > 16
    after = document["after"]["cpu"]
    assert 0 < sum(entry["cpu"] for entry in document["stages"].values()) <= after
    assert document["ratios"]["after_normalize_x_normalize_cpu"] == pytest.approx(after / document["normalize"]["cpu"])
    assert document["whole"]["shards"] == document["stages"]["packet"]["shards"]
    assert document["goals"]["raw_to_packets_s"] == pytest.approx(60 * 16 / 31264)
    assert document["ratios"]["peak_mb"] > 0
    assert all(name in ended.text for name in (*document["stages"], *document["ratios"]))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.thorough
def test_everything_is_measured_beside_its_reference(tmp_path: Path) -> None:
    end_to_end = run_end_to_end([6, 12], 1, False, tmp_path)
    assert [size["sessions"] for size in end_to_end["sizes"]] == [6, 12]
    measures = end_to_end["sizes"][-1]["measures"]
    assert measures["read_evidence"]["rows"] == 12
    assert measures["copy_lines"]["lines"] >= 12
    assert measures["processes"]["shards"] == measures["bare_pool"]["shards"] == measures["packet"]["shards"]
    ratio = end_to_end["ratios"]["packet_x_reference_cpu"]
    assert ratio == pytest.approx(measures["packet"]["cpu"] / measures["reference"]["cpu"])
    assert set(end_to_end["growth"]) == {"packet", "annotate", "release", "whole"}
    console = Console(file=io.StringIO(), width=200)
    print_end_to_end(console, end_to_end)
    text = console.file.getvalue()
    assert all(name in text for name in (*end_to_end["ratios"], "ms a session", "R2"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_made_up_records_are_released_on_one_process_and_on_two(tmp_path: Path) -> None:
    command = ("bench", "size", "--records", "12", "--records", "24", "--scratch", tmp_path, "-o", tmp_path / "out")
    ended = call(*command)
    assert ended.status == 0, ended.err
    results = json.loads((tmp_path / "out" / "size.json").read_bytes())
    for size, measure in results["measures"].items():
        for processes in ("one process", "two processes"):
            parts = measure[processes]
            assert parts["release"]["records"] == int(size)
            assert {"near", "split", "search_text", "summarize"} <= parts["corpus"]["parts"].keys()
            assert min(part["peak_mb"] for part in parts.values()) > 50
        assert measure["two processes"]["release"]["worker_mb"] > 50
        assert 0 < measure["reference"]["ceiling"] < 5
    assert "kB a record" in ended.text and "this machine's own ceiling" in ended.text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_line_through_cost_is_the_straight_one() -> None:
    sizes = [{"sessions": n, "measures": {"packet": {"cpu": 0.5 + 0.002 * n}}} for n in (10, 30, 100)]
    assert growth(sizes, "packet") == pytest.approx({"ms_per_session": 2.0, "intercept_s": 0.5, "r2": 1.0})
