"""The evidence report: what the descriptors of a corpus are (T9), how they were aligned (T10), where the trajectories
fall (T14), and what the rules made of it."""

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
    """Every section, from the tables of READS. Raises NotFound (from `tables`) where one is not up to date."""
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
        about="Computed from the work tables of this data folder; nothing here is a label, and no label depends on "
        "it. Shares are of what "
        "the column says, never rounded before they are summed.",
        sections=sections,
        rules=evidence_rules(),
    )


def evidence_rules() -> dict[str, str]:
    """Rule file of the evidence layer -> digest of its content in force."""
    return {one.file: canonical_digest(read_rules(one.file)) for one in EvidenceReportRules.load().rule_files}
