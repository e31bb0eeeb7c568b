"""Loader of describe.toml: what tools do, which files are the agent's state, how a result says that it failed."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import EventType, ToolStatus
from openclawbench.rules.loading.numbers import AtLeastOne, ExitStatus, HttpStatus
from openclawbench.rules.loading.patterns import PythonPattern, RustPattern, number_of_groups
from openclawbench.rules.loading.references import Reference
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.tool_names import plain_name
from openclawbench.rules.loading.validation import each_of, each_once
from openclawbench.tables.record import Record

# Which of the arguments names what is changed.
Target = Literal["path", "url", "recipient", "subject", "patch", "moved", "destination", "repository"]
Kind = Literal["plain", "shell", "powershell", "program", "sql"]
COMMAND_KINDS: list[Kind] = ["shell", "powershell"]  # a command line says what is done
TEXT_KINDS: list[Kind] = [*COMMAND_KINDS, "program"]  # what comes back is what was printed


class ToolWrapper(Record):
    """A tool that calls another one."""

    names: list[str]
    name_fields: list[str]
    argument_fields: list[str]


class ArgumentFields(Record):
    """Where the arguments of any tool keep what is looked for."""

    action: list[str]
    command: list[str]
    program: list[str]
    statement: list[str]
    path: list[str]
    url: list[str]
    recipient: list[str]
    subject: list[str]
    destination: list[str]
    origin: list[str]
    repository: list[str]
    patch: list[str]
    sql: RustPattern
    dry_run: list[str]


class Doing(Record):
    """What a tool does, however it was recognized."""

    id: str
    category: EventType
    effect: bool | None = None
    target: Target | None = None
    state: str | None = None
    memory: bool = False
    external: bool = False


class ToolRule(Doing):
    """Tools by name, and by action where actions are given."""

    names: list[str]
    actions: list[str] = Field(default=[])
    kind: Kind = "plain"
    command_is_action: bool = False
    effect_when: RustPattern | None = None


class VerbRule(Doing):
    """An unknown tool by what its name and action say; one of a kind by its name and a command among its arguments."""

    pattern: RustPattern
    kind: Kind = "plain"


class WordRule(Doing):
    """An unknown tool by the word of its name, or of its action, that says what it does."""

    verbs: list[str] = Field(default=[])
    leads: list[str] = Field(default=[])
    before: list[str] = Field(default=[])
    behind: list[str] = Field(default=[])
    weak: list[str] = Field(default=[])


class NounRule(Doing):
    """An unknown tool whose name has no verb, by what it names."""

    heads: list[str]
    fields: list[str] = Field(default=[])
    pattern: PythonPattern | None = None


class WordsRules(Record):
    """How the words of a name are read."""

    things: list[str]
    prepositions: list[str]
    joints: list[str]


class StateFile(Record):
    """A file of the agent's own memory, persona or instructions."""

    id: str
    pattern: RustPattern
    memory: bool


class NotExecuted(Record):
    """What says that nothing was executed: status values, and what the details hold."""

    values: list[str]
    details: RustPattern


class ReportRules(Record):
    """Fields of a result that is nothing but a report of how the call ended."""

    longest: AtLeastOne
    status: list[str]
    code: list[str]
    success: list[str]
    error: list[str]
    reason: list[str]
    other: list[str]
    lowest_failure: HttpStatus
    look_categories: list[EventType]
    look_names: RustPattern

    @property
    def known(self) -> set[str]:
        """Every field that a report may have."""
        return {*self.status, *self.code, *self.success, *self.error, *self.reason, *self.other}


class StatusRules(Record):
    """How the signs of a failure become a status."""

    specific_first: list[ToolStatus]
    ok: ToolStatus
    ok_rule: str
    unknown: ToolStatus
    unsaid_rule: str
    error: ToolStatus
    aborted: ToolStatus
    details_rule: str
    text_rule: str
    open_rule: str
    missing_rule: str
    synthetic_rule: str
    is_error_rule: str
    exit_rule: str
    timed_out_rule: str
    timed_out: ToolStatus
    body_error_rule: str
    unlisted_rule: str
    clear_rule: str
    disabled_rule: str
    disabled: ToolStatus
    content_tools: list[str]
    content_names: RustPattern
    content_rules: list[str]
    body_values: list[str]
    exit_tail: RustPattern
    exit_head: RustPattern
    process_tools: list[str]
    head: AtLeastOne
    tail: AtLeastOne
    clear_unless: RustPattern
    values: dict[str, ToolStatus]
    not_executed: NotExecuted
    report: ReportRules
    asked_for: dict[str, RustPattern]

    @model_validator(mode="after")
    def values_are_listed(self) -> Self:
        """A condition on a value without meaning would never hold."""
        for several in (self.body_values, self.not_executed.values, self.asked_for):
            each_of(several, self.values)
        return self


