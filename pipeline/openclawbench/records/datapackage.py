"""datapackage.json of a release: its files, and everything they were made from (a Frictionless Data Package)."""

from typing import Literal

from openclawbench.tables.record import Record

Disposition = Literal["trajectory", "copy", "quarantined", "sidecar"]  # what became of an input


class License(Record):
    """A licence and what it covers."""

    name: str
    title: str


class Resource(Record):
    """One file of the release."""

    name: str  # lower case, unique
    path: str
    format: str
    bytes: int
    hash: str  # sha256:<hex>


class InputFile(Record):
    """One session that came in, whatever became of it."""

    source_model: str
    path: str  # from the raw folder
    member: str | None  # of a file that holds several sessions
    sha256: str | None  # null where it could not be read
    context_sha256: str | None  # of what lies beside it and was read with it; null where nothing does
    disposition: str | None  # trajectory | copy | quarantined | sidecar; null before that is known
    reason: str | None  # why it is a copy, quarantined or no session
    trajectory_id: str | None  # of the record that it became, or is a copy of


class InputTable(Record):
    """Rows that came in beside the sessions, whatever file and order they stood in."""

    name: str  # run_manifest | outcomes
    rows: int
    sha256: str  # of the rows as JSON lines, sorted


class RuleFile(Record):
    """A rule file in force."""

    file: str
    version: str
    sha256: str  # of its content as canonical JSON: comments and layout do not count
    as_shipped: bool  # false where a folder of rules, or a setting in the commands, says something else


class PromptFile(Record):
    """A prompt in force."""

    stage: str
    version: str
    sha256: str  # of the file's bytes


class JudgeUsed(Record):
    """Who was asked in a pass."""

    annotation_pass: int
    judge: str
    judge_model: str
    digest: str  # of what decides its answers beside the question


class Dependency(Record):
    """An installed package that has a part in the bytes."""

    name: str
    version: str


class MadeFrom(Record):
    """Everything that decides the bytes of a release, and nothing of the machine that it was made on."""

    commands: list[str]  # that make it again; folders, engine, workers and limits decide no byte and are left out
    program_version: str
    program_sha256: str  # over every module and rule file of the program
    python: str  # major.minor
    lock_sha256: str | None  # of requirements.lock; null where the program is installed without it
    dependencies: list[Dependency]
    schema_version: str
    rules_version: str  # of all rule files together, as in `provenance` of every record
    rules: list[RuleFile]
    prompts: list[PromptFile]
    judges: list[JudgeUsed]
    input_tables: list[InputTable]
    inputs: list[InputFile]


class DataPackage(Record):
    """The whole file."""

    name: str
    version: str
    description: str
    licenses: list[License]
    resources: list[Resource]
    provenance: MadeFrom
