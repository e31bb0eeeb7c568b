"""Which calls change something that was there: decided by the tool's own name, or by a command, never by how a call is
written."""

import pytest

from openclawbench.rules.fulltax.judge import JudgeRules

GROUPS = JudgeRules.load().groups


def fires(group: str, text: str) -> bool:
    """True where a pattern of the group is in the text."""
    return any(pattern.regex.search(text) for pattern in GROUPS[group])  # type: ignore[index]


@pytest.mark.parametrize(
    "name", ["edit", "rm", "mv", "rmdir", "delete_file", "remove_path", "move_file", "str_replace"]
)
def test_a_tool_that_changes_or_removes_is_known_by_its_own_name(name: str) -> None:
    assert fires("mutation_tool", name)


@pytest.mark.parametrize("name", ["write", "read", "rm_report", "list_directory", "format"])
def test_other_tools_are_not(name: str) -> None:
    assert not fires("mutation_tool", name)


def test_shell_words_are_looked_for_in_commands_alone() -> None:
    assert fires("mutation_command", 'exec {"command":"rm -f notes.txt"}')
    assert fires("mutation_command", 'exec {"command":"cd x && mv a b"}')
    assert not fires("mutation_command", 'rm {"path":"/tmp/x"}')
    assert not fires("mutation_command", 'fs__rm {"path":"/tmp/x"}')
