"""Opens a folder's transcripts in `scout view` with Chromium and clicks on one: `python browse.py FOLDER NAME PORT`.

Runs in an environment with inspect-scout and playwright. Prints one JSON object: the text of the list, that of the
transcript that was clicked on, the address then, and every answer of the server with a status of 400 or more.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

ANSWERS_WITHIN = 60.0  # seconds until the server answers
SETTLED = 20_000  # milliseconds until a page shows what it is to show


def wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    """Returns as soon as the server answers."""
    end = time.monotonic() + ANSWERS_WITHIN
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise SystemExit(f"scout view did not answer at {address}")


def main(folder: str, name: str, port: str) -> None:
    scout = Path(sys.executable).with_name("scout")
    with tempfile.TemporaryDirectory() as own, (Path(own) / "log").open("wb") as log:
        command = [scout, "view", "--port", port, "-T", folder, "--no-browser"]
        server = subprocess.Popen(command, cwd=own, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/", server)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
                page = browser.new_page()
                failed: list[str] = []
                page.on(
                    "response",
                    lambda response: (
                        failed.append(f"{response.status} {response.url}") if response.status >= 400 else None
                    ),
                )
                page.goto(f"http://127.0.0.1:{port}/#/transcripts")
                row = page.get_by_text(name).first
                row.wait_for(timeout=SETTLED)
                listed = page.inner_text("body")
                row.click()
                page.wait_for_url(lambda url: "/transcripts/" in url or "/transcript/" in url, timeout=SETTLED)
                page.wait_for_load_state("networkidle", timeout=SETTLED)
                time.sleep(1)
                shown, address = page.inner_text("body"), page.url
                browser.close()
            print(json.dumps({"listed": listed, "shown": shown, "address": address, "failed": failed}))
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    main(*sys.argv[1:])
