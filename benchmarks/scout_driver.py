"""Opens a list and transcripts in the workbench and in `scout view`, in the same browser, by turns.

Run in an environment with inspect-scout and playwright, where the pipeline is not: `python scout_driver.py FOLDER
ADDRESS PORT ROUNDS < SESSIONS`. FOLDER is an export for Inspect Scout, ADDRESS that of a running workbench with its
token, and SESSIONS a JSON list of [source_model, trajectory_id], the longest first. The browser is the one that
CHROMIUM names. Prints one JSON object: the seconds of every opening, {"list": {tool: [...]}, "transcript": {tool:
[...]}, "longest": {"workbench": [...], "file": [...]}}.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

ANSWERS_WITHIN_S = 120.0
SHOWN_WITHIN_MS = 120_000
ROW = {"workbench": "table.rows tbody tr", "scout view": "tbody tr td[title]"}  # its "Loading..." is a row, too
MESSAGE = {"workbench": "article .step", "scout view": "#transcript-messages-contents [id$='-tool-call-0']"}


def main(folder: str, address: str, port: str, rounds: str) -> None:
    """Start `scout view` on the export and open pages in both.

    Not after `scout db index`: on 31,264 sessions it made Scout's transcripts slower (2.3 s instead of 1.3).
    """
    scout = Path(sys.executable).with_name("scout")
    base = {"workbench": address.partition("/?")[0], "scout view": f"http://127.0.0.1:{port}"}
    sessions = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as own, (Path(own) / "log").open("wb") as log:
        command = [str(scout), "view", "--port", port, "-T", folder, "--no-browser"]
        server = subprocess.Popen(command, cwd=own, stdout=log, stderr=log)
        try:
            wait_for(base["scout view"], server)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
                context = browser.new_context(viewport={"width": 1360, "height": 900})
                context.new_page().goto(address)  # signs in
                print(json.dumps(measure(context, base, folder, sessions, int(rounds))))
                browser.close()
        finally:
            server.terminate()
            server.wait(10)


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    """Return as soon as the server answers."""
    end = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise SystemExit(f"scout view did not answer at {address}")


def measure(
    context: BrowserContext, base: dict[str, str], folder: str, sessions: list[list[str]], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Seconds until the first row of the list is visible, and until the first step of each session is.

    The list is opened in a new tab. A session is opened from there by its address, which is what a click on its row
    does: another page in the workbench, the same page in Scout, whose script is loaded by then.
    """
    seconds: dict[str, dict[str, list[float]]] = {"list": {}, "transcript": {}, "longest": {}}
    uri = base64.urlsafe_b64encode(Path(folder).absolute().as_uri().encode()).decode().rstrip("=")
    for number in range(rounds):
        for source_model, trajectory_id in sessions if number else sessions[:1]:  # the first round fills caches
            for tool, server in base.items():
                page = context.new_page()
                page.set_default_timeout(SHOWN_WITHIN_MS)
                if tool == "workbench":
                    first, then = "/t", f"/t/{quoted(source_model)}/{quoted(trajectory_id)}"
                else:
                    first, then = "/#/transcripts", f"/#/transcripts/{uri}/{quoted(f'{source_model}:{trajectory_id}')}"
                listed = shown(page, lambda page=page, to=server + first: page.goto(to, wait_until="commit"), ROW[tool])
                go = f"location.href = {json.dumps(server + then)}"
                opened = shown(page, lambda page=page, go=go: page.evaluate(go), MESSAGE[tool])
                if number:
                    seconds["list"].setdefault(tool, []).append(listed)
                    seconds["transcript"].setdefault(tool, []).append(opened)
                page.close()
    longest = base["workbench"] + f"/t/{quoted(sessions[0][0])}/{quoted(sessions[0][1])}"
    with tempfile.TemporaryDirectory() as own:
        file = Path(own) / "page.html"
        file.write_bytes(context.request.get(longest).body())
        for _ in range(rounds):
            for name, address in (("workbench", longest), ("file", file.as_uri())):
                page = context.new_page()
                opened = shown(
                    page, lambda page=page, to=address: page.goto(to, wait_until="commit"), MESSAGE["workbench"]
                )
                seconds["longest"].setdefault(name, []).append(opened)
                page.close()
    return seconds


def quoted(part: str) -> str:
    """A part of an address."""
    return urllib.parse.quote(part, safe=":")


def shown(page: Page, go: Callable[..., Any], what: str) -> float:
    """Seconds from going there until it is visible."""
    begun = time.perf_counter()
    go()
    page.locator(what).first.wait_for()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(*sys.argv[1:])
