"""Publish: write the release folder of a run next to the current one, check it, and replace the current one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.base.canonical_json import canonical_json
from openclawbench.base.code_digest import code_digest
from openclawbench.base.gc_control import gc_disabled
from openclawbench.judge.prompts import prompt_files
from openclawbench.records.calibration import HumanVerdict
from openclawbench.records.datapackage import MadeFrom
from openclawbench.records.release import (
    Fingerprint,
    LabelAssignment,
    LabelBasis,
    LineSize,
    ReleaseFind,
    ReleaseLine,
    SplitCertificate,
    SummaryCount,
)
from openclawbench.records.second_pass import ReferenceLabel, ReleaseFindPass2, ReleaseLinePass2
from openclawbench.records.session import FileOutcome
from openclawbench.release.baseline_notice import RULES_NOTICE
from openclawbench.release.card.described import TEXTS
from openclawbench.release.card.second_pass import SECOND_NOTICE, SECOND_ROWS
from openclawbench.release.files.names import LINE_FILES, RAW_FILES
from openclawbench.release.files.staging_folder import StagingFolder
from openclawbench.release.human_audited import HUMAN_ROWS
from openclawbench.release.privacy.policy import REPORT, left_in, refuse_blocked, report
from openclawbench.release.privacy.publishing import Scanned
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import Certificates, made_from
from openclawbench.release.record_key import key_of
from openclawbench.release.settings import PublishRules
from openclawbench.release.statistics.context import paper_words
from openclawbench.release.unjudged import UNJUDGED_NOTICE, is_unjudged, line_files
from openclawbench.release.writer.pieces import REDACTED, limit_files, plan_pieces
from openclawbench.release.writer.side_by_side import MakeEngine
from openclawbench.release.writer.steps import ROUNDS, Checks, carry_out
from openclawbench.release.writer.summarize import summary
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.rules.loading.rule_file import rule_path
from openclawbench.rules.release.release import ReleaseRules
from openclawbench.runtime.engines.serial import Serial
from openclawbench.runtime.run import Run, digest
from openclawbench.storage.data_folder import DataFolder, read_json, write_json
from openclawbench.tables.record import TRAJECTORY_KEY

FIRST_PASS = (
    ReleaseLine,
    ReleaseFind,
    LabelAssignment,
    SplitCertificate,
    SummaryCount,
    LabelBasis,
    Fingerprint,
    FileOutcome,
)
SECOND_PASS = (ReferenceLabel, ReleaseLinePass2, ReleaseFindPass2)
NO_CERTIFICATES: Certificates = {}


@gc_disabled()
def publish(
    run: Run,
    commands: list[str],
    checks: Checks,
    verdicts: Sequence[HumanVerdict] = (),
    certificates: Certificates = NO_CERTIFICATES,
    make_engine: MakeEngine = lambda _: Serial(),
) -> bool:
    """Write the release folder; false if the release for these keys already exists.

    commands: the commands that make it again; checks: what the folder has to pass;
    verdicts: human verdicts on trajectories, which are published next to the labels and change none;
    certificates: those of the judges, which the release quotes; make_engine: gives the engine for a number of calls.
    Raises ReleaseBlocked and InvalidRelease; the former release is then kept.
    """
    verdicts = on_records(run, verdicts)
    origin = made_from(run.intake, run.judges, commands, verdicts, run.overrides, certificates)
    key = release_key(run, origin)
    if is_current(run.data, key):
        return False
    outcomes = [*run.data.parts(FileOutcome, run.keys[FileOutcome]).values()]
    scanned = scan_finds(run, outcomes)
    manifest = run.data.manifest_file("publish")
    manifest.unlink(missing_ok=True)  # until the end no release counts as current
    staging = StagingFolder(run.data)
    scanned.to_redact().write_parquet(staging.scratch / REDACTED)
    values: dict[str, Any] = {"staging": staging, "scanned": scanned, "verdicts": verdicts, "checks": checks}
    values |= {"made_from": origin, "outcomes": outcomes} | rules_and_tables(run)
    values["lines"] = limit_files(line_shards(run), staging.scratch, make_engine)
    values = carry_out(ROUNDS, values, staging, make_engine)
    staging.publish()
    files = len(values["digests"]) + 1  # and the checksums
    entry = {"stage": "publish", "key": key, "models": values["records"].models, "files": files}
    write_json(manifest, entry | {"left_in": left_in(scanned)})
    return True


def on_records(run: Run, verdicts: Sequence[HumanVerdict]) -> list[HumanVerdict]:
    """The verdicts on records of this release: the others are not released, and decide none of its bytes."""
    if not verdicts:
        return []
    keys = run.data.scan(LabelBasis, run.keys[LabelBasis]).select(TRAJECTORY_KEY).collect()
    own = set(keys.iter_rows())
    return [verdict for verdict in verdicts if key_of(verdict.model_dump()) in own]


def rules_and_tables(run: Run) -> dict[str, Any]:
    """The values that the steps read besides the lines."""
    data, keys = run.data, run.keys
    second, settings = has_second_pass(run), PublishRules.load(overrides=run.overrides)
    counts = data.scan(SummaryCount, keys[SummaryCount]).collect()
    basis, fingerprints = (data.parts(table, keys[table]) for table in (LabelBasis, Fingerprint))
    assignments = data.parts(LabelAssignment, keys[LabelAssignment])
    references = data.parts(ReferenceLabel, keys[ReferenceLabel]) if second else {}
    return {
        "overrides": run.overrides,
        "settings": settings,
        "privacy": PrivacyRules.load(overrides=run.overrides),
        "release_rules": ReleaseRules.load(overrides=run.overrides),
        "pieces": plan_pieces(data.scan(LineSize, keys[LineSize]), settings.jsonl_shard_bytes),
        "required_files": [*line_files(summary(counts), LINE_FILES), *(RAW_FILES if second else ())],
        "is_unjudged": is_unjudged(summary(counts)),
        "assignments": [*assignments.values()],
        "certificates": data.scan(SplitCertificate, keys[SplitCertificate]),
        "counts": counts,
        # A shard of outcomes alone, whose sessions lie in other shards, has no record and no fingerprints.
        "inputs_of_split": [(basis[shard], path) for shard, path in fingerprints.items()],
        "references": [references[shard] for shard in assignments] if second else [],
    }


def release_key(run: Run, origin: MadeFrom) -> str:
    """Digest of everything that decides the bytes of a run's release."""
    tables = (*FIRST_PASS, *(SECOND_PASS if has_second_pass(run) else ()))
    rules, privacy = PublishRules.load(overrides=run.overrides), PrivacyRules.load(overrides=run.overrides)
    versions = (code_digest(__name__), rules.digest, privacy.digest, canonical_json(origin), *fixed_texts())
    return digest(*versions, *(str(sorted(run.keys[table].items(), key=str)) for table in tables))


