"""`openclawbench validate RELEASE_DIR`: every check, in order, on any copy of a release.

The files of the source models are checked one after another, or side by side in worker processes. What is known of each
record is kept in temporary files, so that memory does not grow with their number.
"""

import sqlite3
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from openclawbench.errors import WorkersFailed
from openclawbench.records.release import LabelBasis
from openclawbench.release.files.jsonl_files import place_of, released
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, RAW_FILES, REFERENCE_FILE, ROOT, models_of
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.release_folder import refuse_other_folder
from openclawbench.release.settings import PublishRules
from openclawbench.release.unjudged import nobody_judged
from openclawbench.release.validate.data_package import Inputs, check_data_package, read_package
from openclawbench.release.validate.files.checksums import check_checksums
from openclawbench.release.validate.files.folder_contents import check_forms, check_known, check_links
from openclawbench.release.validate.files.released_text import check_released_text, rules_of
from openclawbench.release.validate.findings import Finding, Findings
from openclawbench.release.validate.labels.human_audited import check_human
from openclawbench.release.validate.labels.label_files import check_labels
from openclawbench.release.validate.labels.second_pass import check_second_pass
from openclawbench.release.validate.model_task import KINDS, MARKED, Kind, ModelResult, ModelTask, carry_out
from openclawbench.release.validate.recompute.card import check_described
from openclawbench.release.validate.recompute.fields import Recomputed
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce, read_in_force
from openclawbench.release.validate.recompute.splits import check_cuts
from openclawbench.release.validate.recompute.statistics import check_statistics
from openclawbench.release.validate.recompute.summaries import check_numbers
from openclawbench.release.validate.records.key_tables import KeyCounts, open_database
from openclawbench.release.validate.records.record_digest import Records, records_in
from openclawbench.release.validate.records.record_index import check_index, index_in, read_index
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.writer.summarize import count, summarize
from openclawbench.runtime.engines.choice import engine_for
from openclawbench.runtime.engines.protocol import LostTask
from openclawbench.storage.temporary_folder import temporary_folder
from openclawbench.tables.schema import empty, from_records

RECORDS_AT_ONCE = 4096  # that are turned into a table together
Results = dict[tuple[Kind, str], ModelResult]


def validate(root: Path, workers: int | None = None) -> Findings:
    """Everything that is wrong with the release in `root`. Raises UsageError if it is not a release folder.

    `workers`: processes over the models' files; None: as many as there are processors, if the release is large. The
    findings are the same for any number of them.
    """
    refuse_other_folder(root)
    with (
        temporary_folder("validate") as folder,
        open_database(folder / "corpus.sqlite") as connection,
    ):
        return Validation(root, folder, connection, workers).run()


