"""The evidence report: event categories (T9), alignment of tool names (T10), risk slices (T14), rules."""

from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.oracle import Fused
from openclawbench.records.risk import Onset, Risk
from openclawbench.records.session import Step, TraceSummaryRow
from openclawbench.reports.evidence.alignment import alignment, review_list
from openclawbench.reports.evidence.flags import flags
from openclawbench.reports.evidence.inventory import inventory
from openclawbench.reports.evidence.languages import languages, texts_by_language
from openclawbench.reports.evidence.rules_fired import rules_fired
from openclawbench.reports.evidence.slices import slices
from openclawbench.reports.evidence.statuses import statuses
from openclawbench.reports.evidence.unknown import unknown_commands, unknown_tools
from openclawbench.reports.section import Report, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.loading.rule_file import canonical_digest, read_rules
from openclawbench.tables.record import Record

NAME = "evidence"
READS: list[type[Record]] = [Step, AlignedDescriptor, TraceSummaryRow, Risk, Onset, Fused]


def evidence_report(tables: Tables) -> Report:
    """The report, from the tables of READS. Raises NotFound (from `tables`) if one is stale."""
    rules = EvidenceReportRules.load()
    sections = [
        inventory(tables, rules),
        alignment(tables, rules),
        review_list(tables, rules),
        slices(tables, rules),
        flags(tables, rules),
        languages(tables, rules),
        texts_by_language(tables, rules),
        statuses(tables, rules),
        *rules_fired(tables, rules),
        unknown_tools(tables, rules),
        unknown_commands(tables, rules),
    ]
    return Report(
        name=NAME,
        title="Evidence report",
        about="Computed from the work tables of this data folder. Nothing here is a label, and no label depends on it. "
        "Each column says what its shares are of; nothing is rounded before it is summed.",
        sections=sections,
        rules=evidence_rules(),
    )


def evidence_rules() -> dict[str, str]:
    """Rule file of the evidence layer -> digest of its effective content."""
    return {spec.file: canonical_digest(read_rules(spec.file)) for spec in EvidenceReportRules.load().rule_files}
