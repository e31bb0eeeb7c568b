"""Ordinary sessions, and how often the rules judge calls one anomalous: `python -m tools.exam.ordinary [--aside]`.

What a user meets are ordinary sessions: whatever the judge flags there is a false alarm. Their shapes stand in
`ordinary_sessions/`; each is asked in the dress of several tools. Half of the shapes, by a digest of their names, are
set aside: no rule is mended with them in view, and only their total is printed, with `--aside`. So are those of
`later*.toml`, which were written without a look at the rules, when the others had been counted.

A step of a shape is a list of texts: `user TEXT`; `say TEXT`, a reply; `think TEXT` and `note TEXT`, thought or said
before what comes next; `read PATH CONTENT`, an error where the content begins with `!`; `list FOLDER NAMES`;
`search TEXT PLACE OUTPUT [STATUS]`; `write PATH CONTENT`; `edit PATH OLD NEW`; `run COMMAND OUTPUT [STATUS]`;
`sql STATEMENT ROWS`; `tool NAME ARGUMENTS RESULT`; and `filler N`, so many looks at other files.
"""

import json
import shlex
import sys
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from openclawbench.fulltax.rules_judge.trace import Trace
from openclawbench.fulltax.rules_judge.trigger import Trigger
from openclawbench.fulltax.rules_judge.triggers import find_triggers, strong_triggers
from openclawbench.records.packet import Evidence
from openclawbench.rules.fulltax.judge import JudgeRules
from openclawbench.storage.data_folder import DataFolder
from openclawbench.workspace.progress import Progress
from openclawbench.workspace.settings import settings
from openclawbench.workspace.update import update
from tools.exam.mechanisms import BUILD, SET_ASIDE, part_of, share

SESSIONS = Path(__file__).parent / "ordinary_sessions"
LATER = "later"  # the part of the shapes in files whose names begin with it
START = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)
Step = list[str]


class Call(NamedTuple):
    """A tool call with its result."""

    tool: str
    arguments: dict[str, Any]
    output: str
    failed: bool = False


class Dress:
    """How an agent does what a step says: with the tools of OpenClaw."""

    name = "read, write, edit, exec"

    def call(self, kind: str, *texts: str) -> Call:
        """The call of a step."""
        call: Call = getattr(self, kind)(*texts)
        return call

    def run(self, command: str, output: str, status: str = "0") -> Call:
        tail = "" if status == "0" else f"\n\n(Command exited with code {status})"
        return Call("exec", {"command": command}, (output or "(no output)") + tail)

    def read(self, path: str, content: str) -> Call:
        if content.startswith("!"):
            error = {"status": "error", "tool": "read", "error": content[1:]}
            return Call("read", {"path": path}, json.dumps(error, indent=2), failed=True)
        return Call("read", {"path": path}, content)

    def list(self, folder: str, names: str) -> Call:
        return self.run(f"ls {folder}", names)

    def search(self, text: str, place: str, output: str, status: str = "0") -> Call:
        return self.run(f"grep -rn {shlex.quote(text)} {place}", output, status)

    def write(self, path: str, content: str) -> Call:
        text = f"Successfully wrote {len(content.encode())} bytes to {path}"
        return Call("write", {"path": path, "content": content}, text)

    def edit(self, path: str, old: str, new: str) -> Call:
        changes = [{"oldText": old, "newText": new}]
        return Call("edit", {"path": path, "edits": changes}, f"Successfully replaced 1 block(s) in {path}.")

    def sql(self, statement: str, rows: str) -> Call:
        return self.run(f"sqlite3 -header shop.db {shlex.quote(statement)}", rows)

    def tool(self, name: str, arguments: str, output: str) -> Call:
        return Call(name, json.loads(arguments), output)


class Commands(Dress):
    """Everything by a shell."""

    name = "bash alone"

    def run(self, command: str, output: str, status: str = "0") -> Call:
        tail = "" if status == "0" else f"\nCommand exited with code {status}"
        return Call("bash", {"command": f"cd /home/me/work && {command}"}, output + tail, failed=status != "0")

    def read(self, path: str, content: str) -> Call:
        if content.startswith("!"):
            kind = "Permission denied" if "EACCES" in content else "No such file or directory"
            return self.run(f"cat {path}", f"cat: {path}: {kind}", "1")
        return self.run(f"cat {path}", content)

    def write(self, path: str, content: str) -> Call:
        return self.run(f"cat > {path} <<'EOF'\n{content}EOF", "")

    def edit(self, path: str, old: str, new: str) -> Call:
        program = f"import pathlib\np = pathlib.Path({path!r})\np.write_text(p.read_text().replace({old!r}, {new!r}))"
        return self.run(f"python3 - <<'EOF'\n{program}\nEOF", "")


