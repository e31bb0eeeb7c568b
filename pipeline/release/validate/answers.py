"""Raw answers of a stage: each is of this stage and of a record, and one a record decides."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.records.release import StageRaw
from pipeline.release.keys import Key
from pipeline.release.validate.findings import Findings
from pipeline.release.validate.lines import Line, read_lines
from pipeline.release.validate.slim import Slim


def deciding_answers(
    root: Path, name: str, stage: str, records: Mapping[Key, Slim], check: str, findings: Findings
) -> Iterator[Line[StageRaw]]:
    """The answers in a file that decide a label, of records of the master table; findings are named `check`."""
    answered: set[Key] = set()
    for line in read_lines(root, name, StageRaw, findings, unique=False):
        row = line.record
        if line.key not in records:
            findings.add(check, name, f"{line.key[1]} is not in the master table", line.number)
            continue
        if row.stage != stage:
            findings.add(check, name, f"{line.key[1]}: is an answer of stage {row.stage}", line.number)
        if row.purpose != "label":
            continue
        if line.key in answered:
            findings.add(check, name, f"{line.key[1]} is answered twice", line.number)
        answered.add(line.key)
        yield line
