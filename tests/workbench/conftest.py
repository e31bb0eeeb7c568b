"""A workbench over a copy of the example, reached as a browser reaches it; and the browser."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

import child
from child import EXAMPLE, call
from serving import LOOPBACK, Served, Visitor

from openclawbench.workbench.server import in_background, prepare

BROWSERS = ("chromium-headless-shell", "chromium")


@pytest.fixture(scope="session", autouse=True)
def pictures(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the command keeps pictures that it has drawn, between calls of one test process."""
    child.PICTURES.append(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's data folder, labelled by the rules judge. Nobody writes to it."""
    root = tmp_path_factory.mktemp("demo") / "data"
    inputs = ["--raw", EXAMPLE / "raw", "--oracle", EXAMPLE / "oracle"]
    ended = call("run", "--data", root, *inputs, "--judge", "rules")
    assert ended.status == 0, ended.err
    return root


@pytest.fixture
def data(demo: Path, tmp_path: Path) -> Path:
    """A copy of it, of this test alone."""
    return Path(shutil.copytree(demo, tmp_path / "data"))


@pytest.fixture
def served(data: Path) -> Iterator[Served]:
    """A workbench over that copy; its first visitor is an auditor."""
    with in_background(prepare(data, name="ada")) as address:
        yield Served(address, data)


@pytest.fixture
def auditor(served: Served) -> Visitor:
    return served.visitor()


@pytest.fixture(scope="session")
def read_only(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workbench for tests that change nothing. A copy: whose labels its person has seen is written."""
    data = Path(shutil.copytree(demo, tmp_path_factory.mktemp("read-only") / "data"))
    with in_background(prepare(data, name="ada")) as address:
        yield Served(address, data)


@pytest.fixture(scope="session")
def reader(read_only: Served) -> Visitor:
    """An auditor who changes nothing."""
    return read_only.visitor()


# ---- the browser


def program() -> str | None:
    """The browser of this machine: Debian's headless Chromium, or the one that CHROMIUM names."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """How the browser is started. Without one the tests are skipped; with CI=true that is a failure."""
    path = program()
    if path is None and os.environ.get("CI") == "true":
        pytest.fail("there is no Chromium: `make browser` installs it")
    if path is None:
        pytest.skip("there is no Chromium: `make browser` installs it")
    return {"executable_path": path, "args": ["--no-sandbox"] if os.geteuid() == 0 else []}


@pytest.fixture
def context(context: BrowserContext) -> Iterator[BrowserContext]:
    """A window in which no request leaves this machine, and no script fails."""
    away: list[str] = []

    def note(address: str) -> None:
        if not address.startswith((f"http://{LOOPBACK}:", "data:", "blob:", "file:")):
            away.append(address)

    context.on("request", lambda request: note(request.url))
    yield context
    assert away == []


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A page on which no script has failed."""
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    yield page
    assert failed == []


@pytest.fixture
def free_port() -> int:
    with socket.socket() as result:
        result.bind((LOOPBACK, 0))
        return int(result.getsockname()[1])
