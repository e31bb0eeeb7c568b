"""`export --to scout` opens in Inspect Scout, in a real browser (`make test-scout`)."""

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

PYTHON = os.environ.get("OPENCLAWBENCH_TEST_SCOUT", "")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not PYTHON, reason="only `make test-scout` installs Inspect Scout")
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; Debian's package is called chromium")
def test_a_transcript_opens_from_the_list(tmp_path: Path) -> None:
    program = shutil.which("openclawbench", path=os.environ.get("OPENCLAWBENCH_BIN"))
    assert program and CHROMIUM
    data = tmp_path / "data"
    run = [program, "demo", "--data", str(data)]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True).returncode == 0
    export = [program, "export", "--data", str(data), "--to", "scout", "-o", str(tmp_path / "scout")]
    ended = subprocess.run(export, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    rows = pl.read_parquet(tmp_path / "scout" / "*.parquet")
    name, identity = rows.sort("task_id").select("task_id", "transcript_id").row(0)
    browse = [PYTHON, str(ROOT / "tests" / "scout" / "browse.py"), str(tmp_path / "scout"), name, port]
    environment = os.environ | {"CHROMIUM": CHROMIUM, "NO_PROXY": "127.0.0.1"}
    seen = subprocess.run(browse, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert seen.returncode == 0, seen.stderr
    page = json.loads(seen.stdout.splitlines()[-1])
    assert name in page["listed"]
    assert page["failed"] == []
    assert identity in unquote(page["address"])
    assert name in page["shown"] and page["shown"] != page["listed"]
