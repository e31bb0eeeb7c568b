"""Recompute with the stages every derived field of a record and of its raw answers, and compare."""

import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
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
from openclawbench.release.files.names import ROOT, STAGES
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.compare import leaves, shorten_value
from openclawbench.release.validate.findings import Findings
from openclawbench.release.validate.lines import Line
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.release.validate.recompute.stages import FIRST_PASS, PARTIAL, StageRerun, writers
from openclawbench.release.validate.recompute.trace import trace_problems
from openclawbench.release.validate.records.answers import Answers, answers_of
from openclawbench.release.validate.records.context import contradictions
from openclawbench.release.validate.records.key_tables import KeyCounts
from openclawbench.release.validate.records.spool import Spool
from openclawbench.release.writer.render import raw_lines
from openclawbench.rules.construct.trace import TraceRules
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.tables.record import TRAJECTORY_KEY, Record
from openclawbench.tables.schema import conform, from_columns, schema

PLACES_NAMED = 3  # places of a field that are named; the others are only counted
RECOMPUTE_ERRORS = (OpenClawBenchError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
POLARS_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)
NOT_DERIVED = ("usage", "cost_usd", "request_ids")  # of provenance: they do not follow from released data
WHOLE_TEXT = ("packet_sha256", "request_sha256", "compacted")  # cannot be recomputed from redacted texts
WRITERS = writers(FIRST_PASS) | {
    "schema_version": merge.name,
    "rules_version": merge.name,
    "stages": "decide_*",
}
REQUESTS: dict[str, type[Record]] = {"a": RequestA, "b1": RequestB1, "b2": RequestB2, "c": RequestC}
DECISIONS: dict[str, type[Record]] = {"a": DecisionA, "b1": DecisionB1, "b2": DecisionB2, "c": DecisionC}


@dataclass
class Recomputed:
    """Recomputed over all records: what the split needs, and the labels of the second pass."""

    marker: str  # the beginning of every redaction marker
    marked: KeyCounts  # records with a marker in their line or an answer
    fingerprints: Spool
    second: Spool


