"""Publish: write the release folder of a run beside the current one, check it, and put it in its place."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openclawbench.base.canonical_json import canonical_bytes, canonical_json
from openclawbench.base.code_digest import code_digest
from openclawbench.base.gc_control import gc_disabled
from openclawbench.judge.prompts import prompt_files
from openclawbench.records.calibration import HumanVerdict
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.release import (
    Fingerprint,
    LabelAssignment,
    LabelBasis,
    ReleaseLine,
    SplitCertificate,
    SummaryCount,
)
from openclawbench.records.second_pass import ReferenceLabel, ReleaseLinePass2
from openclawbench.records.session import FileOutcome
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.release.card.described import TEXTS
from openclawbench.release.human_audited import HUMAN_ROWS
from openclawbench.release.privacy.policy import REPORT, left_in, refuse_blocked, report
from openclawbench.release.privacy.publishing import Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.context import paper_words
from openclawbench.release.writer.provenance import INPUT_KEY, OUTCOME, Certificates, made_from, with_outcomes
from openclawbench.release.writer.second_pass import SECOND_NOTICE, SECOND_ROWS
from openclawbench.release.writer.staging_folder import StagingFolder
from openclawbench.release.writer.steps import STEPS, carry_out
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.rules.taxonomy import Taxonomy
from openclawbench.runtime.run import Run, digest
from openclawbench.storage.data_folder import DataFolder, read_json, write_json
from openclawbench.tables.record import TRAJECTORY_KEY

FIRST_PASS = (ReleaseLine, LabelAssignment, SplitCertificate, SummaryCount, LabelBasis, Fingerprint, FileOutcome)
SECOND_PASS = (ReferenceLabel, ReleaseLinePass2)
NO_CERTIFICATES: Certificates = {}


@gc_disabled()
def publish(
    run: Run,
    commands: list[str],
    check: Callable[[Path], None],
    verdicts: Sequence[HumanVerdict] = (),
    certificates: Certificates = NO_CERTIFICATES,
) -> bool:
    """Write the release folder; false if the release for these keys already exists.

    commands: the commands that make it again; check: raises InvalidRelease for a folder that must not be published;
    verdicts: human verdicts on trajectories, which are published beside the labels and change none; certificates: those
    of the judges, which the release quotes. Raises ReleaseBlocked and InvalidRelease; the former release then stays.
    """
    origin = made_from(run.intake, run.judges, commands, verdicts, run.overrides, certificates)
    key = release_key(run, origin)
    if stands(run.data, key):
        return False
    shards = line_shards(run)
    scanned = scan_lines(run, shards, origin)
    manifest = run.data.manifest_file("publish")
    manifest.unlink(missing_ok=True)  # from here to the end no release counts as current
    staging = StagingFolder(run.data)
    provided = {"staging": staging, "scanned": scanned, "shards": shards, "verdicts": verdicts, "check": check}
    values: dict[str, Any] = provided | rules_and_tables(run, origin)
    del origin  # its inputs stand in the values once more, with their outcomes
    values = carry_out(STEPS, values, staging)
    staging.publish()
    files = len(values["digests"]) + 1  # and the checksums
    summary = {"stage": "publish", "key": key, "models": values["records"].models, "files": files}
    write_json(manifest, summary | {"left_in": left_in(scanned)})
    return True


def rules_and_tables(run: Run, origin: MadeFrom) -> dict[str, Any]:
    """The values that the steps read besides the lines."""
    data, keys = run.data, run.keys
    outcomes = data.scan(FileOutcome, keys[FileOutcome]).select(*INPUT_KEY, *OUTCOME).collect().iter_rows()
    references = (
        data.scan(ReferenceLabel, keys[ReferenceLabel]).sort(TRAJECTORY_KEY).collect() if has_second_pass(run) else None
    )
    return {
        "overrides": run.overrides,
        "settings": PublishRules.load(overrides=run.overrides),
        "privacy": PrivacyRules.load(overrides=run.overrides),
        "made_from": with_outcomes(origin, outcomes),
        "second_pass": has_second_pass(run),
        "assignments": data.scan(LabelAssignment, keys[LabelAssignment]).sort(TRAJECTORY_KEY).collect(),
        "certificates": data.scan(SplitCertificate, keys[SplitCertificate]).collect(),
        "counts": data.scan(SummaryCount, keys[SummaryCount]).collect(),
        "basis": data.scan(LabelBasis, keys[LabelBasis]),
        "fingerprints": data.scan(Fingerprint, keys[Fingerprint]),
        "references": references,
    }


def release_key(run: Run, origin: MadeFrom) -> str:
    """Digest of everything that decides the bytes of a run's release."""
    tables = (*FIRST_PASS, *(SECOND_PASS if has_second_pass(run) else ()))
    rules, privacy = PublishRules.load(overrides=run.overrides), PrivacyRules.load(overrides=run.overrides)
    inputs = hashlib.sha256()
    for entry in origin.inputs:
        inputs.update(canonical_bytes(entry))
    rest = canonical_json(origin.model_copy(update={"inputs": []}))
    versions = (code_digest(__name__), rules.digest, privacy.digest, inputs.hexdigest(), rest, *fixed_texts())
    return digest(*versions, *(str(sorted(run.keys[table].items(), key=str)) for table in tables))


def stands(data: DataFolder, key: str) -> bool:
    """True if the release of this key exists."""
    manifest = read_json(data.manifest_file("publish")) or {}
    return manifest.get("key") == key and data.release.is_dir()


def has_second_pass(run: Run) -> bool:
    """True if there is a second pass to release."""
    return SECOND_PASS[0] in run.keys


def line_shards(run: Run) -> list[Path]:
    """Shards of the rendered lines of every pass."""
    tables = [table for table in (ReleaseLine, ReleaseLinePass2) if table in run.keys]
    return [run.data.part(table, shard, key) for table in tables for shard, key in run.keys[table].items()]


def scan_lines(run: Run, shards: list[Path], origin: MadeFrom) -> Scanned:
    """Scan every line that is to be released. Raises ReleaseBlocked; the report of finds is written in either case."""
    scanned = Scanned(PrivacyRules.load(overrides=run.overrides))
    scanned.look(shards, origin.inputs)
    folder = run.data.write_report(REPORT, report(scanned))
    refuse_blocked(scanned, str(folder))
    return scanned


def fixed_texts() -> list[str]:
    """Texts beside the data, which make a release stale when they change."""
    taxonomy = rule_path(Taxonomy.FILE).read_text(encoding="utf-8")
    prompts = [prompt.sha256 for prompt in prompt_files()]
    return [taxonomy, *prompts, RULES_NOTICE, paper_words().digest, SECOND_ROWS, SECOND_NOTICE, HUMAN_ROWS, *TEXTS]