class Validation:
    """One validation. `scratch`: a folder for temporary files; `connection`: of a database in it."""

    def __init__(self, root: Path, scratch: Path, connection: sqlite3.Connection, workers: int | None) -> None:
        self.root, self.scratch, self.connection, self.workers = root, scratch, connection, workers
        self.findings = Findings()
        self.models, self.passes = models_of(root), passes_of(root)

    def run(self) -> Findings:
        """Every check, in order."""
        root, models, findings = self.root, self.models, self.findings
        check_links(root, findings)
        digests = check_checksums(root, findings)
        package = read_package(root, findings)
        inputs = Inputs(self.connection)
        inputs.read(root, findings)
        provenance = None if package is None else package.provenance
        privacy = rules_of(root, findings)
        check_known(root, models, provenance, privacy, findings)
        in_force = read_in_force(root, provenance, findings)
        check_forms(root, in_force.contents.get(PublishRules.FILE, {}).get("jsonl") if in_force else None, findings)
        index = index_in(self.connection)
        read_index(root, index, findings)
        self.connection.commit()  # the workers read it
        results = self.results(in_force, privacy)
        records, derived, statistics = self.gathered(results, privacy)
        check_index(index, records, derived.marked, derived.marker, findings)
        if self.passes:
            check_labels(root, records, findings)
        check_second_pass(root, models, records, findings)
        check_human(root, records, findings)
        basis = self.basis(records)
        if in_force is not None and self.passes:
            check_cuts(root, basis, index, derived, in_force, findings)
        check_numbers(root, models, summarize(count(basis.scan(empty(LabelBasis)))).collect(), findings)
        check_statistics(root, (pl.read_parquet(path, glob=False) for path in statistics), findings)
        if package is not None:
            check_data_package(root, package, inputs, digests, records, in_force, self.passes, findings)
        text = check_released_text(root, (results["text", model].scan for model in models), privacy, findings)
        check_described(root, digests, text.table(), findings)
        findings.kept = [in_its_file(root, finding) for finding in findings.kept]
        return findings

    def results(self, in_force: RulesInForce | None, privacy: PrivacyRules) -> Results:
        """The result of each kind of check of each model's files."""
        shared: dict[str, Any] = {
            "root": self.root,
            "scratch": self.scratch,
            "index_file": self.scratch / "corpus.sqlite",
            "contents": in_force and in_force.contents,
            "provenance": in_force and in_force.provenance,
            "privacy": privacy,
            "marker": privacy.marker.partition("{")[0],
            "passes": tuple(self.passes),
        }
        tasks = [ModelTask(kind=kind, model=model, **shared) for kind in KINDS for model in self.models]
        files = [path for model in self.models for path in released(self.root / ROOT / model / MASTER_FILE)]
        engine = engine_for("auto", self.workers, len(tasks), sum(path.stat().st_size for path in files))
        results: Results = {}
        for task, result in engine.run(carry_out, tasks):
            if isinstance(result, LostTask):
                raise WorkersFailed(f"validate: {task.kind} of {task.model}: {result.reason}. Use --workers 1.")
            results[task.kind, task.model] = result
        return results

    def gathered(self, results: Results, privacy: PrivacyRules) -> tuple[Records, Recomputed, list[Path]]:
        """The tables of all models, and their findings in the order of models."""
        records, marked = records_in(self.connection), KeyCounts(self.connection, MARKED)
        spools = [Spool(self.scratch, name) for name in ("statistics", "fingerprints", "second")]
        statistics, fingerprints, second = spools
        for model in self.models:
            result = results["records", model]
            self.findings.absorb(result.findings)
            self.findings.absorb(results["parquet", model].findings)
            database = self.scratch / f"model-{model}.sqlite"
            records.take_from(database)
            marked.take_from(database)
            database.unlink()
            for spool, files in zip(spools, (result.statistics, result.fingerprints, result.second), strict=True):
                spool.take(files)
        derived = Recomputed(privacy.marker.partition("{")[0], marked, fingerprints, second)
        statistics.flush()
        return records, derived, statistics.files

    def basis(self, records: Records) -> Spool:
        """LabelBasis of all records, by key."""
        spool, rows = Spool(self.scratch, "basis"), iter(records.rows())
        while some := [record.basis for _, record in islice(rows, RECORDS_AT_ONCE)]:
            spool.add(from_records(some, LabelBasis))
        return spool


def in_its_file(root: Path, finding: Finding) -> Finding:
    """A finding with the file and line that it is in, if its table is divided into several files."""
    if finding.line is None:
        return finding
    path, line = place_of(root / finding.file, finding.line)
    return replace(finding, file=path.relative_to(root).as_posix(), line=line)


def passes_of(root: Path) -> list[int]:
    """The annotation passes that have files in the release in `root`; none where nobody judged."""
    if nobody_judged(root):
        return []
    raw = [f"{ROOT}/{model}/{name}" for model in models_of(root) for name in RAW_FILES]
    second = any(released(root / name) for name in (REFERENCE_FILE, BOTH_FILE, *raw))
    return [1, 2] if second else [1]
