"""Every field of a record and of its raw answers that follows from others: made again by the stages, and compared."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from openclawbench.errors import OpenClawBenchError
from openclawbench.fulltax.merge import basis, merge
from openclawbench.records.fulltax import (
    DecisionA,
    DecisionB1,
    DecisionB2,
    DecisionC,
    RequestA,
    RequestB1,
    RequestB2,
    RequestC,
)
from openclawbench.records.release import Fingerprint, LabelBasis, Master, RecordIndexRow
from openclawbench.records.second_pass import PASS2, AnnotationPass2
from openclawbench.release.keys import Key, key_of
from openclawbench.release.validate.compare import leaves, shown
from openclawbench.release.validate.files.lines import Line
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.recompute.rules_in_force import InForce
from openclawbench.release.validate.recompute.stages import FIRST_PASS, PARTIAL, Again, made_by
from openclawbench.release.validate.records.answers import Answers, answers_of
from openclawbench.release.writer.render import ROOT, STAGES, raw_lines
from openclawbench.tables.record import TRAJECTORY_KEY, Record
from openclawbench.tables.schema import from_records

AT_ONCE = 128  # records that are made again together: bounds the memory that this takes
LEAVES = 3  # places in one field that are named; the others are counted
CANNOT = (OpenClawBenchError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
CANNOT_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)
SAID_ONCE = ("usage", "cost_usd", "request_ids")  # of provenance: they follow from nothing that is released
WHOLE_TEXT = ("packet_sha256", "request_sha256", "compacted")  # cannot be made again of texts that were redacted
GIVER = made_by(FIRST_PASS) | {"schema_version": merge.name, "rules_version": merge.name, "stages": "decide_*"}
REQUESTS: dict[str, type[Record]] = {"a": RequestA, "b1": RequestB1, "b2": RequestB2, "c": RequestC}
DECISIONS: dict[str, type[Record]] = {"a": DecisionA, "b1": DecisionB1, "b2": DecisionB2, "c": DecisionC}


@dataclass
class Derived:
    """What the corpus is cut by, and the labels of the second pass, collected over all records."""

    marker: str  # the beginning of what stands where something was taken out
    marked: set[Key] = field(default_factory=set)  # records of which a line or an answer has it
    fingerprints: list[pl.DataFrame] = field(default_factory=list)
    second: list[pl.DataFrame] = field(default_factory=list)


class Deriver:
    """Makes the records of one model again, some at a time, in the order in which they stand."""

    def __init__(
        self,
        root: Path,
        model: str,
        name: str,
        index: Mapping[Key, RecordIndexRow],
        in_force: InForce,
        passes: list[int],
        found: Derived,
        findings: Findings,
    ) -> None:
        self.name, self.index, self.in_force, self.passes = name, index, in_force, passes
        self.found, self.findings = found, findings
        self.folder = f"{ROOT}/{model}"
        self.answers: dict[int, dict[str, Answers]] = answers_of(root, model, passes)

    def check(self, lines: list[Line[Master]]) -> None:
        """Compare some records and their answers with what the stages make of them."""
        unique = {line.key: line for line in lines}
        if not unique:
            return
        given = {
            number: {stage: some.of(unique.keys()) for stage, some in stages.items()}
            for number, stages in self.answers.items()
        }
        self.make(list(unique.values()), given)

    def make(self, lines: list[Line[Master]], given: dict[int, dict[str, Any]]) -> None:
        """The same of records whose answers are at hand; one by one where together they cannot be made again."""
        rows = {
            number: {stage: {key: row for key, (_, row) in some.items()} for stage, some in stages.items()}
            for number, stages in given.items()
        }
        again = Again([line.value for line in lines], self.index, rows, self.in_force)
        try:
            again.make(self.passes)
        except (*CANNOT, *CANNOT_POLARS) as error:
            if len(lines) > 1:
                for line in lines:
                    self.make([line], given)
                return
            said = str(error).partition("\n")[0] or type(error).__name__
            self.findings.add("derived", self.name, f"{lines[0].key[1]} cannot be made again: {said}", lines[0].number)
            return
        self.compare_records(lines, again)
        for number in self.passes:
            for stage in STAGES:
                self.compare_answers(again, number, stage, given[number][stage])
        self.keep(again)

    def compare_records(self, lines: list[Line[Master]], again: Again) -> None:
        """Every field of each record beside what is made again."""
        made = again.tables[Master].collect()
        for line, want in zip(lines, made.iter_rows(named=True), strict=True):
            self.findings.checked["records_made_again"] += 1
            said = line.value
            if self.found.marker.encode() in line.raw:
                self.found.marked.add(line.key)
            for name in SAID_ONCE:
                want["provenance"][name] = said["provenance"][name]
            left_out = WHOLE_TEXT if self.is_redacted(line.key) else ()
            for name, message in differences(said, want, left_out):
                giver = GIVER.get(name, merge.name)
                text = f"{line.key[1]}: {message.format(giver=giver)}"
                self.findings.add("derived", self.name, text, line.number)

    def compare_answers(self, again: Again, number: int, stage: str, given: Mapping[Key, tuple[int, Any]]) -> None:
        """Every answer of a stage beside what is asked, and what is read in the answer's text."""
        file = self.answers[number][stage].file
        request, decision = of_pass(REQUESTS[stage], number), of_pass(DECISIONS[stage], number)
        want = {key_of(row): row for row in map(json.loads, raw_lines(stage, again.tables[decision], number)["line"])}
        asked = {key_of(row) for row in again.tables[request].select(TRAJECTORY_KEY).collect().iter_rows(named=True)}
        for key in sorted(asked - given.keys()):
            self.findings.add("derived", file, f"{key[1]}: stage ask_{stage} asks about it, and no answer stands here")
        for key, (place, row) in given.items():
            self.findings.checked["answers_made_again"] += 1
            if self.found.marker in str(row):
                self.found.marked.add(key)
            if key not in asked:
                self.findings.add("derived", file, f"{key[1]}: stage ask_{stage} does not ask about it", place)
                continue
            left_out = WHOLE_TEXT if self.is_redacted(key) else ()
            for _, message in differences(row, want.get(key, {}), left_out):
                text = f"{key[1]}: {message.format(giver=f'decide_{stage}')}"
                self.findings.add("derived", file, text, place)
        self.compare_embedded(again, number, stage, given)

    def compare_embedded(self, again: Again, number: int, stage: str, given: Mapping[Key, tuple[int, Any]]) -> None:
        """The text of each answer beside what the embedded judge answers, where it is at hand."""
        made = again.asked_again.get(number, {}).get(stage)
        if made is None:
            return
        for row in made.iter_rows(named=True):
            place, said = given.get(key_of(row), (None, None))
            if said is None or self.is_redacted(key_of(row)):
                continue
            self.findings.checked["answers_asked_again"] += 1
            for name in ("response_text", "judge", "judge_model"):
                if said[name] != row[name]:
                    text = f"{key_of(row)[1]}: {name} is {shown(said[name])}; the judge answers {shown(row[name])}"
                    self.findings.add("derived", self.answers[number][stage].file, text, place)

    def keep(self, again: Again) -> None:
        """What the corpus as a whole is compared by."""
        fingerprints = again.tables[Fingerprint].collect()
        self.check_texts(fingerprints)
        self.found.fingerprints.append(fingerprints)
        if 2 in self.passes:
            self.found.second.append(again.tables[AnnotationPass2].collect())

    def check_texts(self, fingerprints: pl.DataFrame) -> None:
        """Digests of what is compared to find duplicates are those that the index says."""
        for key, digest in zip(
            map(key_of, fingerprints.iter_rows(named=True)), fingerprints["text_sha256"], strict=True
        ):
            said = self.index.get(key)
            if said is not None and not said.redacted and said.text_sha256 != digest:
                text = f"{key[1]}: text_sha256 is {shown(said.text_sha256)}; its released texts give {shown(digest)}"
                self.findings.add("record_index", "record_index.jsonl", text)

    def is_redacted(self, key: Key) -> bool:
        """True where something was taken out of a record's texts."""
        return key in self.index and self.index[key].redacted


