"""Raw answers of a stage: each is of this stage and of a record, and one a record decides."""

import json
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from openclawbench.records.release import StageRaw
from openclawbench.release.keys import Key
from openclawbench.release.validate.compare import too_large
from openclawbench.release.validate.files.lines import Line, read_lines
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.records.record_digest import Slim
from openclawbench.release.writer.files import open_lines, released
from openclawbench.release.writer.render import ROOT, STAGES, stage_raw_file


def deciding_answers(
    root: Path, name: str, stage: str, records: Mapping[Key, Slim], check: str, findings: Findings
) -> Iterator[Line[StageRaw]]:
    """The answers in a file that decide a label, of records of the master table; findings are named `check`."""
    answered: set[Key] = set()
    former: Key | None = None
    for line in read_lines(root, name, StageRaw, findings, unique=False):
        row = line.record
        if former is not None and line.key < former:
            findings.add(check, name, f"{line.key[1]} stands behind {former[1]}: lines are not sorted", line.number)
        former = line.key
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


class Answers:
    """The answers of one stage of a model, in the order of their keys, as they are asked for: few are held at a time.
    What is wrong with a line is named by the check of its file; here it is passed over."""

    def __init__(self, root: Path, model: str, stage: str, annotation_pass: int) -> None:
        self.file = f"{ROOT}/{model}/{stage_raw_file(stage, annotation_pass)}"
        self.lines = good_rows(root / self.file)
        self.next: tuple[Key, int, dict[str, Any]] | None = next(self.lines, None)

    def of(self, keys: Set[Key]) -> dict[Key, tuple[int, dict[str, Any]]]:
        """Line number and row of each of these records that has one, the first; what stands before them is past."""
        found: dict[Key, tuple[int, dict[str, Any]]] = {}
        last = max(keys)
        while self.next is not None and self.next[0] <= last:
            key, number, row = self.next
            if key in keys:
                found.setdefault(key, (number, row))
            self.next = next(self.lines, None)
        return found


def good_rows(path: Path) -> Iterator[tuple[Key, int, dict[str, Any]]]:
    """(key, line number, row) of the lines that are rows of StageRaw, up to where the file can be read."""
    if released(path) is None:
        return
    with open_lines(path) as file:
        number = 0
        while True:
            try:
                raw = file.readline()
                number += 1
            except OSError:
                return
            if not raw:
                return
            try:
                row = StageRaw.model_validate_json(raw, strict=True).model_dump()
                parsed = None if row["parsed"] is None else json.loads(row["parsed"])
            except (ValidationError, ValueError, RecursionError):
                continue
            if too_large(row) is None and (parsed is None or isinstance(parsed, dict)) and too_large(parsed) is None:
                yield (row["source_model"], row["trajectory_id"]), number, row


def answers_of(root: Path, model: str, passes: list[int]) -> dict[int, dict[str, Answers]]:
    """Annotation pass -> stage -> its answers."""
    return {number: {stage: Answers(root, model, stage, number) for stage in STAGES} for number in passes}