class RecordRecomputer:
    """Recomputes the records of one model, some at a time, in the order of the file."""

    def __init__(
        self,
        root: Path,
        model: str,
        name: str,
        in_force: RulesInForce,
        passes: list[int],
        recomputed: Recomputed,
        findings: Findings,
    ) -> None:
        self.name, self.in_force, self.passes = name, in_force, passes
        self.index: Mapping[Key, RecordIndexRow] = {}  # rows of the records that are recomputed together
        self.recomputed, self.findings = recomputed, findings
        self.folder = f"{ROOT}/{model}"
        self.answers: dict[int, dict[str, Answers]] = answers_of(root, model, passes)

    def check(self, lines: list[Line], index: Mapping[Key, RecordIndexRow]) -> None:
        """Recompute some records and their answers, and compare them with the released ones. `index`: their rows."""
        self.index = index
        unique = {line.key: line for line in lines}
        if not unique:
            return
        answers = {
            number: {stage: stage_answers.of(unique.keys()) for stage, stage_answers in stages.items()}
            for number, stages in self.answers.items()
        }
        self.check_context(list(unique.values()))
        self.recompute(list(unique.values()), answers)

    def check_context(self, lines: list[Line]) -> None:
        """What records copy from their sessions and outcomes, which no stage can make again."""
        try:
            rules, oracle_rules = self.in_force.rules(TraceRules), self.in_force.rules(OracleRules)
            redacted = {number for number, line in enumerate(lines) if self.is_redacted(line.key)}
            for number, message in trace_problems([line.value for line in lines], rules, redacted):
                self.findings.add("context", self.name, f"{lines[number].key[1]}: {message}", lines[number].number)
            for line in lines:
                for check, message in contradictions(line.value, oracle_rules):
                    self.findings.add(check, self.name, f"{line.key[1]}: {message}", line.number)
        except (*RECOMPUTE_ERRORS, *POLARS_ERRORS) as error:
            cause = str(error).partition("\n")[0] or type(error).__name__
            self.findings.add("derived", self.name, f"trace summaries cannot be compared: {cause}", lines[0].number)

    def recompute(self, lines: list[Line], answers: dict[int, dict[str, Any]]) -> None:
        """The same with the records' answers given. If the records fail together, each half of them is recomputed,
        until what fails is single records."""
        rows = {
            number: {
                stage: {key: row for key, (_, row) in stage_answers.items()} for stage, stage_answers in stages.items()
            }
            for number, stages in answers.items()
        }
        rerun = StageRerun([line.value for line in lines], self.index, rows, self.in_force)
        try:
            rerun.run(self.passes)
        except (*RECOMPUTE_ERRORS, *POLARS_ERRORS) as error:
            if len(lines) > 1:
                middle = len(lines) // 2
                for half in (lines[:middle], lines[middle:]):
                    self.recompute(half, answers_about(half, answers))
                return
            cause = str(error).partition("\n")[0] or type(error).__name__
            self.findings.add("derived", self.name, f"{lines[0].key[1]} cannot be recomputed: {cause}", lines[0].number)
            return
        self.compare_records(lines, rerun)
        for number in self.passes:
            for stage in STAGES:
                self.compare_answers(rerun, number, stage, answers[number][stage])
        self.keep(rerun)

    def compare_records(self, lines: list[Line], rerun: StageRerun) -> None:
        """Compare every field of each record with the recomputed one."""
        merged = rerun.tables[Master].collect()
        for line, expected in zip(lines, merged.iter_rows(named=True), strict=True):
            self.findings.checked["records_made_again"] += 1
            released = line.value
            if self.recomputed.marker.encode() in line.raw:
                self.recomputed.marked.add(line.key)
            for name in NOT_DERIVED:
                expected["provenance"][name] = released["provenance"][name]
            left_out = WHOLE_TEXT if self.is_redacted(line.key) else ()
            for message in differences(released, expected, left_out, lambda column: WRITERS.get(column, merge.name)):
                self.findings.add("derived", self.name, f"{line.key[1]}: {message}", line.number)

    def compare_answers(
        self, rerun: StageRerun, number: int, stage: str, answers: Mapping[Key, tuple[int, Any]]
    ) -> None:
        """Compare the answers of a stage with the recomputed requests and decisions."""
        file = self.answers[number][stage].file
        request, decision = of_pass(REQUESTS[stage], number), of_pass(DECISIONS[stage], number)
        expected = {
            key_of(row): row for row in map(json.loads, raw_lines(stage, rerun.tables[decision], number)["line"])
        }
        requested = {
            key_of(row) for row in rerun.tables[request].select(TRAJECTORY_KEY).collect().iter_rows(named=True)
        }
        for key in sorted(requested - answers.keys()):
            self.findings.add("derived", file, f"{key[1]}: stage ask_{stage} asks about it, but the answer is missing")
        for key, (line_number, row) in answers.items():
            self.findings.checked["answers_made_again"] += 1
            if self.recomputed.marker in str(row):
                self.recomputed.marked.add(key)
            if key not in requested:
                self.findings.add("derived", file, f"{key[1]}: stage ask_{stage} does not ask about it", line_number)
                continue
            left_out = WHOLE_TEXT if self.is_redacted(key) else ()
            for message in differences(row, expected.get(key, {}), left_out, lambda _: f"decide_{stage}"):
                self.findings.add("derived", file, f"{key[1]}: {message}", line_number)
        self.compare_embedded(rerun, number, stage, answers)

    def compare_embedded(
        self, rerun: StageRerun, number: int, stage: str, answers: Mapping[Key, tuple[int, Any]]
    ) -> None:
        """Compare the text of each answer with that of the embedded judge, if it was the judge."""
        embedded_answers = rerun.asked_again.get(number, {}).get(stage)
        if embedded_answers is None:
            return
        for row in embedded_answers.iter_rows(named=True):
            line_number, released = answers.get(key_of(row), (None, None))
            if released is None or self.is_redacted(key_of(row)):
                continue
            self.findings.checked["answers_asked_again"] += 1
            for name in ("response_text", "judge", "judge_model"):
                if released[name] != row[name]:
                    values = f"{shorten_value(released[name])}; the embedded judge gives {shorten_value(row[name])}"
                    text = f"{key_of(row)[1]}: {name} is {values}"
                    self.findings.add("derived", self.answers[number][stage].file, text, line_number)

    def keep(self, rerun: StageRerun) -> None:
        """Keep what the checks of the whole corpus need."""
        fingerprints = rerun.tables[Fingerprint].collect()
        self.check_texts(fingerprints)
        self.recomputed.fingerprints.add(fingerprints)
        if 2 in self.passes:
            self.recomputed.second.add(rerun.tables[AnnotationPass2].collect())

    def check_texts(self, fingerprints: pl.DataFrame) -> None:
        """Compare the digests of the texts that near duplicates are found by with those in the index."""
        for key, digest in zip(
            map(key_of, fingerprints.iter_rows(named=True)), fingerprints["text_sha256"], strict=True
        ):
            index_row = self.index.get(key)
            if index_row is not None and not index_row.redacted and index_row.text_sha256 != digest:
                text = f"{key[1]}: text_sha256 is {shorten_value(index_row.text_sha256)}; its released texts give "
                text += shorten_value(digest)
                self.findings.add("record_index", "record_index.jsonl", text)

    def is_redacted(self, key: Key) -> bool:
        """True if the texts of a record were redacted."""
        return key in self.index and self.index[key].redacted


