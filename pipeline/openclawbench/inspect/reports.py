"""The reports over the work tables and over the reviews, by name. The command line and the workbench show them."""

from collections.abc import Iterable

from openclawbench.errors import NotFound
from openclawbench.reports.section import Report, Tables
from openclawbench.runtime.run import Run, digest
from openclawbench.storage.data_folder import DataFolder
from openclawbench.tables.record import Record
from openclawbench.workspace.second_pass import is_same_judge
from openclawbench.workspace.settings import settings


def table_report(name: str, run: Run, tables: Tables, with_inputs: bool = False) -> Report:
    """The report `agreement`, `conflicts`, `coverage`, `evidence`, `models`, `tokens` or `triage`; `with_inputs`: it
    names the digests of the tables that it was made from. Raises NotFound, with the command that makes it, if a table
    or the second pass is missing."""
    from openclawbench.reports import conflicts, coverage, tokens, triage
    from openclawbench.reports.agreement import report as agreement
    from openclawbench.reports.evidence import report as evidence
    from openclawbench.reports.models import report as models

    has_second_pass = run.judges[2] is not None
    if name == "agreement":
        if not has_second_pass:
            raise NotFound(
                f"{run.data.root}: has no second pass. Make one: openclawbench annotate --pass 2 --model OTHER."
            )
        report, reads = agreement.agreement_report(tables, is_same_judge(settings(run.data))), agreement.READS
    elif name == "coverage":
        report, reads = coverage.coverage_report(tables, run.intake), coverage.READS
    elif name == "conflicts":
        report, reads = conflicts.conflicts_report(tables), conflicts.READS
    elif name == "triage":
        report = triage.triage_report(tables, has_second_pass)
        reads = triage.READS + (triage.READS_PASS2 if has_second_pass else [])
    elif name == "tokens":
        report, reads = tokens.tokens_report(tables), tokens.READS
    elif name == "models":
        report, reads = models.models_report(tables), models.READS
    else:
        report, reads = evidence.evidence_report(tables), evidence.READS
    if with_inputs:
        report.inputs.update(input_digests(run, reads))
    return report


def input_digests(run: Run, records: Iterable[type[Record]]) -> dict[str, str]:
    """Digest of the parts of each table that a report was made from."""
    return {record.__name__: digest(*map(str, sorted(run.keys[record].items(), key=str))) for record in records}


def audit_report(name: str, folder: DataFolder) -> Report | None:
    """The report on the reviews of `events` or of the `calibration`; None if nothing was reviewed."""
    from openclawbench.audit.calibration.form import CALIBRATION
    from openclawbench.audit.calibration.report import calibration_audit
    from openclawbench.audit.events.form import EVENTS
    from openclawbench.audit.events.report import event_audit
    from openclawbench.audit.review_folder import drawn_rows, drawn_samples, reviews
    from openclawbench.records.calibration import CalibrationSample
    from openclawbench.records.review import EventSample

    if name == "events":
        event_reviews = reviews(folder, EVENTS)
        return event_audit(event_reviews, drawn_samples(folder, EVENTS, EventSample)) if event_reviews else None
    verdicts = reviews(folder, CALIBRATION)
    if not verdicts:
        return None
    samples = drawn_samples(folder, CALIBRATION, CalibrationSample)
    return calibration_audit(verdicts, samples, drawn_rows(folder, CALIBRATION))