def differences(
    said: Mapping[str, Any], want: Mapping[str, Any], left_out: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """(field, message with a place for what gives it) of each place that differs, a few of each field."""
    for name in sorted(said.keys() | want.keys()):
        if name in left_out or said.get(name) == want.get(name):
            continue
        one, other = dict(leaves(said.get(name), name)), dict(leaves(want.get(name), name))
        places = [
            place
            for place in sorted(one.keys() | other.keys())
            if one.get(place) != other.get(place) and place.rpartition("/")[2] not in left_out
        ]
        if not places and not left_out:
            places = [name]  # an empty list or object beside none
            one[name], other[name] = said.get(name), want.get(name)
        for place in places[:LEAVES]:
            leaf = place.rpartition("/")[2]
            giver = GIVER.get(leaf, "{giver}") if name == "provenance" else "{giver}"
            values = f"{braced(shown(one.get(place)))}; stage {giver} gives {braced(shown(other.get(place)))}"
            yield name, f"{braced(place)} is {values}" + more(len(places) - LEAVES)


def of_pass(record: type[Record], number: int) -> type[Record]:
    """The record of a pass that is the same as this one of the first."""
    return record if number == 1 else PASS2[record]


def more(count: int) -> str:
    """How many other places of the field differ."""
    return f" (and {count} more places differ)" if count > 0 else ""


def braced(text: str) -> str:
    """A text that str.format leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def basis_of(lines: list[Line[Master]], index: Mapping[Key, RecordIndexRow]) -> list[dict[str, Any]]:
    """LabelBasis rows of released records."""
    masters = from_records([line.value for line in lines], Master)
    partial = [PARTIAL if line.key in index and index[line.key].partial_trial else None for line in lines]
    known = masters.with_columns(completeness=pl.Series(partial, dtype=pl.String))
    return from_records(basis(known.lazy()).collect().to_dicts(), LabelBasis).to_dicts()