def answers_about(lines: list[Line], answers: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Of the answers, by pass and stage, those about these records."""
    keys = {line.key for line in lines}
    return {
        number: {
            stage: {key: answer for key, answer in stage_answers.items() if key in keys}
            for stage, stage_answers in stages.items()
        }
        for number, stages in answers.items()
    }


def differences(
    released: Mapping[str, Any],
    expected: Mapping[str, Any],
    left_out: tuple[str, ...],
    stage_of: Callable[[str], str],
) -> Iterator[str]:
    """A sentence for each place that differs, at most PLACES_NAMED per field. `stage_of`: column -> the stage that
    gives it."""
    for name in sorted(released.keys() | expected.keys()):
        if name in left_out or released.get(name) == expected.get(name):
            continue
        released_leaves, expected_leaves = (
            dict(leaves(released.get(name), name)),
            dict(leaves(expected.get(name), name)),
        )
        places = [
            place
            for place in sorted(released_leaves.keys() | expected_leaves.keys())
            if released_leaves.get(place) != expected_leaves.get(place) and place.rpartition("/")[2] not in left_out
        ]
        if not places and not left_out:
            places = [name]  # one is an empty list or object, the other null
            released_leaves[name], expected_leaves[name] = released.get(name), expected.get(name)
        more = f" (and {len(places) - PLACES_NAMED} more places differ)" if len(places) > PLACES_NAMED else ""
        for place in places[:PLACES_NAMED]:
            stage = stage_of(place.rpartition("/")[2] if name == "provenance" else name)
            value = shorten_value(released_leaves.get(place))
            values = f"{value}; stage {stage} gives {shorten_value(expected_leaves.get(place))}"
            yield f"{place} is {values}{more}"


def of_pass(record: type[Record], number: int) -> type[Record]:
    """The table of annotation pass `number` that corresponds to this one of the first."""
    return record if number == 1 else PASS2[record]


def basis_of(lines: list[Line], partial_trials: Container[Key]) -> pl.DataFrame:
    """LabelBasis rows of released records. `partial_trials`: keys of the records whose index row says so."""
    kinds = schema(Master)
    masters = from_columns({name: [line.value[name] for line in lines] for name in kinds if name != "steps"}, kinds)
    partial = [PARTIAL if line.key in partial_trials else None for line in lines]
    with_completeness = masters.with_columns(completeness=pl.Series(partial, dtype=pl.String))
    return conform(basis(with_completeness.lazy()).collect(), LabelBasis)
