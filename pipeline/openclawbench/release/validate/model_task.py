"""The work on the files of one source model, in this process or another: what it finds, and files of what it kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from openclawbench.base.gc_control import gc_disabled
from openclawbench.records.datapackage import MadeFrom
from openclawbench.release.files.names import MASTER_FILE, ROOT, STAGES
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import TextScan
from openclawbench.release.validate.files.released_text import scan_model
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.model_files import ModelTables, check_model
from openclawbench.release.validate.recompute.fields import Recomputed, RecordRecomputer
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.records.key_tables import KeyCounts, open_database
from openclawbench.release.validate.records.record_digest import records_in
from openclawbench.release.validate.records.record_index import index_in
from openclawbench.release.validate.records.spool import Spool

MARKED = "marked"  # the table of Recomputed.marked
Kind = Literal["records", "text"]
KINDS: tuple[Kind, ...] = ("records", "text")


@dataclass(frozen=True)
class ModelTask:
    """One kind of check of one model's files. `contents` and `provenance`: of RulesInForce, None if they are not
    known; `scratch` has the index in `index_file`, and gets what is kept."""

    kind: Kind
    model: str
    root: Path
    scratch: Path
    index_file: Path
    contents: Mapping[str, Any] | None
    provenance: MadeFrom | None
    privacy: PrivacyRules
    marker: str
    passes: tuple[int, ...]

    @property
    def database(self) -> Path:
        """The file of the tables by key."""
        return self.scratch / f"model-{self.model}.sqlite"


@dataclass
class ModelResult:
    """What a task gives."""

    findings: Findings = field(default_factory=Findings)
    scan: TextScan = field(default_factory=TextScan)
    lines: list[Path] = field(default_factory=list)  # files of sorted ReleaseLine
    fingerprints: list[Path] = field(default_factory=list)
    second: list[Path] = field(default_factory=list)


def carry_out(task: ModelTask) -> ModelResult:
    """Carry out one task."""
    result = ModelResult()
    with gc_disabled():
        if task.kind == "text":
            result.scan = scan_model(task.root, task.model, PrivacyFinder(task.privacy))
        else:
            check_records(task, result)
    return result


def check_records(task: ModelTask, result: ModelResult) -> None:
    """Check the records of a model, and keep what the checks of the corpus need."""
    task.database.unlink(missing_ok=True)  # of a worker that was killed
    with open_database(task.database) as connection, open_database(task.index_file) as index_connection:
        spools = [Spool(task.scratch, f"{task.model}-{name}") for name in ("fingerprints", "second")]
        fingerprints, second = spools
        recomputed = Recomputed(task.marker, KeyCounts(connection, MARKED), fingerprints, second)
        lines = f"lines-{task.model}"
        tables = ModelTables(records_in(connection), str(task.scratch / lines), task.passes)
        deriver = None
        if task.contents is not None and task.provenance is not None:
            in_force = RulesInForce(task.root, task.contents, task.provenance)
            name = f"{ROOT}/{task.model}/{MASTER_FILE}"
            passes = list(task.passes)
            deriver = RecordRecomputer(task.root, task.model, name, in_force, passes, recomputed, result.findings)
        check_model(task.root, task.model, index_in(index_connection), deriver, tables, result.findings)
        for spool in spools:
            spool.flush()
        result.fingerprints, result.second = (spool.files for spool in spools)
        count = 1 + len(STAGES) * len(task.passes)
        result.lines = [task.scratch / f"{lines}-{number}.parquet" for number in range(count)]
