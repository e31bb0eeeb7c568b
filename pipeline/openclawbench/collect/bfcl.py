"""The user's own installation of bfcl-eval: this program starts it as a process of its own and never imports it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from openclawbench.base.terminal import flat
from openclawbench.errors import UsageError

ENVIRONMENT = "OPENCLAWBENCH_BFCL_PYTHON"
PROGRAMS = Path(__file__).parent / "programs"
# What the tasks, the classes and the evaluator import. `pip install bfcl-eval` alone installs 6.3 GB.
NEEDED = (
    "numpy pandas tqdm filelock python-dotenv openai tenacity overrides mpmath networkx requests beautifulsoup4 "
    "html2text rank_bm25 tree_sitter==0.21.3 tree-sitter-java==0.21.0 tree-sitter-javascript==0.21.4"
)
INSTALL = (
    f"python3 -m venv bfcl && bfcl/bin/pip install --no-deps bfcl-eval && bfcl/bin/pip install {NEEDED} && "
    f"export {ENVIRONMENT}=$PWD/bfcl/bin/python"
)
TIMEOUT_S = 3600.0


def find_bfcl(option: Path | None) -> Path:
    """The Python that has bfcl-eval: the one given, that of OPENCLAWBENCH_BFCL_PYTHON, or ./bfcl/bin/python.

    UsageError with the command that installs it where there is none.
    """
    named = option or (Path(value) if (value := os.environ.get(ENVIRONMENT)) else None)
    path = named or Path("bfcl/bin/python")
    if not path.is_file():
        raise UsageError(f"{path}: does not exist; it should be a Python that has bfcl-eval. Install it: {INSTALL}")
    return path.absolute()


def run_bfcl(python: Path, program: str, request: Any) -> Any:
    """What a program of programs/ prints for a request. UsageError with the end of its messages if it fails."""
    command = [str(python), str(PROGRAMS / program)]
    try:
        ended = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{python}: cannot run {program}: {error}.") from error
    if ended.returncode == 0:
        return json.loads(ended.stdout)
    last = flat(ended.stderr.strip().splitlines()[-1]) if ended.stderr.strip() else f"exit status {ended.returncode}"
    if "ModuleNotFoundError" in last:
        raise UsageError(f"{python}: {last}. Install what is missing: {INSTALL}")
    raise UsageError(f"{python}: {program} failed: {last}.")


def clean_environment() -> dict[str, str]:
    """The environment of a child without any key of the user's: only what a program needs to start."""
    return {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE") if name in os.environ
    }
