"""Exports are read by the programs whose forms they have (`make test-exports` installs these): Harbor's models of ATIF,
and Pi."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from test_interchange import SPEAKING, SYNTHETIC

from openclawbench.release.interchange.atif import as_atif
from openclawbench.release.interchange.pi import as_pi
from openclawbench.release.interchange.session import encode_json

HARBOR = os.environ.get("OPENCLAWBENCH_TEST_HARBOR", "")  # folder with Harbor's wheel
PI = os.environ.get("OPENCLAWBENCH_TEST_PI", "")  # folder with Pi's node_modules


@pytest.fixture(scope="module")
def harbors_trajectory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Harbor's own model of a document, out of its wheel: the rest of Harbor needs another Python."""
    if not HARBOR:
        pytest.skip("only `make test-exports` downloads Harbor")
    folder = tmp_path_factory.mktemp("harbor")
    with zipfile.ZipFile(next(Path(HARBOR).glob("harbor-*.whl"))) as wheel:
        wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith("harbor/models/trajectories/")])
    for package in ("harbor", "harbor/models"):
        (folder / package / "__init__.py").touch()
    sys.path.insert(0, str(folder))
    from harbor.models.trajectories import Trajectory  # type: ignore[import-not-found]

    return Trajectory


def test_harbors_models_take_every_document(harbors_trajectory: Any) -> None:
    for session in SPEAKING:
        data = encode_json(as_atif(session, SYNTHETIC))
        read = harbors_trajectory.model_validate_json(data)
        assert without_nothing(read.to_json_dict()) == without_nothing(json.loads(data)), session.trajectory[
            "trajectory_id"
        ]


def without_nothing(value: Any) -> Any:
    """A JSON value without nulls, which Harbor leaves out of its own fields."""
    if isinstance(value, dict):
        return {name: without_nothing(entry) for name, entry in value.items() if entry is not None}
    return [without_nothing(entry) for entry in value] if isinstance(value, list) else value


@pytest.mark.skipif(not PI, reason="only `make test-exports` installs Pi")
def test_pi_opens_every_session_and_adds_up_what_it_used(tmp_path: Path) -> None:
    for number, session in enumerate(SPEAKING):
        (tmp_path / f"{number:04}.jsonl").write_bytes(b"".join(as_pi(session, SYNTHETIC)))
    program = ["node", str(Path(__file__).with_name("read_pi.mjs")), str(tmp_path), PI]
    ended = subprocess.run(program, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert answer["listed"] == len(SPEAKING)
    for totals, session in zip(answer["read"].values(), SPEAKING, strict=True):
        assert totals["calls"] == sum(
            step["action_kind"] == "tool_call" and not step["orphan"] for step in session.steps
        )
        used = [step["usage"] for step in session.steps if step["usage"]]
        for part, name in (("cacheRead", "cached_tokens"), ("output", "output_tokens"), ("cost", "cost_usd")):
            assert totals[part] == pytest.approx(sum(usage[name] or 0 for usage in used)), name