class ExitCode(Record):
    """An exit code that has a meaning of its own."""

    code: ExitStatus
    kind: ToolStatus


class EnvelopeRule(Record):
    """How a harness other than OpenClaw writes into a result's text how the call ended: as a status, or its exit
    code."""

    id: str
    pattern: RustPattern
    status: ToolStatus | None = None  # without it the pattern's group is the exit code
    searched: Literal["everything", "outputs", "actions"] = "outputs"  # which results may hold it

    @model_validator(mode="after")
    def says_one(self) -> Self:
        """ValueError for a pattern with neither a status nor one group, or with both."""
        if number_of_groups(self.pattern) != (self.status is None):
            raise ValueError("has either `status`, or one group in `pattern` for the exit code")
        return self


class FailureRule(Record):
    """What the text of a failure says about its kind."""

    id: str
    kind: ToolStatus
    where: Literal["head", "tail", "whole"]
    pattern: RustPattern
    sign: bool = False
    executed: bool = True
    one_part: bool = False  # that nothing was executed it says of one program of a command line
    answered: bool = False  # it was executed, whatever other rules say
    gap: bool = False
    decides: bool = False  # its kind, whatever other kinds the text seems to be of


class ClearRule(Record):
    """A text of some tools that takes a failure, or an open end, back."""

    id: str
    tools: list[str]
    pattern: RustPattern


class SubjectRule(Record):
    """Status values in the details of some tools that say how their subject is, not how the call ended."""

    id: str
    tools: list[str]
    values: list[str]
    beside: RustPattern | None = None  # what the details hold as well


class DescribeRules(Rules):
    """Everything that names a tool, an argument, a state file or a status."""

    FILE: ClassVar[str] = "describe.toml"
    REFERENCES: ClassVar[tuple[Reference, ...]] = (
        Reference("status.content_rules", "describe.toml", ("tool.id", "verb.id")),
        Reference("status.content_tools", "describe.toml", ("tool.names",), spelled=plain_name),
        Reference("status.process_tools", "describe.toml", ("tool.names",), spelled=plain_name),
        Reference("clear.tools", "describe.toml", ("tool.names",), spelled=plain_name),
        Reference("subject.tools", "describe.toml", ("tool.names",), spelled=plain_name),
    )
    reply_category: EventType
    reply_rule: str
    fallback_category: EventType
    fallback_rule: str
    no_effect_rule: str
    not_executed_rule: str
    failed_rule: str
    category_effect_rule: str
    tool_effect_rule: str
    arguments_effect_rule: str
    dry_run_rule: str
    dry_run_category: EventType
    remote_rule: str
    effect_categories: list[EventType]
    no_effect_statuses: list[ToolStatus]
    failure_statuses: list[ToolStatus]
    remote_tools: RustPattern
    name_prefix: PythonPattern
    name_of_server: PythonPattern
    name_numbered: PythonPattern
    wrappers: list[ToolWrapper] = Field(alias="wrapper")
    arguments: ArgumentFields
    tools: list[ToolRule] = Field(alias="tool")
    verbs: list[VerbRule] = Field(alias="verb")
    words: WordsRules
    deciding: list[WordRule] = Field(alias="word")
    nouns: list[NounRule] = Field(alias="noun")
    state_files: list[StateFile] = Field(alias="state_file")
    status: StatusRules
    clears: list[ClearRule] = Field(alias="clear")
    subjects: list[SubjectRule] = Field(alias="subject")
    envelopes: list[EnvelopeRule] = Field(alias="envelope")
    exit_codes: list[ExitCode] = Field(alias="exit_code")
    failures: list[FailureRule] = Field(alias="failure")

    def acts(self, rule: Doing) -> bool:
        """True if what a rule says of a tool changes something outside."""
        return rule.effect if rule.effect is not None else rule.category in self.effect_categories

    @property
    def doings(self) -> list[Doing]:
        """Every rule that says what a tool does; its place is the number by which a call knows it."""
        return [*self.tools, *self.verbs, *self.deciding, *self.nouns]

    @model_validator(mode="after")
    def check_words(self) -> Self:
        """Of two rules with one word the order of the file would decide."""
        for several in ("verbs", "leads", "before", "behind", "weak"):
            each_once([word for rule in self.deciding for word in getattr(rule, several)], "stands twice", several)
        return self
