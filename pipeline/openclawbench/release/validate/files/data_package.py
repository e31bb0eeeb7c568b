"""datapackage.json: of its schema, it lists the files that are there, and what it was made from is what records say."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from openclawbench.base.canonical_json import canonical_json
from openclawbench.errors import InvalidRules
from openclawbench.records.datapackage import DataPackage, Disposition, MadeFrom
from openclawbench.records.json_schema import SCHEMA_VERSION, json_schema
from openclawbench.records.tiers import BASELINE_JUDGES
from openclawbench.release.card.croissant import NAME as CROISSANT
from openclawbench.release.card.described import README
from openclawbench.release.keys import Key
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.compare import compare, read_json
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.rules_in_force import InForce
from openclawbench.release.validate.records.record_digest import Slim
from openclawbench.release.writer.provenance import NAME, data_package, resources

AFTER = (NAME, README, CROISSANT)  # written when the others are there
TRAJECTORY = "trajectory"


def read_package(root: Path, findings: Findings) -> DataPackage | None:
    """The package; null with a finding where it is none."""
    said = read_json(root, NAME, "datapackage", findings)
    if said is None:
        return None
    try:
        package = DataPackage.model_validate_json((root / NAME).read_bytes(), strict=True)
    except (OSError, ValidationError) as error:
        findings.add("datapackage", NAME, f"cannot be read: {str(error).splitlines()[0]}")
        return None
    refused = next(Draft202012Validator(json_schema(DataPackage)).iter_errors(said), None)
    if refused is not None:
        findings.add("schemas_disagree", NAME, f"only the JSON Schema refuses it: {refused.message}")
    return package


def check_data_package(
    root: Path,
    package: DataPackage,
    digests: Mapping[str, str],
    records: Mapping[Key, Slim],
    in_force: InForce | None,
    passes: list[int],
    findings: Findings,
) -> None:
    """Findings of the package as a whole. `passes`: the annotation passes of which the release holds answers."""
    said = {one.path: one for one in package.resources}
    want = {one.path: one for one in resources(root, {p: d for p, d in digests.items() if p not in AFTER})}
    for path in sorted(said.keys() | want.keys()):
        findings.checked["resources"] += 1
        if said.get(path) != want.get(path):
            findings.add("datapackage", NAME, f"{path} is not listed as it is in this folder")
    check_made_from(package.provenance, digests, records, findings)
    check_inputs(package.provenance, records, findings)
    if in_force is not None:
        check_dataset(root, package, in_force, findings)
        check_judges(in_force, passes, findings)


def check_made_from(
    made: MadeFrom, digests: Mapping[str, str], records: Mapping[Key, Slim], findings: Findings
) -> None:
    """Judges and models of the records are among those named; every released prompt is the one that was in force."""
    known = {(one.judge, one.judge_model) for one in made.judges}
    asked = {(one.basis["judge"], one.basis["judge_model"]) for one in records.values()} - {(None, None)}
    for judge in sorted(asked - known, key=str):
        findings.add("datapackage", NAME, f"records name a judge that it does not: {canonical_json(list(judge))}")
    prompts = {f"prompts/{one.stage}/{one.version}.md": one.sha256 for one in made.prompts}
    for path, sha256 in digests.items():
        if path.startswith("prompts/") and prompts.get(path) != sha256:
            findings.add("datapackage", NAME, f"{path} is not the prompt that it says was in force")
    if made.schema_version != SCHEMA_VERSION:
        message = f"schema_version is {made.schema_version}, the records are of schema {SCHEMA_VERSION}"
        findings.add("datapackage", NAME, message)


def check_inputs(made: MadeFrom, records: Mapping[Key, Slim], findings: Findings) -> None:
    """Every record has its input, every input that became a record has it here, and each other one has a reason."""
    became: Counter[Key] = Counter()
    for one in made.inputs:
        findings.checked["inputs"] += 1
        who = f"input {one.path}" + (f" ({one.member})" if one.member else "")
        if one.disposition not in get_args(Disposition):
            findings.add("inputs", NAME, f"{who}: disposition is {one.disposition!r}, none of its closed vocabulary")
        elif one.disposition == TRAJECTORY and one.trajectory_id is not None:
            became[one.source_model, one.trajectory_id] += 1
        elif one.disposition == TRAJECTORY or one.reason is None:
            lacking = "trajectory_id" if one.disposition == TRAJECTORY else "reason"
            findings.add("inputs", NAME, f"{who}: disposition is {one.disposition}, and it has no {lacking}")
    for key in sorted(became.keys() | records.keys()):
        if key not in records:
            findings.add("inputs", NAME, f"an input became {'/'.join(key)}, and no such record is released")
        elif became[key] != 1:
            message = f"{'/'.join(key)} is released, and {became[key]} inputs became it: each record has one"
            findings.add("inputs", NAME, message)


def check_dataset(root: Path, package: DataPackage, in_force: InForce, findings: Findings) -> None:
    """Name, version, description and licences are those of the settings."""
    try:
        want = data_package(root, {}, package.provenance, in_force.rules(PublishRules))
    except InvalidRules as error:
        findings.add("rules", PublishRules.FILE, f"cannot be used: {error}")
        return
    apart = {"resources", "provenance"}
    compare(package.model_dump(exclude=apart), want.model_dump(exclude=apart), NAME, "datapackage", findings)


def check_judges(in_force: InForce, passes: list[int], findings: Findings) -> None:
    """A judge is named for each pass that has answers; the embedded one is this program's, where this program made the
    release."""
    named = sorted(one.annotation_pass for one in in_force.made.judges)
    if named != passes:
        findings.add(
            "datapackage", NAME, f"judges are named of the passes {named}, the release holds those of {passes}"
        )
    for one in in_force.made.judges:
        if one.judge in BASELINE_JUDGES and in_force.same_program:
            try:
                judge = in_force.judge()
            except (InvalidRules, TypeError) as error:
                findings.add("rules", NAME, f"the embedded judge's rules cannot be used: {error}")
                continue
            if (judge.digest, judge.model) != (one.digest, one.judge_model):
                message = f"the embedded judge has the digest {judge.digest[:12]}…, it says {one.digest[:12]}…"
                findings.add("datapackage", NAME, message)
