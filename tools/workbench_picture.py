"""The picture of the workbench in README and guide: `python -m tools.workbench_picture`.

Runs the demo in a temporary folder, opens one trajectory in Debian's headless Chromium and writes
docs/assets/workbench.png.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from openclawbench.workbench.server import in_background, prepare

PICTURE = Path(__file__).parents[1] / "docs" / "assets" / "workbench.png"
TRAJECTORY = "scripted-a/2026.6.11-error-escalation.957ec224"
BROWSERS = ("chromium-headless-shell", "chromium")


def main() -> None:
    """Write the picture."""
    browser_path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_path is None:
        raise SystemExit("There is no Chromium: `make browser` installs it.")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "demo"
        command = [sys.executable, "-m", "openclawbench", "demo", "--data", str(data)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with in_background(prepare(data, name="auditor")) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 760})
            page.goto(address)
            page.goto(f"{address.partition('?')[0]}t/{TRAJECTORY}")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=PICTURE)
            browser.close()
    print(f"{PICTURE} is written")


if __name__ == "__main__":
    main()
