"""A part of a work table that is there and cannot be read: every command that reads it says which, and what to do."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from child import Ran, call

from openclawbench.rules.loading.own_folder import shipped_path

pytestmark = pytest.mark.slow

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "no_parquet": lambda _: b"garbage\n",
    "torn": lambda content: content[:-100],
    "spoilt": lambda content: content[:4] + b"\xff" * (len(content) // 2) + content[4 + len(content) // 2 :],
}


@pytest.fixture(scope="module")
def data(example: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, whole."""
    data = tmp_path_factory.mktemp("damaged") / "data"
    shutil.copytree(example.data, data)
    return data


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_part_is_named_with_what_to_do(data: Path, name: str, tmp_path: Path) -> None:
    part = max((data / "work" / "step").glob("*.parquet"), key=lambda path: path.stat().st_size)
    held = pl.read_parquet(part, columns=["source_model", "trajectory_id"]).row(0)
    rules = shipped_path("describe.toml").read_bytes()
    (tmp_path / "describe.toml").write_bytes(rules.replace(b'version = "', b'version = "x', 1))
    commands = [
        ["report", "evidence"],
        ["audit", "sample-events"],
        ["export", "normalize"],
        ["explain", "/".join(held)],
        ["whatif", "--rules", tmp_path],
    ]
    content = part.read_bytes()
    part.write_bytes(DAMAGE[name](content))
    says = f"{part}: is damaged, and cannot be read. Remove it and run `openclawbench run --data {data}`"
    for words in commands:
        ended = call(*words, "--data", data)
        assert ended.status == 2, words
        assert ended.err.splitlines()[-1].startswith(f"error: {says}"), words
        assert "Traceback" not in ended.err
    shutil.rmtree(data / "work" / "descriptor")
    if name == "spoilt":  # a run sees of the others that they are none, and makes them again
        ended = call("merge", "--judge", "rules", "--data", data)
        assert (ended.status, says in ended.err, "Traceback" in ended.err) == (1, True, False)
        part.unlink()
    assert call("merge", "--judge", "rules", "--data", data).status == 0
    assert pl.read_parquet(part).equals(pl.read_parquet(io.BytesIO(content)))
