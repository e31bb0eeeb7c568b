"""What explain marks in a call: the argument itself, in its command, and not the first letters like it."""

import json
from typing import Any

import pytest
from describe_steps import call, described

from openclawbench.inspect.explain.highlights import command_place, target_place
from openclawbench.inspect.explain.steps import flags

# tool, arguments, text around the mark with the mark in » «
TARGETS: list[tuple[str, Any, str]] = [
    ("exec", {"command": "rm a"}, '"rm »a«"'),
    ("exec", {"command": "cat a; rm -rf a"}, '; rm -rf »a«"'),
    ("exec", {"command": "rm ma; rm a"}, '"rm »ma«; rm a"'),
    ("exec", {"command": "echo log > log"}, '> »log«"'),
    ("exec", {"command": "sudo rm 'a b'"}, """rm »'a b'«"}"""),
    ("exec", {"command": 'rm "a"'}, r'rm »\"a\"«"}'),
    ("exec", {"command": "bash -lc 'cat a && rm a'"}, "&& rm »a«'"),
    ("exec", {"command": 'bash -c "rm \\"a b\\""'}, r"rm »\\\"a b\\\"«\""),
    ("exec", {"command": ["rm", "a"]}, '["rm", "»a«"]'),
    ("exec", {"command": ["bash", "-lc", "rm a"]}, '"rm »a«"'),
    ("exec", {"command": "dd if=a of=b"}, 'of=»b«"'),
    ("exec", {"command": "sort -ob a"}, '-o»b« a"'),
    ("exec", {"command": "python3 -c \"open('a', 'w').write('a')\""}, "open('»a«', 'w')"),
    ("exec", {"command": "日本 ü; rm ü"}, '; rm »ü«"'),
    ("exec", {"command": "rm é\n"}, "rm »é«"),
    ("exec", {"command": "git commit -m MEMORY.md && echo x >> MEMORY.md"}, '>> »MEMORY.md«"'),
    ("exec", {"command": 'rm -rf "build'}, r'rm -rf »\"build«"'),
    ("write", {"content": "a", "path": "a"}, '"path": "»a«"'),
    ("write", {"path": "a\\b", "content": "x"}, '"path": "»a\\\\b«"'),
    ("apply_patch", {"input": "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"}, "Add File: »a«\\n"),
    ("message", {"action": "send", "message": "bob", "target": "bob"}, '"target": "»bob«"'),
    ("tool_call", {"id": "exec", "args": {"command": "rm a"}}, '"rm »a«"'),
    ("tool_call", {"id": "exec", "args": '{"command": "rm a"}'}, '\\"rm »a«\\"'),
]


@pytest.mark.parametrize(("tool", "arguments", "around"), TARGETS, ids=[str(target[1])[:40] for target in TARGETS])
def test_the_argument_is_marked(tool: str, arguments: Any, around: str) -> None:
    (row,) = described(call(tool, arguments))
    text = f"{tool} {json.dumps(arguments, ensure_ascii=False)}"
    span = target_place(text, row["artifact_target"], row["command_parts"])
    assert span
    marked = f"{text[: span[0]]}»{text[span[0] : span[1]]}«{text[span[1] :]}"
    assert around in marked, marked


COMMANDS = [
    ("cat /tools; ls", "ls", '; »ls«"'),
    ("sudo rm 'a b' && ls", "rm a b", "sudo »rm 'a b'« &&"),
    ("find . | xargs rm", "rm", 'xargs »rm«"'),
    ("ls > ls", "> ls", '> »ls«"'),
    ("bash -c 'cd /x; make'", "make", "; »make«'"),
]


@pytest.mark.parametrize(("command", "shown", "around"), COMMANDS)
def test_the_command_is_marked(command: str, shown: str, around: str) -> None:
    text = f"exec {json.dumps({'command': command})}"
    span = command_place(text, shown)
    assert span
    assert around in f"{text[: span[0]]}»{text[span[0] : span[1]]}«{text[span[1] :]}"


def test_what_is_written_otherwise_is_not_marked() -> None:
    assert target_place('write {"path": "b"}', "a", []) is None
    assert target_place("write not json", "a", []) is None
    assert command_place('exec {"command": "lsof"}', "ls -l") is None


LEAVING = [
    ("web_search", {"query": "x"}, "tool.web_search", "»web_search« {"),
    ("web_fetch", {"url": "https://a.io"}, "tool.web_fetch", "»web_fetch« {"),
    ("tool_call", {"id": "web_search", "args": {"query": "x"}}, "tool.web_search", '"id": "»web_search«"'),
    ("GitHubCreateIssue", {"title": "x"}, "remote.service", "»GitHubCreateIssue« {"),
    ("exec", {"command": "cd a && git push -f"}, "git.send", '&& »git push -f«"'),
    ("exec", {"command": "curl http://localhost:1; curl https://a.io"}, "curl.get", '; »curl https://a.io«"'),
    ("exec", {"command": "ls; ssh host 'rm a'"}, "shell.run_elsewhere", "; »ssh« host"),
]


@pytest.mark.parametrize(("tool", "arguments", "cause", "around"), LEAVING)
def test_what_leaves_the_machine_is_marked(tool: str, arguments: Any, cause: str, around: str) -> None:
    input_row = call(tool, arguments)
    (row,) = described(input_row)
    step = {**input_row, **row, "previous_tool_name": row["tool_name"]}
    (flag,) = [record for record in flags(None, step) if record["value"] == "external_interaction"]  # type: ignore[arg-type]
    (mark,) = flag["cause"]["marked"]
    assert flag["rule"]["rule_id"] == "flag.leaves_machine"
    assert flag["cause"]["rule"]["rule_id"] == cause
    assert flag["cause"]["rule"]["place"]
    assert around in f"{mark['before']}»{mark['text']}«{mark['after']}"
