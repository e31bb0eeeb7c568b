"""What `release` checks before a new release takes its place: what `validate` derives from the records in another way.

Checked: every record against itself, the closed vocabularies and the text that it cites; every number of the summaries
and of the statistics against the released lines; the identities between figures. Left to `validate`, because the writer
has just made both sides with the same code from the same rows: label files, cuts, Parquet, search of the texts,
pictures, card, data package, checksums, the JSON Schema of each line; because they take minutes for a large release:
the stages carried out again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from openclawbench.errors import InvalidRelease
from openclawbench.records.release import Master, SummaryCount
from openclawbench.release.files.jsonl_files import open_lines
from openclawbench.release.files.names import models_of
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import Line, checked_together, plain_data
from openclawbench.release.validate.recompute.fields import basis_of
from openclawbench.release.validate.recompute.statistics import check_statistics, columns_of
from openclawbench.release.validate.recompute.summaries import check_numbers
from openclawbench.release.validate.records.consistency import problems
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.writer.summarize import count, summarize
from openclawbench.rules.fulltax.checks import CheckRules
from openclawbench.rules.fulltax.taxonomy import Taxonomy
from openclawbench.tables.schema import empty

SUMS_AT_ONCE = 64  # tables of counts that are summed together


@dataclass
class CheckedFile:
    """What is known of a checked master table. `counts`: SummaryCount of its records; `columns`: files with columns_of
    them."""

    findings: Findings
    counts: pl.DataFrame
    columns: list[Path]


def check_file(root: Path, name: str, partial_trials: pl.DataFrame, scratch: Path) -> CheckedFile:
    """Check every record of a master table, or of a file of one. `partial_trials`: keys of records of partial trials;
    `scratch`: a folder for files that the check of the release reads."""
    findings, counts = Findings(), [empty(SummaryCount)]
    columns = Spool(scratch, f"checked-{name.replace('/', '-')}")
    partial = set(partial_trials.iter_rows())
    for batch in checked_together(checked_lines(root, name, findings)):
        counts.append(count(basis_of(batch, partial).lazy()).collect())
        columns.add(columns_of(batch))
        if len(counts) == SUMS_AT_ONCE:
            counts = [sum_counts(counts)]
    columns.flush()
    return CheckedFile(findings, sum_counts(counts), columns.files)


def sum_counts(counts: list[pl.DataFrame]) -> pl.DataFrame:
    """Counts of several parts of the records, as those of all of them."""
    sums: pl.DataFrame = summarize(pl.concat(counts).lazy()).collect()
    return sums


def refuse_invalid(root: Path, files: Sequence[CheckedFile]) -> None:
    """Check the numbers of the release in `root`. Raises InvalidRelease with the first finding. `files`: its checked
    master tables."""
    findings = Findings()
    for checked in files:
        findings.absorb(checked.findings)
    counts = sum_counts([empty(SummaryCount), *(checked.counts for checked in files)])
    check_numbers(root, models_of(root), counts, findings)
    columns = (pl.read_parquet(path, glob=False) for checked in files for path in checked.columns)
    check_statistics(root, columns, findings)
    if findings.kept:
        finding = findings.kept[0]
        place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
        raise InvalidRelease(
            f"the release is not published: {place}: {finding.message} ({finding.check}; {findings.counts.total()} "
            "findings). This is a defect of the program, not of the input: please report it. The former release is "
            "kept."
        )


def checked_lines(root: Path, name: str, findings: Findings) -> Iterator[Line]:
    """Lines of a master table; what is wrong with a record is a finding."""
    taxonomy, rules = Taxonomy.load(), CheckRules.load()
    with open_lines(root / name) as file:
        for number, raw in enumerate(file, start=1):
            line = Line(number, raw.rstrip(b"\n"), plain_data(raw))
            for check, message in problems(Master.model_validate_json(raw, strict=True), taxonomy, rules):
                findings.add(check, name, f"{line.key[1]}: {message}", number)
            yield line
