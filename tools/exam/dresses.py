"""What is left of the rules judge where incidental details of sessions differ: `python -m tools.exam.dresses [SEED]`.

A mechanism is worth what it finds in sessions whose tools, paths and file names are not those of the families that it
was built with. So each pair of the part to build with is asked again in other dresses; what misbehaves in it stays.
The table is that of docs/why/rules_judge.md.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from openclawbench.exam.sitting import Exam
from openclawbench.records.packet import Evidence, EvidenceStep
from openclawbench.storage.data_folder import DataFolder
from tools.exam.mechanisms import BUILD, counted, evidence_of, fired, part_of, share

Dress = Callable[[EvidenceStep], EvidenceStep]
HOME = "/home/me/work"
NUMBERED = re.compile(r"(?<=[a-z])-(\d\d?)(?=\.(?:txt|csv|md|sh)\b)")
WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "maple",
)


def arguments(step: EvidenceStep) -> dict[str, Any]:
    """The arguments of a call; empty without."""
    text = step.action_text or ""
    start = text.find("{")
    try:
        known = json.loads(text[start:]) if step.action_kind == "tool_call" and start >= 0 else {}
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def as_call(step: EvidenceStep, tool: str | None, **known: str) -> EvidenceStep:
    """The step as a call of another tool."""
    text = f"{tool} {json.dumps(known, ensure_ascii=False)}"
    return step.model_copy(update={"tool_name": tool, "action_text": text})


def read_by_cat(step: EvidenceStep) -> EvidenceStep:
    """Files are read by a command."""
    known = arguments(step)
    return (
        as_call(step, "exec", command=f"cat {known['path']}") if step.tool_name == "read" and "path" in known else step
    )


def read_by_server(step: EvidenceStep) -> EvidenceStep:
    """Files are read by a tool of a server, which answers in JSON."""
    known = arguments(step)
    if step.tool_name != "read" or "path" not in known:
        return step
    output = json.dumps({"ok": True, "text": step.reflection_text}, ensure_ascii=False)
    ended = step.model_copy(update={"reflection_text": output}) if step.tool_status == "ok" else step
    return as_call(ended, "docs__get", uri=known["path"])


def with_line_numbers(step: EvidenceStep) -> EvidenceStep:
    """Files are shown with the numbers of their lines."""
    lines = (step.reflection_text or "").splitlines() if step.tool_name == "read" else []
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))
    return step.model_copy(update={"reflection_text": numbered}) if lines else step


def written_by_command(step: EvidenceStep) -> EvidenceStep:
    """Files are written by a here document."""
    known = arguments(step)
    if step.tool_name != "write" or "content" not in known:
        return step
    return as_call(step, "exec", command=f"cat > {known['path']} <<'END'\n{known['content']}\nEND")


def written_by_server(step: EvidenceStep) -> EvidenceStep:
    """Files are written by a tool of a server."""
    known = arguments(step)
    is_write = step.tool_name == "write" and "content" in known
    return as_call(step, "docs__put", uri=known["path"], data=known["content"]) if is_write else step


def whole_paths(step: EvidenceStep) -> EvidenceStep:
    """Tools are given whole paths."""
    known = arguments(step)
    is_short = isinstance(known.get("path"), str) and not known["path"].startswith("/")
    return as_call(step, step.tool_name, **known | {"path": f"{HOME}/{known['path']}"}) if is_short else step


def from_a_folder(step: EvidenceStep) -> EvidenceStep:
    """Commands change the folder first."""
    known = arguments(step)
    return as_call(step, step.tool_name, command=f"cd {HOME} && {known['command']}") if "command" in known else step


def listed_by_tool(step: EvidenceStep) -> EvidenceStep:
    """Folders are listed by a tool."""
    command = str(arguments(step).get("command", ""))
    return as_call(step, "list_directory", path=command.split()[1]) if command.startswith("ls ") else step


def other_shell(step: EvidenceStep) -> EvidenceStep:
    """Commands are run by another tool."""
    known = arguments(step)
    return as_call(step, "bash", cmd=known["command"]) if step.tool_name == "exec" and "command" in known else step


def in_all_texts(replace: Callable[[str], str]) -> Dress:
    """A dress that changes every text of a step."""
    fields = ("action_text", "reflection_text", "thinking", "narration")

    def dressed(step: EvidenceStep) -> EvidenceStep:
        texts = {name: getattr(step, name) for name in fields}
        return step.model_copy(update={name: replace(text) for name, text in texts.items() if text})

    return dressed


def without_separators(text: str) -> str:
    """Figures without a mark between thousands."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def in_words(text: str) -> str:
    """Files of a row are named by words."""
    return NUMBERED.sub(lambda match: f"-{WORDS[int(match[1]) % len(WORDS)]}", text)


DRESSES: Mapping[str, Dress] = {
    "as recorded": lambda step: step,
    "files read by `cat`": read_by_cat,
    "files read by a server, in JSON": read_by_server,
    "files shown with line numbers": with_line_numbers,
    "files written by a here document": written_by_command,
    "files written by a server": written_by_server,
    "whole paths": whole_paths,
    "commands behind `cd`": from_a_folder,
    "folders listed by a tool": listed_by_tool,
    "another shell tool": other_shell,
    "figures without separators": in_all_texts(without_separators),
    "files named by words": in_all_texts(in_words),
}


def dressed(evidence: Evidence, dress: Dress) -> Evidence:
    """Evidence in another dress. User turns stay as they are."""
    return evidence.model_copy(update={"steps": [dress(step) for step in evidence.steps]})


def measure(seed: int) -> str:
    """Both twins right, and innocent twins with a trigger, of the part to build with, dress by dress."""
    with TemporaryDirectory() as folder:
        exam = Exam(DataFolder(Path(folder)), "full", seed)
        items, evidence = exam.prepare().items, evidence_of(exam)
    rows = ["| dress | pairs both right | false alarms |", "| --- | --- | --- |"]
    items = [item for item in items if part_of(item.family) == BUILD]  # of the other part nothing is asked
    build = {item.id for item in items}
    for name, dress in DRESSES.items():
        mechanisms = fired({item: dressed(record, dress) for item, record in evidence.items() if item in build})
        pairs, right, alarms = counted(items, mechanisms, BUILD)
        rows.append(f"| {name} | {share(right, pairs)} | {share(alarms, pairs)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
