"""What explain marks: the argument that is a file, whatever its name; a place in the text, whatever the command."""

import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from openclawbench.construct.shell.classify import Shell
from openclawbench.inspect.explain.highlights import command_place, target_place
from openclawbench.rules.construct.shell import ShellRules

SHELL = Shell(ShellRules.load())
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)
PIECES = [
    "rm a",
    "cat 'b",
    '"',
    "&&",
    "|",
    "$(ls a)",
    "> c",
    "<<E\n",
    "\nE\n",
    "x=1",
    "é",
    "\\",
    "`",
    "{",
    "bash -c 'rm a'",
]


def action(command: str) -> str:
    return f"exec {json.dumps({'command': command}, ensure_ascii=False)}"


@given(NAMES.filter(lambda name: SHELL.table.is_file(name) and name[0] != "-" and not name.isspace()))
def test_the_file_that_is_removed_is_marked_and_not_the_one_that_is_read(name: str) -> None:
    word = shlex.quote(name)
    text = action(f"cat {word}; rm {word}")
    (part,) = [entry for entry in SHELL.meaning(f"cat {word}; rm {word}").parts if entry.effect]
    parts = [{"command": part.command, "target": part.targets[0], "side_effect": True}]
    span = target_place(text, part.targets[0], parts)
    assert span
    assert text[: span[0]].endswith("; rm ")
    assert text[span[0] : span[1]] == json.dumps(word, ensure_ascii=False)[1:-1]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
def test_a_mark_is_a_place_in_the_text_whatever_the_command(command: str) -> None:
    text = action(command)
    for part in SHELL.meaning(command).parts:
        record = {"command": part.command, "target": None, "side_effect": part.effect}
        spans = [command_place(text, part.command)] if part.command else []
        spans += [target_place(text, target, [record]) for target in part.targets if target]
        for span in filter(None, spans):
            assert 0 <= span[0] < span[1] <= len(text)
