"""`openclawbench validate RELEASE_DIR`: every check, in order, on any copy of a release."""

from pathlib import Path

import polars as pl

from openclawbench.release.card.configs import models_of
from openclawbench.release.record_key import Key
from openclawbench.release.release_folder import refuse_other_folder
from openclawbench.release.settings import PublishRules
from openclawbench.release.validate.files.checksums import check_checksums
from openclawbench.release.validate.files.data_package import check_data_package, read_package
from openclawbench.release.validate.files.folder_contents import check_forms, check_known, check_links
from openclawbench.release.validate.files.parquet_tables import check_parquet_tables
from openclawbench.release.validate.files.released_text import check_released_text, rules_of
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.labels.human_audited import check_human
from openclawbench.release.validate.labels.label_files import check_labels
from openclawbench.release.validate.labels.second_pass import check_second_pass
from openclawbench.release.validate.recompute.card import check_described
from openclawbench.release.validate.recompute.fields import Recomputed, RecordRecomputer
from openclawbench.release.validate.recompute.rules_in_force import read_in_force
from openclawbench.release.validate.recompute.splits import check_cuts
from openclawbench.release.validate.recompute.statistics import check_statistics
from openclawbench.release.validate.recompute.summaries import check_numbers
from openclawbench.release.validate.records.model_files import check_model
from openclawbench.release.validate.records.record_digest import RecordDigest
from openclawbench.release.validate.records.record_index import check_index, read_index
from openclawbench.release.writer.jsonl_files import released
from openclawbench.release.writer.render import MASTER_FILE, ROOT
from openclawbench.release.writer.second_pass import BOTH_FILE, RAW_FILES, REFERENCE_FILE


def validate(root: Path) -> Findings:
    """Everything that is wrong with the release in `root`. Raises UsageError if it is not a release folder."""
    refuse_other_folder(root)
    findings = Findings()
    check_links(root, findings)
    digests = check_checksums(root, findings)
    models, passes = models_of(root), passes_of(root)
    package = read_package(root, findings)
    provenance = None if package is None else package.provenance
    privacy = rules_of(root, findings)
    check_known(root, models, provenance, privacy, findings)
    in_force = read_in_force(root, provenance, findings)
    check_forms(root, in_force.contents.get(PublishRules.FILE, {}).get("jsonl") if in_force else None, findings)
    index = read_index(root, findings)
    records: dict[Key, RecordDigest] = {}
    statistics_columns: list[pl.DataFrame] = []
    derived = Recomputed(privacy.marker.partition("{")[0])
    for model in models:
        name = f"{ROOT}/{model}/{MASTER_FILE}"
        deriver = RecordRecomputer(root, model, name, index, in_force, passes, derived, findings) if in_force else None
        model_records, model_columns = check_model(root, model, index, deriver, findings)
        records |= model_records
        statistics_columns += model_columns
        check_parquet_tables(root, model, findings)
    check_index(index, records, derived, findings)
    check_labels(root, records, findings)
    check_second_pass(root, models, records, findings)
    check_human(root, records, findings)
    if in_force is not None:
        check_cuts(root, records, index, derived, in_force, findings)
    check_numbers(root, models, (record.basis for record in records.values()), findings)
    check_statistics(root, statistics_columns, findings)
    if package is not None:
        check_data_package(root, package, digests, records, in_force, passes, findings)
    text = check_released_text(root, models, privacy, findings)
    check_described(root, digests, text.table(), findings)
    return findings


def passes_of(root: Path) -> list[int]:
    """The annotation passes that have files in the release in `root`."""
    raw = [f"{ROOT}/{model}/{name}" for model in models_of(root) for name in RAW_FILES]
    second = any(released(root / name) for name in (REFERENCE_FILE, BOTH_FILE, *raw))
    return [1, 2] if second else [1]