def is_current(data: DataFolder, key: str) -> bool:
    """True if the release in the data folder has this key."""
    manifest = read_json(data.manifest_file("publish")) or {}
    return manifest.get("key") == key and data.release.is_dir()


def has_second_pass(run: Run) -> bool:
    """True if there is a second pass to release."""
    return SECOND_PASS[0] in run.keys


def line_shards(run: Run) -> list[Path]:
    """Shards of the rendered lines of every pass."""
    tables = [table for table in (ReleaseLine, ReleaseLinePass2) if table in run.keys]
    return [path for table in tables for path in run.data.parts(table, run.keys[table]).values()]


def scan_finds(run: Run, outcomes: Sequence[Path]) -> Scanned:
    """What the search found in every line to be released, and in the paths of inputs. `outcomes`: parts of FileOutcome.
    Raises ReleaseBlocked; the report of finds is written in either case."""
    scanned = Scanned(PrivacyRules.load(overrides=run.overrides))
    tables = [table for table in (ReleaseFind, ReleaseFindPass2) if table in run.keys]
    parts = [run.data.parts(table, run.keys[table]) for table in tables]
    scanned.count_finds(
        parts, (pl.read_parquet(part, glob=False, columns=["source_model", "path", "member"]) for part in outcomes)
    )
    folder = run.data.write_report(REPORT, report(scanned))
    refuse_blocked(scanned, str(folder))
    return scanned


def fixed_texts() -> list[str]:
    """Texts other than the data; a change of one makes a release stale."""
    taxonomy = rule_path(Taxonomy.FILE).read_text(encoding="utf-8")
    prompts = [prompt.sha256 for prompt in prompt_files()]
    notices = [RULES_NOTICE, UNJUDGED_NOTICE, SECOND_ROWS, SECOND_NOTICE, HUMAN_ROWS]
    return [taxonomy, *prompts, paper_words().digest, *notices, *TEXTS]
