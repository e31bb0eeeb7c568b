"""`--blind`: the judge sees neither outcome nor risk; nothing else changes, and the release says so."""

import json
from pathlib import Path

import polars as pl
import pytest
from child import EXAMPLE, call, few_shards

from openclawbench.construct.packet import packet
from openclawbench.records.packet import PRIORS, Packet, PacketIndex
from openclawbench.rules.construct.packet import PacketRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import open_run

assert packet.rules["rules"] is PacketRules


def table(data: Path, name: str) -> pl.DataFrame:
    parts = [pl.read_parquet(path) for path in sorted((data / "work" / name).glob("*.parquet"))]
    return pl.concat(parts).sort("source_model", "trajectory_id")


@pytest.mark.slow
def test_a_blind_packet_holds_the_session_alone(tmp_path: Path) -> None:
    data = few_shards(tmp_path / "data")
    inputs: list[str | Path] = ["--data", data, "--raw", EXAMPLE / "raw", "--oracle", EXAMPLE / "oracle"]
    assert call("packet", *inputs).status == 0
    shown, shown_index = table(data, "packet"), table(data, "packet_index")
    assert call("packet", "--data", data, "--blind").status == 0
    blind, blind_index = table(data, "packet"), table(data, "packet_index")
    assert blind.select(PRIORS).null_count().row(0) == (blind.height,) * len(PRIORS)
    assert shown.select(PRIORS).null_count().row(0) != (blind.height,) * len(PRIORS)
    others = [name for name in Packet.model_fields if name not in PRIORS]
    assert shown.select(others).equals(blind.select(others))
    assert not set(shown_index["packet_sha256"]) & set(blind_index["packet_sha256"])
    same = [name for name in PacketIndex.model_fields if name != "packet_sha256"]
    assert shown_index.select(same).equals(blind_index.select(same))

    with (data / "openclawbench.toml").open("a") as file:
        file.write("blind = true\n")
    run = call("run", "--data", data)
    assert run.status in (0, 1), run.err
    package = json.loads((data / "release" / "datapackage.json").read_text())["provenance"]
    assert package["commands"][-1].endswith("--blind"), "the file says so"
    assert package["judges"][0]["blind"] is None, "the rules judge reads no packet"
    assert package["judges"][0]["certificate"]["blind"] is None
    assert settings(DataFolder(data)).blind is True
    assert open_run(DataFolder(data), settings(DataFolder(data))).overrides["packet.toml"] == {"blind": True}

    assert call("packet", "--data", data, "--no-blind").status == 0
    assert table(data, "packet").equals(shown) and table(data, "packet_index").equals(shown_index)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("0", False)])
def test_the_environment_may_say_it(text: str, value: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCLAWBENCH_BLIND", text)
    assert settings(DataFolder(tmp_path)).blind is value


def test_it_is_true_or_false(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    ended = call("packet", "--data", tmp_path / "data", env={"OPENCLAWBENCH_BLIND": "partly"})
    assert ended.status == 2 and "neither true nor false" in ended.err
