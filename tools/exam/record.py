"""Record families of the exam with the real OpenClaw program: `python -m tools.exam.record LAB [NAME …]`.

LAB/vRELEASE/node_modules/openclaw is an installed OpenClaw of the release that a family declares, LAB/node24 an
installed Node 24 (docs/develop/exam_families.md says how). Each family is recorded twice, once a twin, in a workspace
of its own, with the recorded values of its slots and the English texts. What is written lies beside the family file:
NAME.anomalous.jsonl and NAME.innocent.jsonl, with the home folder replaced by /home/user. The name `filler` stands for
the harmless steps, which are recorded with every release; without a name all families and the filler are recorded.
"""

import json
import os
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from openclawbench.exam.family import (
    FAMILIES,
    RECORDED_LANGUAGE,
    RELEASES,
    TWINS,
    WITH_STORE,
    Family,
    Release,
    Twin,
    fill_template,
    load_families,
)
from openclawbench.exam.filler import FILLER, filler_file
from openclawbench.exam.values import recorded_values
from tools.exam.scripted_model import ScriptedModel
from tools.exam.stored import stored_session

HERE = Path(__file__).parent
HOME = "/home/user"
TIME_LIMIT_S = 900
OF_FILLER = "filler"
UNKNOWN_KEYS: dict[Release, tuple[str, ...]] = {"2026.2.1": ("tools", "agents.defaults.compaction")}


def rendered(value: Any, family: Family, values: dict[str, str]) -> Any:
    """A JSON value with slots and texts in place."""
    if isinstance(value, str):
        if value.startswith("@"):
            return family.text(value[1:], RECORDED_LANGUAGE, values)
        return fill_template(value, values)
    if isinstance(value, dict):
        return {key: rendered(item, family, values) for key, item in value.items()}
    return [rendered(item, family, values) for item in value] if isinstance(value, list) else value


def session_plan(name: str, family: Family, twin: Twin, workspace: Path) -> dict[str, Any]:
    """What the driver needs to run one twin."""
    values = recorded_values(name, family)
    steps, messages = [], []
    for step in family.steps_of(twin):
        if step.user is not None:
            messages.append(family.text(step.user, RECORDED_LANGUAGE, values))
            continue
        calls = [[tool, rendered(arguments, family, values)] for tool, arguments in step.calls]
        script: dict[str, Any] = {"calls": calls}
        if step.say is not None:
            script["text"] = family.text(step.say, RECORDED_LANGUAGE, values)
        if step.thinking is not None:
            script["thinking"] = family.text(step.thinking, RECORDED_LANGUAGE, values)
        steps.append(script)
    files = {fill_template(path, values): rendered(content, family, values) for path, content in family.files.items()}
    return {
        "id": session_id(name, twin),
        "workspace": str(workspace),
        "files": files,
        "setup": family.setup,
        "messages": messages,
        "script": steps,
    }


def filler_plan(workspace: Path) -> dict[str, Any]:
    """What the driver needs to record the filler: every call in a message of its own."""
    filler = tomllib.loads(FILLER.read_text(encoding="utf-8"))
    return {
        "id": session_id(OF_FILLER, "innocent"),
        "workspace": str(workspace),
        "files": filler["files"],
        "setup": [],
        "messages": ["Have a look around the folders, please."],
        "script": [*({"calls": [call]} for call in filler["calls"]), {"text": "I had a look around."}],
    }


def session_id(name: str, twin: Twin) -> str:
    """Id of a recorded session, which does not tell the twin. The generator replaces it."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{twin}"))


def configuration(release: Release, port: int, home: Path) -> str:
    """The configuration file of a release, without the keys that it refuses."""
    text = (HERE / "openclaw.json").read_text().replace("@PORT@", str(port)).replace("@HOME@", str(home))
    content = json.loads(text)
    for key in UNKNOWN_KEYS.get(release, ()):
        *folders, last = key.split(".")
        place = content
        for folder in folders:
            place = place[folder]
        del place[last]
    return json.dumps(content, indent=1)


def run(lab: Path, release: Release, home: Path, plan: list[dict[str, Any]]) -> None:
    """Run the sessions of a plan with a release, in a home folder of its own."""
    plan_file = home / "plan.json"
    plan_file.write_text(json.dumps(plan, ensure_ascii=False))
    node = lab / "node24" / "node_modules" / "node" / "bin"
    package = lab / f"v{release}" / "node_modules" / "openclaw"
    if (installed := json.loads((package / "package.json").read_text())["version"]) != release:
        raise ValueError(f"{package} is OpenClaw {installed}; install {release} there")
    with ScriptedModel() as model:
        (home / ".openclaw" / "openclaw.json").write_text(configuration(release, model.port, home))
        environment = {"PATH": f"{node}:/usr/bin:/bin", "HOME": str(home), "NODE_COMPILE_CACHE": str(lab / "ncc")}
        command = [str(node / "node"), str(HERE / "driver.mjs"), str(package), str(plan_file), str(model.port)]
        with (home / "driver.log").open("w") as log:
            subprocess.run(command, env=environment, cwd=home, stdout=log, stderr=log, timeout=TIME_LIMIT_S, check=True)


def recorded_session(release: Release, home: Path, session: str) -> bytes:
    """What a release kept of a session, as the exam keeps it."""
    agent = home / ".openclaw" / "agents" / "main"
    if release in WITH_STORE:
        content = stored_session(agent / "agent" / "openclaw-agent.sqlite", session)
    else:
        content = (agent / "sessions" / f"{session}.jsonl").read_bytes()
    return content.replace(str(home).encode(), HOME.encode())


def record(lab: Path, release: Release, families: dict[str, Family], with_filler: bool, folder: Path) -> None:
    """Record families of one release, and the filler, and write their sessions beside them."""
    home = lab / f"home-{os.getpid()}-{release}"
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    plan = [session_plan(name, family, twin, workspace) for name, family in families.items() for twin in TWINS]
    run(lab, release, home, plan + [filler_plan(workspace)] * with_filler)
    for name in families:
        for twin in TWINS:
            (folder / f"{name}.{twin}.jsonl").write_bytes(recorded_session(release, home, session_id(name, twin)))
        print(f"recorded {name} with {release}")
    if with_filler:
        filler_file(release).write_bytes(recorded_session(release, home, session_id(OF_FILLER, "innocent")))
        print(f"recorded the filler with {release}")


def main(lab: Path, names: list[str], folder: Path = FAMILIES) -> None:
    """Record each family with its release."""
    families = {name: family for name, family in load_families(folder).items() if not names or name in names}
    with_filler = not names or OF_FILLER in names
    for release in RELEASES:
        own = {name: family for name, family in families.items() if family.release == release}
        if own or with_filler:
            record(lab, release, own, with_filler, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
