"""What `release` checks before a new release takes its place: what `validate` derives from the records in another way.

Checked: every record against itself, the closed vocabularies and the text that it cites; every number of the summaries
and of the statistics against the released lines; the identities between figures. Left to `validate`, because the writer
has just made both sides with the same code from the same rows: label files, cuts, Parquet, search of the texts,
pictures, card, data package, checksums, the JSON Schema of each line; because they take minutes for a large release:
the stages carried out again.
"""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import polars as pl

from openclawbench.errors import InvalidRelease
from openclawbench.records.release import LabelBasis, Master, RecordIndexRow
from openclawbench.release.card.configs import models_of
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.validate.files.lines import Line
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.fields import AT_ONCE, basis_of
from openclawbench.release.validate.recompute.statistics import check_statistics, columns_of
from openclawbench.release.validate.recompute.summaries import check_numbers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.writer.jsonl_files import open_lines
from openclawbench.release.writer.render import MASTER_FILE, ROOT
from openclawbench.rules.checks import CheckRules
from openclawbench.rules.taxonomy import Taxonomy
from openclawbench.tables.schema import empty


def refuse_invalid(root: Path) -> None:
    """Raises InvalidRelease with the first finding."""
    findings = Findings()
    partial_trials = set()
    with open_lines(root / INDEX_FILE) as file:
        for raw in file:
            row = RecordIndexRow.model_validate_json(raw)
            if row.partial_trial:
                partial_trials.add((row.source_model, row.trajectory_id))
    basis = [empty(LabelBasis)]
    columns: list[pl.DataFrame] = []
    models = models_of(root)
    for model in models:
        lines = checked_lines(root, f"{ROOT}/{model}/{MASTER_FILE}", findings)
        while batch := list(islice(lines, AT_ONCE)):
            basis.append(basis_of(batch, partial_trials))
            columns.append(columns_of(batch))
    check_numbers(root, models, pl.concat(basis).lazy(), findings)
    check_statistics(root, columns, findings, pictures=False)
    if findings.kept:
        finding = findings.kept[0]
        place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
        raise InvalidRelease(
            f"the release is not published: {place}: {finding.message} ({finding.check}; {findings.counts.total()} "
            "findings). This is a defect of the program, not of the input: please report it. The former release stands."
        )


def checked_lines(root: Path, name: str, findings: Findings) -> Iterator[Line[Master]]:
    """Lines of a master table; what is wrong with a record is a finding."""
    taxonomy, rules = Taxonomy.load(), CheckRules.load()
    with open_lines(root / name) as file:
        for number, raw in enumerate(file, start=1):
            line = Line(number, raw.rstrip(b"\n"), json.loads(raw), Master.model_validate_json(raw, strict=True))
            for check, message in problems(line.record, taxonomy, rules):
                findings.add(check, name, f"{line.key[1]}: {message}", number)
            yield line
