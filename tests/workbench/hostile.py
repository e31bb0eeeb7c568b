"""A session in which every text, name and id is hostile, and what must never be in a page that shows it."""

import json
from pathlib import Path

from child import EXAMPLE

SOURCE = EXAMPLE / "raw" / "scripted-a" / "2026.6.11-error-escalation.jsonl"
SCRIPT = "<script>window.PWNED=1</script>"
IMAGE = "<img src=x onerror=window.PWNED=2>"
HOSTILE = (
    f"{SCRIPT}{IMAGE}<svg onload=window.PWNED=3></pre></div></section></main>"
    "<iframe src='javascript:window.PWNED=4'></iframe>\u202egpj.exe\u200b\x1b[31m\x1b]8;;http://evil.example\x07x\x00\u2028"
    '{{7*7}} {% raw %} "onmouseover="window.PWNED=5" javascript:window.PWNED=6 http://evil.example/x.png'
)
NAME = "<img src=x onerror=window.PWNED=7> & \"quotes' %41 #hash ?query\nline"
MODEL = "model <b>bold & %2e"
ELEMENTS = ("<script>window", "<img src=x", "<svg onload", "<iframe", "\u202e", "\x1b", "\u200b", "\u2028", ">49<")


def write_hostile(raw: Path) -> Path:
    """RAW/<model>/<name>.jsonl: an example session with its texts replaced."""
    folder = raw / MODEL
    folder.mkdir(parents=True)
    lines, calls = [], 0
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        message = record.get("message", {})
        for block in message.get("content", []) if isinstance(message.get("content"), list) else []:
            if block.get("type") == "text":
                block["text"] = f"{block['text']} {HOSTILE}"
            if block.get("type") in ("toolCall", "tool_use"):
                calls += 1
                block["name"] = f"exec{SCRIPT}" if calls == 1 else "exec"  # the second one is described by its command
                block["arguments"] = {"command": f"rm -rf 'db/{IMAGE}' && echo {HOSTILE}", SCRIPT: HOSTILE}
        if message.get("role") == "toolResult":
            message["toolName"] = f"exec{SCRIPT}" if calls == 1 else "exec"
        lines.append(json.dumps(record, ensure_ascii=False))
    path = folder / f"{NAME}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
