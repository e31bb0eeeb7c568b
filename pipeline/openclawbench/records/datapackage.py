"""datapackage.json of a release: its files, and everything that they were made from (a Frictionless Data Package)."""

from typing import Literal

from openclawbench.records.certificate import JudgeCertificate
from openclawbench.tables.record import Record

INPUTS_FILE = "input_files.jsonl"
Disposition = Literal["trajectory", "copy", "quarantined", "sidecar"]  # what became of an input


class License(Record):
    """A licence and what it covers."""

    name: str
    title: str


class Resource(Record):
    """One file of the release."""

    name: str
    path: str
    format: str
    bytes: int
    hash: str


class InputFile(Record):
    """A line of input_files.jsonl: one session that was read, whatever became of it."""

    source_model: str
    path: str
    member: str | None
    sha256: str | None
    context_sha256: str | None
    license: str | None
    disposition: str | None
    reason: str | None
    trajectory_id: str | None


class InputTable(Record):
    """Rows that were read beside the sessions, whatever their files and order."""

    name: str
    rows: int
    sha256: str


class RuleFile(Record):
    """A rule file in force."""

    file: str
    version: str
    sha256: str
    as_shipped: bool


class PromptFile(Record):
    """A prompt in force."""

    stage: str
    version: str
    sha256: str


class JudgeUsed(Record):
    """The judge of a pass. `certificate` is null for a judge that has not sat the exam."""

    annotation_pass: int
    judge: str
    judge_model: str
    digest: str
    blind: bool | None
    certificate: JudgeCertificate | None


class Dependency(Record):
    """An installed package that affects the bytes of the release."""

    name: str
    version: str


class MadeFrom(Record):
    """Everything that decides the bytes of a release, and nothing about the machine that made it."""

    commands: list[str]
    program_version: str
    program_sha256: str
    python: str
    lock_sha256: str | None
    dependencies: list[Dependency]
    schema_version: str
    rules_version: str
    rules: list[RuleFile]
    prompts: list[PromptFile]
    judges: list[JudgeUsed]
    input_tables: list[InputTable]


class DataPackage(Record):
    """The whole file."""

    name: str
    version: str
    description: str
    licenses: list[License]
    resources: list[Resource]
    provenance: MadeFrom