class Servers(Dress):
    """Tools of MCP servers, whose runs answer in JSON."""

    name = "MCP servers"

    def run(self, command: str, output: str, status: str = "0") -> Call:
        result = {"stdout": output, "stderr": "", "exit_code": int(status)}
        return Call("mcp__shell__run_command", {"command": command, "cwd": "/work"}, json.dumps(result))

    def read(self, path: str, content: str) -> Call:
        if content.startswith("!"):
            return Call("mcp__files__read_text_file", {"path": f"/work/{path}"}, f"Error: {content[1:]}", failed=True)
        return Call("mcp__files__read_text_file", {"path": f"/work/{path}"}, content)

    def list(self, folder: str, names: str) -> Call:
        entries = "\n".join(f"[FILE] {name}" for name in names.splitlines())
        return Call("mcp__files__list_directory", {"path": f"/work/{folder}"}, entries)

    def write(self, path: str, content: str) -> Call:
        place = f"/work/{path}"
        return Call("mcp__files__write_file", {"path": place, "content": content}, f"Successfully wrote to {place}")

    def edit(self, path: str, old: str, new: str) -> Call:
        changes = [{"oldText": old, "newText": new}]
        shown = f"```diff\n--- {path}\n+++ {path}\n-{old}\n+{new}\n```"
        return Call("mcp__files__edit_file", {"path": f"/work/{path}", "edits": changes}, shown)

    def sql(self, statement: str, rows: str) -> Call:
        return Call("mcp__database__query", {"sql": statement}, rows)


class Editor(Dress):
    """The tools of a coding agent, which show files with the numbers of their lines."""

    name = "Read, Write, Edit, Bash"

    def run(self, command: str, output: str, status: str = "0") -> Call:
        text = output if status == "0" else f"Exit code {status}\n{output}"
        return Call("Bash", {"command": command, "description": "Run it"}, text, failed=status != "0")

    def read(self, path: str, content: str) -> Call:
        place = {"file_path": f"/home/me/work/{path}"}
        if content.startswith("!"):
            return Call("Read", place, content[1:].partition(",")[0], failed=True)
        lines = enumerate(content.splitlines(), 1)
        return Call("Read", place, "\n".join(f"{number:6}\t{line}" for number, line in lines))

    def search(self, text: str, place: str, output: str, status: str = "0") -> Call:
        arguments = {"pattern": text, "path": place, "output_mode": "content"}
        return Call("Grep", arguments, output or "No matches found")

    def write(self, path: str, content: str) -> Call:
        place = f"/home/me/work/{path}"
        return Call("Write", {"file_path": place, "content": content}, f"File created successfully at: {place}")

    def edit(self, path: str, old: str, new: str) -> Call:
        place = f"/home/me/work/{path}"
        arguments = {"file_path": place, "old_string": old, "new_string": new}
        return Call("Edit", arguments, f"The file {place} has been updated.")


DRESSES: tuple[Dress, ...] = (Dress(), Commands(), Servers(), Editor())
FILLER = [
    ["read", "wiki/page-{0}.md", "# Page {0}\n\nNothing here is about prices or people. See the index.\n"],
    ["list", "wiki/part-{0}", "about.md\nindex.md"],
    ["search", "index", "wiki/part-{0}", "wiki/part-{0}/about.md:2:see the index"],
]


def shapes(part: str) -> dict[str, list[Step]]:
    """The shapes of a part by name: their steps, with the filler in place."""
    known: dict[str, list[Step]] = {}
    for file in sorted(SESSIONS.glob("*.toml")):
        for name, shape in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if part == (LATER if file.stem.startswith(LATER) else part_of(name)):
                known[name] = list(filled(shape["steps"]))
    return known


def filled(steps: list[Step]) -> Iterator[Step]:
    """The steps with looks at other files where a filler stands."""
    number = 0
    for step in steps:
        if step[0] != "filler":
            yield step
            continue
        for _ in range(int(step[1])):
            number += 1
            yield [text.format(number) for text in FILLER[number % len(FILLER)]]


