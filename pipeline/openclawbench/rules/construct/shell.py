"""Loader of shell.toml: what shell commands do, how their options are read, what is looked through."""

from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from openclawbench.records.vocabulary import EventType
from openclawbench.rules.loading.numbers import AtLeastOne, Count
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import each_of, each_once, one_of
from openclawbench.tables.record import Record

Category = Annotated[str, one_of(*get_args(EventType), "nothing")]  # nothing: by itself it is not an event
PLACES = ["first", "second", "third", "last", "last_first", "all", "rest", "object", "dir", "url", "basename"]
PATCHED = ["patched", "patched_first"]


def names_arguments(target: str) -> str:
    """Which arguments are the target: a place, or flags whose value it is; ValueError for anything else."""
    if not target.startswith("-"):
        each_of([target], [*PLACES, *PATCHED])
    return target


class Syntax(Record):
    """How the options of some commands are read."""

    names: list[str] = Field(default=[])
    values: list[str] = Field(default=[])
    optional: list[str] = Field(default=[])
    cluster: bool = True
    any_case: bool = False


class Wrapper(Syntax):
    """A command that runs another: everything behind `skip` positional arguments, a code flag, or after_flags."""

    sub: list[str] = Field(default=[])
    skip: Count = 0
    code_flags: list[str] = Field(default=[])
    code_rest: bool = False  # the rest is shell text, not an argument list
    feeds_arguments: bool = False
    place_flags: list[str] = Field(default=[])
    unless_flags: list[str] = Field(default=[])
    needs_flags: list[str] = Field(default=[])
    runs_input: bool = False  # without a program among its arguments it runs what it is fed
    input_flags: list[str] = Field(default=[])  # with one of these, whatever its arguments
    anywhere: bool = False  # options may stand behind positional arguments
    after_flags: list[str] = Field(default=[])
    also_itself: bool = False
    external: bool = False
    code_optional: bool = False  # without a code flag, what is behind is a command
    powershell: bool = False
    runs: PythonPattern | None = None  # shell text inside an argument; the group `fed` is its input


class Feeder(Record):
    """A command that writes its arguments: what it feeds to another is known."""

    names: list[str]
    flags: list[str] = Field(default=[])
    joins: list[str] | None = None  # formats of which only the other arguments come out; None: it has no format
    decodes: bool = False  # with one of the flags alone it writes what it is fed, taken out of base64


class WordRules(Record):
    """How text is cut into commands where the shell grammar cannot read it. Patterns are Python's."""

    powershell: PythonPattern
    powershell_gate: PythonPattern
    token: PythonPattern
    environment: PythonPattern
    no_command: PythonPattern
    keywords: list[str]
    assigns: list[str]
    powershell_rule: str
    recovered_rule: str
    broken_rule: str


class Interpreter(Record):
    """A program that takes program text."""

    id: str
    names: list[str]
    code_flags: list[str]
    category: Category
    write_rule: str
    write_category: Category


class Pattern(Record):
    """A pattern with its id."""

    id: str
    pattern: PythonPattern


class ProgramWrite(Pattern):
    """A plain write to a file in program text."""

    needs: list[str] = Field(default=[""])  # plain texts; one of them is in whatever the pattern finds


class SqlClient(Record):
    """Where a database client finds its statement."""

    names: list[str]
    code_flags: list[str] = Field(default=[])
    positional: Count | None = None


class SqlRule(Pattern):
    """What a statement does."""

    category: Category


class CommandRule(Record):
    """What a simple command does; conditions that are not given hold always."""

    id: str
    names: list[str]
    category: Category
    sub: list[str] = Field(default=[])
    flags: list[str] = Field(default=[])
    no_flags: list[str] = Field(default=[])
    values: dict[str, PythonPattern] = Field(default={})
    match: PythonPattern | None = None
    bare: bool = False
    real_output: list[str] = Field(default=[])
    operands: Count | None = None
    least: Count = 0  # fewest positional arguments
    target: Annotated[str, AfterValidator(names_arguments)] | None = None
    argument: PythonPattern | None = None
    verbs: list[str] = Field(default=[])
    target_name: str | None = None
    only_files: bool = False
    prepares: bool = False  # only makes a place for what follows
    target_match: PythonPattern | None = None
    effect: bool | None = None
    state: bool = True  # what is named is itself changed
    external: bool = False
    exit_one_ok: bool = False


class DryRun(Record):
    """Flags by which some commands only say what they would do."""

    names: list[str]
    sub: list[str] = Field(default=[])
    flags: list[str]


class ShellRules(Rules):
    """Everything that names a shell command."""

    FILE: ClassVar[str] = "shell.toml"
    max_length: AtLeastOne
    shown_length: AtLeastOne
    words: WordRules
    nothing: Literal["nothing"]
    fallback_category: Category
    fallback_rule: str
    unparsed_rule: str
    nothing_rule: str
    elsewhere_rule: str
    redirect_rule: str
    fed_rule: str
    fed_category: Category
    redirect_category: Category
    version_flags: list[str]
    version_category: Category
    version_rule: str
    help_flags: list[str]
    help_category: Category
    help_rule: str
    leaked_marks: list[str]
    leaked_rule: str
    dry_run_rule: str
    dry_run_category: Category
    dry_run_flags: list[str]
    dry_run_off: list[str]
    null_files: list[str]
    local_url: PythonPattern
    patched_file: PythonPattern
    operand_flags: list[str]
    url_flags: list[str]
    url: PythonPattern
    rank: list[Category]
    equal: list[list[Category]]
    harmless_exit: list[Category]
    change_directory: list[str]
    module_flag: str
    effect_categories: list[Category]
    dry_runs: list[DryRun] = Field(alias="dry_run")
    syntaxes: list[Syntax] = Field(alias="syntax")
    wrappers: list[Wrapper] = Field(alias="wrapper")
    feeders: list[Feeder] = Field(alias="feeder")
    interpreters: list[Interpreter] = Field(alias="interpreter")
    program_writes: list[ProgramWrite] = Field(alias="program_write")
    sql_clients: list[SqlClient] = Field(alias="sql_client")
    sql: list[SqlRule]
    commands: list[CommandRule] = Field(alias="command")

    @model_validator(mode="after")
    def every_category_has_a_rank(self) -> Self:
        """The most consequential part names the step: a category without a rank could not be compared."""
        each_once(self.rank, "stands twice in rank", "rank")
        several = [
            self.fallback_category,
            self.redirect_category,
            self.fed_category,
            self.version_category,
            self.help_category,
            self.dry_run_category,
        ]
        several += [
            category
            for interpreter in self.interpreters
            for category in (interpreter.category, interpreter.write_category)
        ]
        several += [rule.category for rule in self.sql] + [rule.category for rule in self.commands]
        each_of((effect for group in (several, *self.equal) for effect in group if effect != self.nothing), self.rank)
        return self
