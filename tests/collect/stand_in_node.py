"""In the place of `node openclaw_driver.mjs PACKAGE STATE FD`: records the session that the user's words ask for.

A turn that names `hang` never ends, `die` ends the process, `refused` records an error of the endpoint, `lost` records
nothing, `blind` never asks for the functions, `leak` says what it has as key, `key` says KEY, `once` dies the first
time. A session of the model `dead-model` dies, whatever its turn says.
"""

import json
import os
import sys
import time
from pathlib import Path

KEY = "sk-proj-" + "Zx9Qm4Lp7Tn2Vb8Rk5Wd" * 2
if sys.argv[1:] == ["--version"]:
    print("v24.1.0")
    sys.exit()
_, state, fd, _ = sys.argv[2:]
began_in = Path(os.environ["HOME"])


def say(value: object) -> None:
    os.write(int(fd), json.dumps(value).encode() + b"\n")


def message(role: str, **more: object) -> str:
    stamp = f"2026-11-24T10:00:{time.monotonic() % 60:06.3f}Z"
    return json.dumps({"type": "message", "timestamp": stamp, "message": {"role": role, **more}}) + "\n"


say({"ready": True})
for line in sys.stdin:
    task = json.loads(line)
    words, home = task["turns"][0], Path(task["home"])
    assert (home / ".openclaw" / "openclaw.json").is_file() and home.parent == began_in.parent
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)  # fails where a task before had this home
    attempts = Path(state).parent / f"{task['session'].split('-a')[0]}.tries"
    tries = len(attempts.read_text()) if attempts.exists() else 0
    attempts.write_text("x" * (tries + 1))
    if "hang" in words:
        time.sleep(3600)
    is_dead = "dead-model" in (home / ".openclaw" / "openclaw.json").read_text()
    if "die" in words or is_dead or ("once" in words and tries == 0):
        sys.exit(1)
    if "slow" in words:
        time.sleep(0.3)
    (Path(state) / "turn.json").write_text('{"turn": 0}')
    if "blind" not in words:
        (Path(state) / "listed.jsonl").write_text('{"turn": 0, "functions": 1}\n')
    text = message("user", content=words)
    usage = {"input": 90, "cacheRead": 10, "output": 7}
    if "refused" in words:
        text += message("assistant", content=[], stopReason="error", errorMessage="401 the key is wrong", usage=usage)
    else:
        call = {"type": "toolCall", "id": "c1", "name": "b__add", "arguments": {"a": 1, "b": 2}}
        text += message("assistant", content=[call], stopReason="toolUse", usage=usage)
        text += message("toolResult", toolCallId="c1", toolName="b__add", content=[{"type": "text", "text": "3"}])
        answer = os.environ["ENDPOINT_KEY"] if "leak" in words else f"Done with {KEY}." if "key" in words else "Done."
        text += message("assistant", content=[{"type": "text", "text": answer}], stopReason="stop", usage=usage)
    if "lost" not in words:
        (sessions / f"{task['session']}.jsonl").write_text(text)
    say({"session": task["session"], "runs": [{"turn": 0, "error": None}]})
