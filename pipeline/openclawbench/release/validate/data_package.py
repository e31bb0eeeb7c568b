"""datapackage.json: it fits its schema, lists the files of the folder, and its provenance agrees with the records."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from pydantic import ValidationError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import InvalidRules
from openclawbench.records.datapackage import INPUTS_FILE, DataPackage, Disposition, InputFile, MadeFrom
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README
from openclawbench.release.input_files import TRAJECTORY
from openclawbench.release.labels.labels import as_json
from openclawbench.release.provenance import NAME, data_package, program_digest, resources
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare, read_json
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import raw_lines, read_line, schema_error_of
from openclawbench.release.validate.provenance import SHA256, check_provenance
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.records.key_tables import KeyCounts, side_by_side
from openclawbench.release.validate.records.record_digest import Records
from openclawbench.release.validate.same_files import json_differences
from openclawbench.release.validate.write_again import verdicts_of

COPY = "copy_of"  # reason of a copy
BESIDE = {"used_as_context", "no_session"}  # reasons of files that lie beside sessions
AFTER = (NAME, README, CROISSANT)  # written when the others are there


def read_package(root: Path, findings: Findings) -> DataPackage | None:
    """The package; None with a finding if it is not valid."""
    content = read_json(root, NAME, "datapackage", findings)
    if content is None:
        return None
    refused = schema_error_of(content, DataPackage)
    try:
        package = DataPackage.model_validate_json((root / NAME).read_bytes(), strict=True)
    except OSError as error:
        findings.add("datapackage", NAME, f"cannot be read: {error}")
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        hint = " (another version of the program made this release: validate it with that one)"
        other = made_by(content) not in (None, program_digest())
        findings.add("datapackage", NAME, f"cannot be read: {where}: {first['msg']}{hint if other else ''}")
        return None
    if refused is not None:
        findings.add("schemas_disagree", NAME, f"only the JSON Schema refuses it: {refused.message}")
    return package


def made_by(content: Any) -> str | None:
    """The digest of the program that a package names; None if it names none."""
    provenance = content.get("provenance") if isinstance(content, dict) else None
    digest = provenance.get("program_sha256") if isinstance(provenance, dict) else None
    return digest if isinstance(digest, str) else None


class Inputs:
    """What is kept of the inputs that a release names: how many became each record, and the licences that are stated
    for them."""

    def __init__(self, connection: sqlite3.Connection, models: Iterable[str]) -> None:
        self.models = {*models}
        self.of_record = KeyCounts(connection, "inputs")
        self.licenses: Counter[str] = Counter()  # of those that became a record

    def read(self, root: Path, findings: Findings) -> None:
        """Read and check input_files.jsonl, a line at a time."""
        for number, raw in raw_lines(root, INPUTS_FILE, findings):
            line = read_line(INPUTS_FILE, number, raw, InputFile, findings)
            if line is not None:
                self.add(line.record, findings)

    def add(self, input_file: InputFile, findings: Findings) -> None:
        """An input has a known disposition, and with it a trajectory or a reason."""
        findings.checked["inputs"] += 1
        label = f"input {input_file.path}" + (f" ({input_file.member})" if input_file.member else "")
        if input_file.disposition not in get_args(Disposition):
            message = f"{label}: disposition is {input_file.disposition!r}, which is not in the closed vocabulary"
            findings.add("inputs", INPUTS_FILE, message)
        elif input_file.disposition == TRAJECTORY and input_file.trajectory_id is not None:
            self.of_record.add((input_file.source_model, input_file.trajectory_id))
            self.licenses.update([input_file.license] if input_file.license else [])
        elif input_file.disposition == TRAJECTORY or input_file.reason is None:
            lacking = "trajectory_id" if input_file.disposition == TRAJECTORY else "reason"
            message = f"{label}: disposition is {input_file.disposition}, and it has no {lacking}"
            findings.add("inputs", INPUTS_FILE, message)
        for message in self.contradictions(input_file):
            findings.add("inputs", INPUTS_FILE, f"{label}: {message}")

    def contradictions(self, input_file: InputFile) -> Iterator[str]:
        """What is contradictory in a row: its path is inside the raw folder, and its model is that of a folder or a
        record. A part of a file without a record may name a model that nothing else in the release does."""
        parts = PurePosixPath(input_file.path).parts
        if ".." in parts or input_file.path.startswith("/"):
            yield "path leads out of the raw folder"
        is_named = bool(input_file.member) and input_file.disposition != TRAJECTORY
        if not is_named and input_file.source_model not in self.models | {parts[0] if len(parts) > 1 else ""}:
            yield f"source_model is {input_file.source_model}, which neither a record nor its path names"
        if (input_file.disposition == "copy") != (input_file.reason == COPY):
            yield f"disposition is {input_file.disposition}, and its reason is {input_file.reason}"
        if input_file.reason in BESIDE and input_file.disposition != "sidecar":
            yield f"disposition is {input_file.disposition}, and its reason is {input_file.reason}"
        for name in ("sha256", "context_sha256"):
            if (digest := getattr(input_file, name)) is not None and not SHA256.fullmatch(digest):
                yield f"{name} is {digest!r}, which is no digest"
        if input_file.disposition == TRAJECTORY and input_file.reason is not None:
            yield f"disposition is {TRAJECTORY}, and it has the reason {input_file.reason}"


def check_data_package(
    root: Path,
    package: DataPackage,
    inputs: Inputs,
    digests: Mapping[str, str],
    records: Records,
    in_force: RulesInForce | None,
    passes: list[int],
    findings: Findings,
) -> None:
    """Findings of the package. `passes`: the annotation passes that have answers in the
    release."""
    listed = {resource.path: resource for resource in package.resources}
    expected = {
        resource.path: resource for resource in resources(root, {p: d for p, d in digests.items() if p not in AFTER})
    }
    for path in sorted(listed.keys() | expected.keys()):
        findings.checked["resources"] += 1
        if listed.get(path) != expected.get(path):
            findings.add(
                "datapackage",
                NAME,
                f"{path} is listed with a size or digest that the file in this folder does not have",
            )
    check_made_from(package.provenance, digests, records, findings)
    check_inputs(inputs, records, findings)
    named = sorted(used.annotation_pass for used in package.provenance.judges)
    if named != passes:
        findings.add(
            "datapackage", NAME, f"judges are named of the passes {named}, the release holds those of {passes}"
        )
    if in_force is not None:
        check_dataset(root, package, inputs, in_force, findings)
        check_provenance(in_force, verdicts_of(root), findings)
    expected_bytes = as_json(package.model_dump())
    if (root / NAME).read_bytes() != expected_bytes:
        for number, message in json_differences((root / NAME).read_bytes(), expected_bytes):
            findings.add("datapackage", NAME, message, number)


def check_made_from(provenance: MadeFrom, digests: Mapping[str, str], records: Records, findings: Findings) -> None:
    """The package names the judges of the records and the released prompts."""
    named_judges = {(judge.judge, judge.judge_model) for judge in provenance.judges}
    judges_of_records = {(record.basis["judge"], record.basis["judge_model"]) for _, record in records.rows()} - {
        (None, None)
    }
    for judge in sorted(judges_of_records - named_judges, key=str):
        findings.add(
            "datapackage", NAME, f"records have a judge that the package does not name: {canonical_json(list(judge))}"
        )
    prompts = {f"prompts/{prompt.stage}/{prompt.version}.md": prompt.sha256 for prompt in provenance.prompts}
    for path, sha256 in digests.items():
        if path.startswith("prompts/") and prompts.get(path) != sha256:
            findings.add("datapackage", NAME, f"{path} is not the prompt that the package names as in force")


def check_inputs(inputs: Inputs, records: Records, findings: Findings) -> None:
    """Every record has one input; every input has its record, or a reason why it has none."""
    for key, _, is_record in side_by_side(inputs.of_record, records):
        if not is_record:
            findings.add("inputs", INPUTS_FILE, f"an input became {'/'.join(key)}, but that record is not released")
        elif (count := inputs.of_record.get(key, 0)) != 1:
            message = f"{'/'.join(key)} is released, and {count} inputs became it: each record has one"
            findings.add("inputs", INPUTS_FILE, message)


def check_dataset(root: Path, package: DataPackage, inputs: Inputs, in_force: RulesInForce, findings: Findings) -> None:
    """Name, version, description and licences agree with the settings and the inputs."""
    try:
        expected = data_package(root, {}, package.provenance, in_force.rules(PublishRules), inputs.licenses)
    except InvalidRules as error:
        findings.add("rules", PublishRules.FILE, f"cannot be used: {error}")
        return
    left_out = {"resources", "provenance"}
    compare(package.model_dump(exclude=left_out), expected.model_dump(exclude=left_out), NAME, "datapackage", findings)
