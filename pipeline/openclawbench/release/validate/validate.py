"""`openclawbench validate RELEASE_DIR`: every check, in order, on any copy of a release.

The files of the source models are checked one after another, or side by side in worker processes. What is known of each
record is kept in temporary files, so that memory does not grow with their number.
"""

import sqlite3
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from openclawbench.errors import WorkersFailed
from openclawbench.records.datapackage import INPUTS_FILE, MadeFrom
from openclawbench.records.release import LabelBasis
from openclawbench.release.files.jsonl_files import place_of, released
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, RAW_FILES, REFERENCE_FILE, ROOT, models_of
from openclawbench.release.input_files import INPUTS_TABLE
from openclawbench.release.privacy.policy import RULES_FILE
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.provenance import RULES
from openclawbench.release.release_folder import refuse_other_folder
from openclawbench.release.settings import PublishRules
from openclawbench.release.unjudged import nobody_judged
from openclawbench.release.validate.data_package import Inputs, check_data_package, read_package
from openclawbench.release.validate.files.checksums import check_checksums
from openclawbench.release.validate.files.folder_contents import check_forms, check_keys, check_links, check_names
from openclawbench.release.validate.files.released_text import check_released_text, rules_of
from openclawbench.release.validate.findings import Finding, Findings
from openclawbench.release.validate.human_audited import check_human
from openclawbench.release.validate.model_task import KINDS, MARKED, Kind, ModelResult, ModelTask, carry_out
from openclawbench.release.validate.recompute.card import check_described
from openclawbench.release.validate.recompute.fields import POLARS_ERRORS, RECOMPUTE_ERRORS, Recomputed
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce, read_in_force
from openclawbench.release.validate.recompute.statistics import check_figures
from openclawbench.release.validate.records.key_tables import KeyCounts, open_database
from openclawbench.release.validate.records.record_digest import Records, records_in
from openclawbench.release.validate.records.record_index import check_index, index_in, read_index
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.validate.same_files import compare_files
from openclawbench.release.validate.write_again import Known, write_again
from openclawbench.runtime.engines.choice import engine_for
from openclawbench.runtime.engines.protocol import LostTask
from openclawbench.storage.temporary_folder import temporary_folder
from openclawbench.tables.schema import from_records

RECORDS_AT_ONCE = 4096  # that are turned into a table together
NOT_OF_RECORDS = {RULES, RULES_FILE, INPUTS_FILE, INPUTS_TABLE}  # their texts are searched for keys where they stand
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
        inputs = Inputs(self.connection, models)
        inputs.read(root, findings)
        provenance = None if package is None else package.provenance
        privacy = rules_of(root, findings)
        in_force = read_in_force(root, provenance, findings)
        check_forms(root, in_force.contents.get(PublishRules.FILE, {}).get("jsonl") if in_force else None, findings)
        index = index_in(self.connection)
        read_index(root, index, findings)
        self.connection.commit()  # the workers read it
        results = self.results(in_force, privacy)
        records, derived = self.gathered(results, privacy)
        check_index(index, records, derived.marked, derived.marker, findings)
        check_human(root, records, findings)
        text = check_released_text(root, (results["text", model].scan for model in models), privacy, findings)
        lines = [path for model in models for path in results["records", model].lines]
        same: set[str] = set()
        if in_force is not None:
            known = Known(root, self.scratch, lines, self.basis(records), index, derived, in_force, text, self.second)
            same = self.compare(known, provenance) - NOT_OF_RECORDS
        check_figures(root, findings)
        if package is not None:
            check_data_package(root, package, inputs, digests, records, in_force, self.passes, findings)
        check_described(root, digests, text.table(), findings)
        check_keys(root, privacy, same, findings)
        findings.kept = [in_its_file(root, finding) for finding in findings.kept]
        return findings

    @property
    def second(self) -> bool:
        """True for a release of two passes."""
        return len(self.passes) > 1

    def compare(self, known: Known, provenance: MadeFrom | None) -> set[str]:
        """Write the release again, and compare the files. Returns those whose bytes are the same."""
        lines = sum(path.stat().st_size for path in known.lines)
        try:
            again = write_again(known, lambda calls: engine_for("auto", self.workers, calls, lines))
        except (*RECOMPUTE_ERRORS, *POLARS_ERRORS) as error:
            cause = str(error).partition("\n")[0] or type(error).__name__
            self.findings.add("rewrite", MASTER_FILE, f"the release cannot be written again: {cause}")
            return set()
        names = check_names(self.root, again.root, provenance, self.findings)
        return compare_files(self.root, again.root, names, again.words, self.findings)

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

    def gathered(self, results: Results, privacy: PrivacyRules) -> tuple[Records, Recomputed]:
        """The tables of all models, and their findings in the order of models."""
        records, marked = records_in(self.connection), KeyCounts(self.connection, MARKED)
        spools = [Spool(self.scratch, name) for name in ("fingerprints", "second")]
        fingerprints, second = spools
        for model in self.models:
            result = results["records", model]
            self.findings.absorb(result.findings)
            database = self.scratch / f"model-{model}.sqlite"
            records.take_from(database)
            marked.take_from(database)
            database.unlink()
            for spool, files in zip(spools, (result.fingerprints, result.second), strict=True):
                spool.take(files)
        derived = Recomputed(privacy.marker.partition("{")[0], marked, fingerprints, second)
        return records, derived

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
