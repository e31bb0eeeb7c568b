"""Raw answers of a stage: each belongs to the stage and to a record, and one per record decides the label."""

import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclawbench.records.release import StageRaw
from openclawbench.release.files.jsonl_files import plain_name, table_of
from openclawbench.release.files.names import ROOT, STAGES, stage_raw_file
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.compare import too_large
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import ValidLine, in_key_order, of_known_records, read_lines, tolerant_lines
from openclawbench.release.validate.records.key_tables import KeyCounts
from openclawbench.release.validate.records.line_file import LineFile
from openclawbench.release.validate.records.record_digest import Records


def deciding_answers(
    root: Path,
    name: str,
    stage: str,
    records: Records,
    answered: KeyCounts,
    check: str,
    kept: LineFile,
    findings: Findings,
) -> Iterator[ValidLine[StageRaw]]:
    """The answers in a file that decide the label of a record; findings are named `check`. `answered` gets their
    keys, `kept` every answer about a record."""
    lines = in_key_order(read_lines(root, name, StageRaw, findings, unique=False), name, check, findings)
    for line in of_known_records(lines, records, name, check, findings):
        row = line.record
        kept.add(line.key, [([table_of(plain_name(Path(name).name))], line.raw)])
        if row.stage != stage:
            findings.add(check, name, f"{line.key[1]}: is an answer of stage {row.stage}", line.number)
        if row.purpose != "label":
            continue
        if answered.add(line.key):
            findings.add(check, name, f"{line.key[1]} is answered twice", line.number)
        yield line


class Answers:
    """The answers of one stage of a model, read in key order, few at a time. Invalid lines are skipped here: the check
    of the file reports them."""

    def __init__(self, root: Path, model: str, stage: str, annotation_pass: int) -> None:
        self.file = f"{ROOT}/{model}/{stage_raw_file(stage, annotation_pass)}"
        self.lines = readable_answers(root / self.file)
        self.next: tuple[Key, int, dict[str, Any]] | None = next(self.lines, None)

    def of(self, keys: Set[Key]) -> dict[Key, tuple[int, dict[str, Any]]]:
        """Key -> (line number, first row) of the records that have one. Keys must be asked for in ascending order."""
        answers: dict[Key, tuple[int, dict[str, Any]]] = {}
        last_key = max(keys)
        while self.next is not None and self.next[0] <= last_key:
            key, number, row = self.next
            if key in keys:
                answers.setdefault(key, (number, row))
            self.next = next(self.lines, None)
        return answers


def readable_answers(path: Path) -> Iterator[tuple[Key, int, dict[str, Any]]]:
    """(key, line number, row) of the lines that are valid rows of StageRaw."""
    for number, raw in tolerant_lines(path):
        try:
            row = StageRaw.model_validate_json(raw, strict=True).model_dump()
            parsed = None if row["parsed"] is None else json.loads(row["parsed"])
        except (ValidationError, ValueError, RecursionError):
            continue
        if too_large(row) is None and (parsed is None or (isinstance(parsed, dict) and too_large(parsed) is None)):
            yield key_of(row), number, row


def answers_of(root: Path, model: str, passes: list[int]) -> dict[int, dict[str, Answers]]:
    """Annotation pass -> stage -> its answers."""
    return {number: {stage: Answers(root, model, stage, number) for stage in STAGES} for number in passes}
