"""Runs that several tests look at; none of them changes what it finds here."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from child import EXAMPLE, Ended, call, few_shards, small_raw


@dataclass(frozen=True)
class Ran:
    """A data folder, the raw folder behind it, and the run that made it."""

    data: Path
    raw: Path
    ended: Ended


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The whole example, as `make demo` runs it."""
    data = tmp_path_factory.mktemp("example") / "data"
    ended = call("demo", "--data", data)
    assert ended.status == 0, ended.err
    return Ran(data, EXAMPLE / "raw", ended)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Twelve sessions in two shards, undisturbed."""
    folder = tmp_path_factory.mktemp("small")
    raw, data = small_raw(folder / "raw"), few_shards(folder / "data")
    ended = call("run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--json")
    assert ended.status == 0, ended.err
    return Ran(data, raw, ended)
