"""datapackage.json: of its schema, it lists the files that are there, and what it was made from is what records say."""

from collections.abc import Mapping
from pathlib import Path

from jsonschema import Draft202012Validator
from pydantic import ValidationError

from pipeline.canonical import canonical_json
from pipeline.records.datapackage import DataPackage, MadeFrom
from pipeline.release.card.croissant import NAME as CROISSANT
from pipeline.release.card.described import README
from pipeline.release.keys import Key
from pipeline.release.provenance import NAME, data_package, resources
from pipeline.release.validate.card import BROKEN, settings
from pipeline.release.validate.findings import Findings
from pipeline.release.validate.slim import Slim
from pipeline.schemas import json_schema

AFTER = (NAME, README, CROISSANT)  # written when the others are there


def check_data_package(root: Path, digests: Mapping[str, str], records: Mapping[Key, Slim], findings: Findings) -> None:
    """Findings of the package as a whole."""
    package = read(root, findings)
    if package is None:
        return
    said = {one.path: one for one in package.resources}
    want = {one.path: one for one in resources(root, {p: d for p, d in digests.items() if p not in AFTER})}
    for path in sorted(said.keys() | want.keys()):
        findings.checked["resources"] += 1
        if said.get(path) != want.get(path):
            findings.add("datapackage", NAME, f"{path} is not listed as it is in this folder")
    check_said(root, package, findings)
    check_made_from(package.provenance, digests, records, findings)


def check_said(root: Path, package: DataPackage, findings: Findings) -> None:
    """Name, version, description and licences are those of the settings with which the release was written."""
    try:
        rules = settings(root)
    except BROKEN:
        return  # the check of the card names it
    want = data_package(root, {}, package.provenance, rules)
    for name in ("name", "version", "description", "licenses"):
        if getattr(package, name) != getattr(want, name):
            findings.add("datapackage", NAME, f"{name} is not what publish.toml says")


def read(root: Path, findings: Findings) -> DataPackage | None:
    """The package; null with a finding where it is none."""
    try:
        text = (root / NAME).read_bytes()
        package = DataPackage.model_validate_json(text, strict=True)
    except (OSError, ValidationError) as error:
        findings.add("datapackage", NAME, f"cannot be read: {str(error).splitlines()[0]}")
        return None
    said = next(Draft202012Validator(json_schema(DataPackage)).iter_errors(package.model_dump()), None)
    if said is not None:
        findings.add("schemas_disagree", NAME, f"only the JSON Schema refuses it: {said.message}")
    return package


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
    if records and not made.inputs:
        findings.add("datapackage", NAME, "names no session that the records could be made from")
