"""The summaries: every count and share is computed again from the released records."""

from pathlib import Path

from openclawbench.records.release import LabelBasis
from openclawbench.release.keys import Key
from openclawbench.release.validate.compare import compare_file
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.records.record_digest import Slim
from openclawbench.release.writer.summarize import summarize, summary_files
from openclawbench.tables.schema import from_records


def check_numbers(root: Path, models: list[str], records: dict[Key, Slim], findings: Findings) -> None:
    """A finding for each number of a summary that is not what the records give."""
    basis = from_records([record.basis for record in records.values()], LabelBasis)
    for name, content in summary_files(summarize(basis.lazy()).collect(), models).items():
        compare_file(root, name, "numbers", content, findings, unreadable="file_missing", counted="numbers")
