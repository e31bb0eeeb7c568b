"""`openclawbench bench stages`: every stage is measured, and the numbers fit together. None of them is judged here."""

import json
from pathlib import Path

import pytest
from child import call

from pipeline.flow import up_to

pytestmark = pytest.mark.slow


def test_the_cpu_stages_are_measured_beside_normalize(tmp_path: Path) -> None:
    ended = call("bench", "stages", "--scale", "0.0005", "--scratch", tmp_path, "-o", tmp_path / "out")
    assert ended.status == 0, ended.err
    found = json.loads((tmp_path / "out" / "stages.json").read_bytes())
    assert list(found["stages"]) == [stage.name for stage in up_to("packet")][1:]
    assert found["corpus"]["sessions"] == 16
    assert found["corpus"]["steps"] > 16
    after = sum(one["cpu"] for one in found["stages"].values())
    assert found["ratios"]["after_normalize_x_normalize_cpu"] == pytest.approx(after / found["normalize"]["cpu"])
    assert found["ratios"]["peak_mb"] > 0
    assert all(name in ended.text for name in (*found["stages"], *found["ratios"]))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
