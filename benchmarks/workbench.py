"""The benchmark of the workbench: what its pages cost beside reading the rows that they show, a verdict beside a synced
append, and, in a browser, the list and transcripts beside those of `scout view`."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import polars as pl
from rich.console import Console

from benchmarks.corpus import write_corpus
from benchmarks.ingest import machine, rounded
from openclawbench.audit.calibration.form import CALIBRATION
from openclawbench.audit.calibration.verdicts import latest_reviews
from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.terminal import table
from openclawbench.errors import UsageError
from openclawbench.inspect.find import Key, rows_for
from openclawbench.records.calibration import CHOSEN
from openclawbench.records.fulltax import Annotation
from openclawbench.records.packet import Evidence
from openclawbench.storage.append_log import append
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workbench.desk import Desk
from openclawbench.workbench.readers.data_folder import DataReader

PAGES = 40  # trajectories that are opened
ROUNDS = 5  # of the list
VERDICTS = 25  # that are added
FORMER = 30_000  # verdicts that are there before one is added
BROWSED, BROWSER_ROUNDS = 6, 3  # sessions that are opened in a browser, and how often
BROWSERS = ("chromium-headless-shell", "chromium")
SCOUT_DRIVER = Path(__file__).with_name("scout_driver.py")
GOALS = {
    "list / polars filter and sort": 3.0,
    "trajectory / reading its rows": 2.0,
    "why / trajectory": 1.0,
    "verdict / synced append": 3.0,
    "first page, s": 2.0,
    "memory, MB": 500.0,
    "list / scout view": 0.2,
    "transcript / scout view": 0.2,
    "longest / as a file": 3.0,
}
QUERY = "label=normal&risk_bucket=low&sort=-num_steps"


def run_workbench(sessions: int, seed: int, scratch: Path | None, scout: Path | None) -> dict[str, Any]:
    """Label a made-up corpus with the rules judge, serve it, and ask for pages; nothing is left behind in `scratch`.

    `scout` is the interpreter of an environment with inspect-scout and playwright. Raises UsageError where it is none,
    or there is no Chromium.
    """
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if scout and not (chromium and scout.with_name("scout").exists()):
        raise UsageError(f"--scout {scout}: `make test-scout` and `make browser` install Inspect Scout and Chromium.")
    with tempfile.TemporaryDirectory(prefix="openclawbench-bench-", dir=scratch) as folder:
        corpus, data = Path(folder) / "corpus", Path(folder) / "data"
        written = write_corpus(corpus, sessions, seed)
        command = [sys.executable, "-m", "openclawbench"]
        inputs = ["--data", str(data), "--raw", str(corpus / "raw"), "--oracle", str(corpus / "oracle")]
        last = "merge" if scout else "annotate"
        subprocess.run([*command, last, *inputs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        measures = measure_pages(command, data)
        if scout:
            measures |= measure_scout(command, data, scout, str(chromium), Path(folder) / "scout")
        measures |= measure_verdict(data)
    return {
        "machine": machine(),
        "corpus": {"sessions": written.sessions, "bytes": written.bytes, "seed": seed},
        "measures": measures,
        "ratios": ratios(measures),
        "goals": GOALS,
    }


def measure_pages(command: list[str], data: Path) -> dict[str, float]:
    """Seconds of pages over HTTP and of the reading that they are compared with, and the memory of the server."""
    begun = time.perf_counter()
    with subprocess.Popen([*command, "view", str(data)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        base = address.partition("/?")[0]
        with httpx.Client(follow_redirects=True, timeout=120) as http:
            http.get(address).raise_for_status()
            measures = {"first page": time.perf_counter() - begun}
            measures["overview"] = best(lambda: http.get(f"{base}/"))
            measures["list"] = best(lambda: http.get(f"{base}/t"))
            measures["list, filtered"] = best(lambda: http.get(f"{base}/t?{QUERY}"))
            reader = DataReader(data)
            measures["polars filter and sort"] = best(lambda: filter_and_sort(reader.index))
            keys = list(reader.keys.values())[:: max(1, len(reader.keys) // PAGES)][:PAGES]
            opened, read, asked = [], [], []
            for key in keys:
                path = f"{key.source_model}/{key.trajectory_id}"
                opened.append(seconds(partial(http.get, f"{base}/t/{path}")))
                asked.append(seconds(partial(http.get, f"{base}/why/{path}?step=1")))
                read.append(seconds(partial(read_rows, reader, key)))
            measures |= {"trajectory": median(opened), "reading its rows": median(read), "why": median(asked)}
            status = Path(f"/proc/{server.pid}/status").read_text()
            measures["memory"] = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
        server.terminate()
    return measures


def read_rows(reader: DataReader, key: Key) -> None:
    """Read what a page of a trajectory shows."""
    for kind in (Evidence, Annotation):
        rows_for(reader.run, kind, key)


def filter_and_sort(index: pl.DataFrame) -> pl.DataFrame:
    """What the filtered list asks of the index."""
    kept = index.filter(pl.col("label") == "normal", pl.col("risk_bucket") == "low")
    return kept.sort("num_steps", "source_model", "trajectory_id", descending=[True, False, False])


def measure_scout(command: list[str], data: Path, scout: Path, chromium: str, export: Path) -> dict[str, float]:
    """Median seconds until list and transcript are visible in a browser, here and in `scout view`, by turns."""
    export_command = [*command, "export", "--to", "scout", "-o", str(export), "--data", str(data)]
    subprocess.run(export_command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    longest = DataReader(data).index.sort("num_steps", descending=True).select("source_model", "trajectory_id").rows()
    sessions = [longest[0], *longest[1 :: max(1, len(longest) // BROWSED)]][:BROWSED]
    with subprocess.Popen([*command, "view", str(data)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().split()[-1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        driver = [str(scout), "-P", str(SCOUT_DRIVER), str(export), address, port, str(BROWSER_ROUNDS)]
        ended = subprocess.run(
            driver,
            input=json.dumps(sessions),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=os.environ | {"CHROMIUM": chromium},
        )
        server.terminate()
    by_measure = json.loads(ended.stdout)
    return {
        f"{what} in a browser, {tool}": median(times)
        for what, by_tool in by_measure.items()
        for tool, times in by_tool.items()
    }


def measure_verdict(data: Path) -> dict[str, float]:
    """Seconds of a verdict with FORMER records before it, and of one append that is synced."""
    folder = DataFolder(data)
    desk = Desk(folder)
    reader = DataReader(data)
    decided = reader.index.filter(pl.col("label") != "undecided").select("source_model", "trajectory_id").row(0)
    trajectory = reader.trajectory(*decided)
    record = {**trajectory, **trajectory["label"], "slice_label": None}
    blank = dict.fromkeys(CALIBRATION.answers, "") | {"human_anomaly_label": "normal"}
    desk.submit_chosen(record, blank, "first")
    path = folder.review_file(CALIBRATION.file)
    (only,) = latest_reviews(desk.logs[CALIBRATION.name].refresh())
    lines = (
        canonical_json(only.model_dump() | {"reviewer": f"reviewer {number}"}).encode() + b"\n"
        for number in range(FORMER)
    )
    append(path, lines)
    row = next(iter(desk.samples(CALIBRATION)[CHOSEN]))
    desk.logs[CALIBRATION.name].refresh()
    other = folder.review_file("appended.jsonl")
    shutil.copyfile(path, other)
    line = b"x" * 700 + b"\n"
    verdict, synced = [], []
    for number in range(VERDICTS):  # by turns, since a disk is busy for seconds at a time
        answers = blank | {"audit_comment": str(number)}
        verdict.append(seconds(partial(desk.submit, CHOSEN, row, answers, "ada")))
        synced.append(seconds(partial(synced_append, other, line)))
    return {"verdict": median(verdict), "synced append": median(synced)}


def synced_append(path: Path, line: bytes) -> None:
    """One line at the end of a file, on the disk."""
    with path.open("ab") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def best(work: Callable[[], Any]) -> float:
    """The shortest of some rounds."""
    return min(seconds(work) for _ in range(ROUNDS))


def ratios(measures: dict[str, float]) -> dict[str, float]:
    """What the goals are about."""
    place = "in a browser"
    browser = {
        "list / scout view": (f"list {place}, workbench", f"list {place}, scout view"),
        "transcript / scout view": (f"transcript {place}, workbench", f"transcript {place}, scout view"),
        "longest / as a file": (f"longest {place}, workbench", f"longest {place}, file"),
    }
    return {
        "list / polars filter and sort": measures["list, filtered"] / measures["polars filter and sort"],
        "trajectory / reading its rows": measures["trajectory"] / measures["reading its rows"],
        "why / trajectory": measures["why"] / measures["trajectory"],
        "verdict / synced append": measures["verdict"] / measures["synced append"],
        "first page, s": measures["first page"],
        "memory, MB": measures["memory"],
        **{name: measures[own] / measures[compared] for name, (own, compared) in browser.items() if own in measures},
    }


def print_workbench(console: Console, results: dict[str, Any]) -> None:
    """A line a measure, then what has a goal."""
    corpus = results["corpus"]
    size = f"{corpus['sessions']} sessions, {corpus['bytes'] / 1e6:.0f} MB"
    console.print(f"{size}, seed {corpus['seed']}; {results['machine']}\n")
    rows = [[name, rounded(value if name == "memory" else 1000 * value)] for name, value in results["measures"].items()]
    console.print(table(None, ("measure", "ms (memory: MB)"), rows))
    console.print()
    goals = [[name, rounded(value), results["goals"][name]] for name, value in results["ratios"].items()]
    console.print(table(None, ("ratio", "value", "goal: at most"), goals))
