"""A run whose judge is the scripted endpoint: the endpoint's process, the run's surroundings, what the ledger holds."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from child import EXAMPLE, environment, few_shards

from openclawbench.rules.loading.own_folder import shipped_path

KEY = "sk-canary-0123456789abcdef"
ASKING = shipped_path("asking.toml")
IMPATIENT = {"answer_s": 1.5, "first_wait_s": 0.02, "longest_wait_s": 0.2, "attempts": 25}


class Endpoint:
    """The endpoint's process, seen from a test."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def script(self, **script: Any) -> None:
        """What it is to do from now on; its log begins anew."""
        data = json.dumps(script).encode()
        request = urllib.request.Request(f"{self.url}/script", data, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).read()

    def release(self) -> None:
        """End a `hold`."""
        urllib.request.urlopen(f"{self.url}/release", b"", timeout=10).read()

    def log(self) -> dict[str, Any]:
        """What came."""
        row: dict[str, Any] = json.loads(urllib.request.urlopen(f"{self.url}/log", timeout=10).read())
        return row

    def count(self) -> int:
        """How many calls came."""
        return int(urllib.request.urlopen(f"{self.url}/count", timeout=10).read())


@contextmanager
def endpoint_process(program: str = "endpoint.py") -> Iterator[Endpoint]:
    """An endpoint for as long as it is needed; it ends with whoever started it."""
    command = [sys.executable, Path(__file__).with_name(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None and process.stdin is not None
        yield Endpoint(int(process.stdout.readline()))
        process.stdin.close()
        process.kill()


def rules(folder: Path, **values: Any) -> dict[str, str]:
    """The environment of a run: the canary key, and asking.toml with other values."""
    text = ASKING.read_text(encoding="utf-8")
    for name, value in (IMPATIENT | values).items():
        text, count = re.subn(rf"(?m)^{name} = [0-9._]+", f"{name} = {value}", text)
        assert count == 1, name
    (folder / "rules").mkdir(exist_ok=True)
    (folder / "rules" / "asking.toml").write_text(text, encoding="utf-8")
    return {"OPENAI_API_KEY": KEY, "OPENCLAWBENCH_RULES": str(folder / "rules")}


def arguments(endpoint: Endpoint, data: Path, raw: Path, *more: str, verb: str = "run") -> list[str | Path]:
    """A run that asks the endpoint."""
    judge = ["--judge", "openai", "--model", "test-model", "--base-url", f"{endpoint.url}/v1"]
    prices = ["--price-in", "1", "--price-out", "2", "--price-cached", "0.5"]
    return [verb, "--data", data, "--raw", raw, "--oracle", EXAMPLE / "oracle", *judge, *prices, *more]


def many_raw(to: Path, copies: int) -> Path:
    """The example's sessions of two models under as many more names: enough questions to kill in the midst of."""
    for number in range(copies):
        for model in ("scripted-a", "scripted-b"):
            shutil.copytree(EXAMPLE / "raw" / model, to / f"{model}-{number}")
    return to


def fresh(folder: Path) -> Path:
    """A data folder with two shards."""
    return few_shards(folder / "data")


def ledger(data: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of the ledger."""
    with closing(sqlite3.connect(data / "ledger" / "ledger.sqlite")) as connection:
        return connection.execute(query).fetchall()
