"""What several tests share: runs that none of them changes, and the scripted endpoint, which each scripts anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import Endpoint, endpoint_process
from child import EXAMPLE, Ran, call, few_shards, small_raw


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


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """An OpenAI-compatible endpoint in a process of its own."""
    with endpoint_process() as found:
        yield found


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sessions."""
    return small_raw(tmp_path_factory.mktemp("raw"))
