"""What several tests share: runs that none of them changes, and the scripted endpoint, which each scripts anew."""

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import child
import pytest
from asking import Endpoint, endpoint_process
from child import EXAMPLE, Ended, Ran, call, few_shards, small_raw
from drawn_once import kept_in

from openclawbench.reports import plots


@pytest.fixture(scope="session", autouse=True)
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of one run of the tests have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    child.PICTURES.append(folder / "pictures")
    return folder


@pytest.fixture(scope="module", autouse=True)
def drawn_once(shared: Path) -> Iterator[None]:
    """Pictures are kept here as in the processes that tests call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "pictures", kept_in(shared / "pictures"))
        yield


def made_once(place: Path, make: Callable[[Path], Ended]) -> Ended:
    """What `make` fills a folder with; the first process that needs it makes it, and the others wait."""
    done = place / "ended.pickle"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            ended = make(place)
            assert ended.status == 0, ended.err
            done.write_bytes(pickle.dumps(ended))
        actual_ended: Ended = pickle.loads(done.read_bytes())
    return actual_ended


def own_copy(data: Path, to: Path) -> Path:
    """A data folder of this process alone: a command that looks at it locks it. It is as valid as what it is of."""
    shutil.copytree(data, to)
    return to


@pytest.fixture(scope="session")
def example(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The whole example, labelled by the rules judge."""
    place = shared / "example"
    inputs: list[str | Path] = ["--raw", EXAMPLE / "raw", "--oracle", EXAMPLE / "oracle", "--judge", "rules"]
    ended = made_once(place, lambda new: call("run", "--data", new / "data", *inputs))
    return Ran(own_copy(place / "data", tmp_path_factory.mktemp("example") / "data"), EXAMPLE / "raw", ended)


@pytest.fixture(scope="session")
def demo(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The whole example, labelled by recorded answers, as `make demo` runs it."""
    place = shared / "demo"
    ended = made_once(place, lambda new: call("demo", "--data", new / "data"))
    return Ran(own_copy(place / "data", tmp_path_factory.mktemp("demo") / "data"), EXAMPLE / "raw", ended)


@pytest.fixture(scope="session")
def small(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Twelve sessions in two shards, undisturbed."""

    def make(new: Path) -> Ended:
        raw, data = small_raw(new / "raw"), few_shards(new / "data")
        return call("run", "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", "--json")

    place = shared / "small"
    ended = made_once(place, make)
    return Ran(own_copy(place / "data", tmp_path_factory.mktemp("small") / "data"), place / "raw", ended)


@pytest.fixture
def copy(small: Ran, tmp_path: Path) -> Path:
    """A copy of a release, in a folder whose path has blanks."""
    root = tmp_path / "a copy of it"
    shutil.copytree(small.data / "release", root)
    return root


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """An OpenAI-compatible endpoint in a process of its own."""
    with endpoint_process() as result:
        yield result


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve sessions."""
    return small_raw(tmp_path_factory.mktemp("raw"))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The Hub's library, with a cache of its own and told to be off line."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return datasets
