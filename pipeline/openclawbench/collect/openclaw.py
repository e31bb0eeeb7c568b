"""The user's installation of OpenClaw: its place, and the home directory of one of its processes."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclawbench.collect.plan import SERVER, UNASKED, SourceModel
from openclawbench.errors import UsageError

ENVIRONMENT = "OPENCLAWBENCH_OPENCLAW"
NODE_ENVIRONMENT = "OPENCLAWBENCH_NODE"
TRIED = ("2026.6.11", "2026.9.6")  # releases that a collection was made with
INSTALL = (
    f"npm install --prefix openclaw --ignore-scripts openclaw@{TRIED[0]} && "
    f"export {ENVIRONMENT}=$PWD/openclaw/node_modules/openclaw"
)
INSTALL_NODE = (
    f"npm install --prefix node24 node@24 && export {NODE_ENVIRONMENT}=$PWD/node24/node_modules/node/bin/node"
)
OLDEST_NODE = (22, 19)
REDACTS_ALWAYS = [2026, 7]  # 2026.9 refuses the setting that 2026.6 has; what lies between was not tried
# In the agent's environment; its configuration names them. The key is the relay's token, never the endpoint's key.
KEY_VARIABLE, URL_VARIABLE = "ENDPOINT_KEY", "ENDPOINT_URL"
PROVIDER = "endpoint"
# Tools of OpenClaw that leave the machine or outlive the task; the agent has none of them in either mode.
DENIED = ("web_fetch", "web_search", "browser", "message", "cron", "gateway", "nodes", "tts")


@dataclass(frozen=True)
class OpenClaw:
    """An installed release. `package`: the folder of the npm package."""

    node: Path
    package: Path
    version: str


def find_openclaw(package: Path | None, node: Path | None) -> OpenClaw:
    """The installation given, that of OPENCLAWBENCH_OPENCLAW and OPENCLAWBENCH_NODE, or that on the PATH.

    UsageError with the command that installs what is missing.
    """
    folder, version = find_package(package)
    return OpenClaw(find_node(node)[0], folder, version)


def find_package(package: Path | None) -> tuple[Path, str]:
    """(folder, version) of the npm package. UsageError with the command that installs it."""
    folder = package or (Path(value) if (value := os.environ.get(ENVIRONMENT)) else None)
    if folder is None and (program := shutil.which("openclaw")):
        folder = Path(program).resolve().parent
    if folder is None:
        raise UsageError(f"OpenClaw is not installed here. Install it: {INSTALL}")
    try:
        version = json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{folder}: is not the folder of the npm package openclaw. Install it: {INSTALL}") from error
    return folder.absolute(), str(version)


def find_node(option: Path | None) -> tuple[Path, str]:
    """(program, version) of a Node that is new enough for OpenClaw. UsageError with the command that installs one."""
    named = option or (Path(value) if (value := os.environ.get(NODE_ENVIRONMENT)) else None)
    program = str(named) if named else shutil.which("node")
    if program is None or not Path(program).is_file():
        raise UsageError(f"{program or 'node'}: does not exist. Install it: {INSTALL_NODE}")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_NODE:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise UsageError(
            f"{program} is Node {version or 'of an unknown version'}; OpenClaw needs {oldest} or newer. "
            f"Install it: {INSTALL_NODE}"
        )
    return Path(program).absolute(), version


def configuration(source: SourceModel, home: Path, serve: list[str], version: str) -> dict[str, Any]:
    """openclaw.json of a home. `serve`: the command of the MCP server."""
    model = f"{PROVIDER}/{source.model}"
    price = source.price or UNASKED  # OpenClaw has no word for a price that is not known
    cost = {"input": price.input, "output": price.output, "cacheRead": price.cached, "cacheWrite": 0}
    return {
        "models": {
            "mode": "merge",
            "providers": {
                PROVIDER: {
                    "baseUrl": f"${{{URL_VARIABLE}}}",
                    "apiKey": f"${{{KEY_VARIABLE}}}",
                    "api": "openai-completions",
                    "models": [
                        {
                            "id": source.model,
                            "name": source.model,
                            "reasoning": source.reasoning,
                            "input": ["text"],
                            "cost": cost,
                            "contextWindow": source.context_window,
                            "maxTokens": source.max_tokens,
                        }
                    ],
                }
            },
        },
        "agents": {
            "defaults": {
                "model": {"primary": model},
                "models": {model: {"params": source.parameters} if source.parameters else {}},
                "workspace": str(home / ".openclaw" / "workspace"),
            }
        },
        "gateway": {"mode": "local"},
        "logging": {"redactSensitive": "off"} if can_disable_masking(version) else {},
        "plugins": {"allow": ["memory-core"], "entries": {"memory-core": {"enabled": True}}},
        "mcp": {"servers": {SERVER: {"command": serve[0], "args": serve[1:], "supportsParallelToolCalls": True}}},
        # Without toolSearch false, 2026.9 hides the functions behind a search, and a call of one is "not found".
        "tools": {
            **({"allow": ["bundle-mcp"]} if source.mode == "functions" else {"deny": list(DENIED)}),
            "toolSearch": False,
        },
    }


def can_disable_masking(version: str) -> bool:
    """True if a release can be configured not to write *** for arguments that look secret (the call itself has what the
    model said). Nothing in a BFCL task is secret, and a session is searched for the endpoint's key before it is
    used."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return numbers < REDACTS_ALWAYS


def make_home(home: Path, source: SourceModel, state: Path, version: str) -> None:
    """Make a fresh home in place of what was there."""
    shutil.rmtree(home, ignore_errors=True)
    folder = home / ".openclaw"
    folder.mkdir(parents=True)
    serve = [sys.executable, "-P", "-m", "openclawbench.collect.serve", str(state)]
    text = json.dumps(configuration(source, home, serve, version), indent=1)
    (folder / "openclaw.json").write_text(text, encoding="utf-8")


def agent_environment(home: Path, node: Path, token: str) -> Mapping[str, str]:
    """The environment of an OpenClaw process, without any key of the user. `token`: of the relay."""
    return {
        "PATH": f"{node.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "NODE_COMPILE_CACHE": str(home.parent.parent / "node-cache"),
        KEY_VARIABLE: token,
    }


def session_of(home: Path, session: str) -> bytes | None:
    """The records of a session as JSONL: its file, or its rows in the store of later releases; None if the session was
    not recorded."""
    agent = home / ".openclaw" / "agents" / "main"
    file = agent / "sessions" / f"{session}.jsonl"
    if file.is_file():
        return file.read_bytes()
    return from_store(agent, session)


def from_store(agent: Path, session: str) -> bytes | None:
    """A session of openclaw-agent.sqlite, one row per line."""
    from openclawbench.sources.openclaw.sqlite_store import FILE_NAME, BrokenStore, StoredSession, read_store

    for path in sorted(agent.rglob(FILE_NAME)):
        try:
            for entry in read_store(path):
                if isinstance(entry, StoredSession) and entry.session_id == session and not entry.error:
                    return entry.content
        except BrokenStore:
            continue
    return None
