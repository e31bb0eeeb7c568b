"""Loader of shell.toml: what shell commands do, how their options are read, what is looked through."""

import re
from typing import ClassVar

from pydantic import Field, field_validator

from pipeline.records.base import Record
from pipeline.rules.base import Rules


def checked(pattern: str) -> str:
    """A pattern that Python's re compiles; ValueError names the fault."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"bad pattern {pattern!r}: {error}") from error
    return pattern


class Syntax(Record):
    """How the options of some commands are read."""

    names: list[str] = Field(default=[])
    values: list[str] = Field(default=[])
    optional: list[str] = Field(default=[])
    cluster: bool = True


class Wrapper(Syntax):
    """A command that runs another: everything behind `skip` positional arguments, a code flag, or after_flags."""

    sub: list[str] = Field(default=[])
    skip: int = 0
    code_flags: list[str] = Field(default=[])
    code_rest: bool = False  # the rest is shell text, not an argument list
    feeds_arguments: bool = False
    place_flags: list[str] = Field(default=[])
    unless_flags: list[str] = Field(default=[])
    needs_flags: list[str] = Field(default=[])
    anywhere: bool = False  # options may stand behind positional arguments
    after_flags: list[str] = Field(default=[])
    also_itself: bool = False
    external: bool = False
    code_optional: bool = False  # without a code flag, what stands behind is a command
    powershell: bool = False


class WordRules(Record):
    """How text is cut into commands where the shell grammar cannot read it. Patterns are Python's."""

    powershell: str
    powershell_gate: str
    token: str
    environment: str
    no_command: str
    keywords: list[str]
    assigns: list[str]
    powershell_rule: str
    recovered_rule: str
    broken_rule: str

    _checked = field_validator("powershell", "powershell_gate", "token", "environment", "no_command")(checked)


class Interpreter(Record):
    """A program that takes program text."""

    id: str
    names: list[str]
    code_flags: list[str]
    category: str
    write_rule: str
    write_category: str


class Pattern(Record):
    """A pattern with its id."""

    id: str
    pattern: str

    _checked = field_validator("pattern")(checked)


class ProgramWrite(Pattern):
    """A plain write to a file in program text."""

    needs: list[str] = Field(default=[""])  # plain texts; one of them is in whatever the pattern finds


class SqlClient(Record):
    """Where a database client finds its statement."""

    names: list[str]
    code_flags: list[str] = Field(default=[])
    positional: int | None = None


class SqlRule(Pattern):
    """What a statement does."""

    category: str


class CommandRule(Record):
    """What a simple command does; conditions that are not given hold always."""

    id: str
    names: list[str]
    category: str
    sub: list[str] = Field(default=[])
    flags: list[str] = Field(default=[])
    no_flags: list[str] = Field(default=[])
    values: dict[str, str] = Field(default={})
    match: str | None = None
    bare: bool = False
    real_output: list[str] = Field(default=[])
    operands: int | None = None
    target: str | None = None
    argument: str | None = None
    verbs: list[str] = Field(default=[])
    target_name: str | None = None
    only_files: bool = False
    target_match: str | None = None
    effect: bool | None = None
    state: bool = True  # what is named is itself changed
    external: bool = False
    exit_one_ok: bool = False


class ShellRules(Rules):
    """Everything that names a shell command."""

    FILE: ClassVar[str] = "shell.toml"
    max_length: int
    shown_length: int
    words: WordRules
    nothing: str
    fallback_category: str
    fallback_rule: str
    unparsed_rule: str
    nothing_rule: str
    redirect_rule: str
    redirect_category: str
    version_flags: list[str]
    version_category: str
    version_rule: str
    help_flags: list[str]
    help_category: str
    help_rule: str
    null_files: list[str]
    local_url: str
    patched_file: str
    url_flags: list[str]
    url: str
    rank: list[str]
    equal: list[list[str]]
    harmless_exit: list[str]
    change_directory: list[str]
    module_flag: str
    effect_categories: list[str]
    syntaxes: list[Syntax] = Field(alias="syntax")
    wrappers: list[Wrapper] = Field(alias="wrapper")
    interpreters: list[Interpreter] = Field(alias="interpreter")
    program_writes: list[ProgramWrite] = Field(alias="program_write")
    sql_clients: list[SqlClient] = Field(alias="sql_client")
    sql: list[SqlRule]
    commands: list[CommandRule] = Field(alias="command")

    _checked = field_validator("patched_file")(checked)