def session(name: str, steps: list[Step], dress: Dress) -> str:
    """A session file of OpenClaw."""
    key = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{dress.name}"))
    lines: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": key, "cwd": "/home/me/work"}]
    lines[0]["timestamp"] = START.isoformat()
    notes: list[dict[str, str]] = []

    def add(message: dict[str, Any]) -> None:
        time = START + timedelta(seconds=7 * len(lines))
        line = {"type": "message", "id": f"{len(lines):08x}", "parentId": lines[-1]["id"] if len(lines) > 1 else None}
        lines.append(line | {"timestamp": time.isoformat(), "message": message})

    def text_block(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    for kind, *texts in steps:
        if kind == "user":
            add({"role": "user", "content": [text_block(texts[0])]})
        elif kind == "note":
            notes.append(text_block(texts[0]))
        elif kind == "think":
            notes.append({"type": "thinking", "thinking": texts[0]})
        elif kind == "say":
            blocks: list[Any] = [*notes, text_block(texts[0])]
            add({"role": "assistant", "model": "agent-model", "stopReason": "stop", "content": blocks})
            notes.clear()
        else:
            call = dress.call(kind, *texts)
            block = {"type": "toolCall", "id": f"call_{len(lines)}", "name": call.tool, "arguments": call.arguments}
            content: list[dict[str, Any]] = [*notes, block]
            add({"role": "assistant", "model": "agent-model", "stopReason": "toolUse", "content": content})
            result = {"role": "toolResult", "toolCallId": block["id"], "toolName": call.tool, "isError": call.failed}
            add(result | {"content": [text_block(call.output)]})
            notes.clear()
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def evidence_of(sessions: Mapping[str, str]) -> dict[str, Evidence]:
    """Name of a session -> its evidence, by the stages of `annotate`."""
    with TemporaryDirectory() as folder:
        raw = Path(folder) / "raw" / "agent-model"
        raw.mkdir(parents=True)
        for name, content in sessions.items():
            (raw / f"{name}.jsonl").write_text(content, encoding="utf-8")
        data = DataFolder(Path(folder) / "data")
        chosen = settings(data, judge="rules", raw=str(raw.parent), oracle=None)
        tables = update(data, chosen, "packet", Progress()).tables
        assert tables is not None
        rows = tables[Evidence].collect().iter_rows(named=True)
        return {row["trajectory_id"].rpartition(".")[0]: Evidence.model_validate(row) for row in rows}


def flagged(part: str) -> dict[tuple[str, str], list[Trigger]]:
    """Shape and dress of every session of a part -> its strong triggers."""
    rules = JudgeRules.load()
    known = shapes(part)
    names = {f"{name}--{place}": (name, dress.name) for name in known for place, dress in enumerate(DRESSES)}
    sessions = {
        f"{name}--{place}": session(name, steps, dress)
        for name, steps in known.items()
        for place, dress in enumerate(DRESSES)
    }
    traces = {name: Trace(record, rules) for name, record in evidence_of(sessions).items()}
    assert traces.keys() == sessions.keys(), sessions.keys() ^ traces.keys()
    return {names[name]: strong_triggers(find_triggers(trace)) for name, trace in traces.items()}


def table(part: str, in_full: bool) -> str:
    """False alarms of a part, by dress; where all is told, each with its mechanisms."""
    triggers = flagged(part)
    by_dress: dict[str, list[bool]] = defaultdict(list)
    for (_, dress), strong in triggers.items():
        by_dress[dress].append(bool(strong))
    lines = [f"{part}: {len({name for name, _ in triggers})} shapes", "", "| tools | false alarms |", "| --- | --- |"]
    lines += [f"| {dress} | {share(sum(alarms), len(alarms))} |" for dress, alarms in by_dress.items()]
    lines.append(f"| all | {share(sum(map(bool, triggers.values())), len(triggers))} |")
    for (name, dress), strong in triggers.items() if in_full else ():
        lines += [f"{name} ({dress}): {trigger.mechanism}: {trigger.reason}" for trigger in strong]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(BUILD, in_full=True))
    if "--aside" in sys.argv:
        for part in (SET_ASIDE, LATER):
            print("\n" + table(part, in_full=False))
