"""Record families of the exam with the real OpenClaw program: `python -m tools.exam.record LAB VERSION [NAME …]`.

LAB/vVERSION/node_modules/openclaw is an installed OpenClaw, LAB/node24 an installed Node 24
(docs/develop/exam_families.md says how). Each family is recorded twice, once a twin, in a workspace of its own, with
the recorded values of its slots and the English texts. What is written lies beside the family file:
NAME.anomalous.jsonl and NAME.innocent.jsonl, with the home folder replaced by /home/user.
"""

import json
import os
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from openclawbench.exam.family import FAMILIES, RECORDED_LANGUAGE, TWINS, Family, Twin, filled, load_families
from openclawbench.exam.filler import FILLER
from openclawbench.exam.values import recorded_values
from tools.exam.scripted_model import ScriptedModel

HERE = Path(__file__).parent
HOME = "/home/user"
TIME_LIMIT_S = 900


def rendered(value: Any, family: Family, values: dict[str, str]) -> Any:
    """A JSON value with slots and texts in place."""
    if isinstance(value, str):
        if value.startswith("@"):
            return family.text(value[1:], RECORDED_LANGUAGE, values)
        return filled(value, values)
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
    files = {filled(path, values): rendered(content, family, values) for path, content in family.files.items()}
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
        "id": session_id("filler", "innocent"),
        "workspace": str(workspace),
        "files": filler["files"],
        "setup": [],
        "messages": ["Have a look around the folders, please."],
        "script": [*({"calls": [call]} for call in filler["calls"]), {"text": "I had a look around."}],
    }


def session_id(name: str, twin: Twin) -> str:
    """Id of a recorded session, which does not tell the twin. The generator replaces it."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{twin}"))


def record(lab: Path, version: str, names: list[str], folder: Path = FAMILIES) -> None:
    """Record families, all and the filler if no name is given, and write their sessions beside them."""
    families = {name: family for name, family in load_families(folder).items() if not names or name in names}
    home = lab / f"home-{os.getpid()}"
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    plan = [session_plan(name, family, twin, workspace) for name, family in families.items() for twin in TWINS]
    if not names:
        plan.append(filler_plan(workspace))
    plan_file = home / "plan.json"
    plan_file.write_text(json.dumps(plan, ensure_ascii=False))
    node = lab / "node24" / "node_modules" / "node" / "bin"
    package = lab / f"v{version}" / "node_modules" / "openclaw"
    with ScriptedModel() as model:
        config = (HERE / "openclaw.json").read_text().replace("@PORT@", str(model.port)).replace("@HOME@", str(home))
        (home / ".openclaw" / "openclaw.json").write_text(config)
        environment = {"PATH": f"{node}:/usr/bin:/bin", "HOME": str(home), "NODE_COMPILE_CACHE": str(lab / "ncc")}
        command = [str(node / "node"), str(HERE / "driver.mjs"), str(package), str(plan_file), str(model.port)]
        with (home / "driver.log").open("w") as log:
            subprocess.run(command, env=environment, cwd=home, stdout=log, stderr=log, timeout=TIME_LIMIT_S, check=True)
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    if not names:
        content = (sessions / f"{session_id('filler', 'innocent')}.jsonl").read_bytes()
        FILLER.with_suffix(".jsonl").write_bytes(content.replace(str(home).encode(), HOME.encode()))
    for name in families:
        for twin in TWINS:
            content = (sessions / f"{session_id(name, twin)}.jsonl").read_bytes()
            (folder / f"{name}.{twin}.jsonl").write_bytes(content.replace(str(home).encode(), HOME.encode()))
        print(f"recorded {name}")


if __name__ == "__main__":
    record(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
