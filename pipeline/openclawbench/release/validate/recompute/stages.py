"""Run the stages again over the data of a release: from released steps, turns and answers to the merged record.

These are the stages of flow.py with the released rules; nothing is computed differently than in a run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import polars as pl

from openclawbench.construct.describe.language import agent_texts, step_languages
from openclawbench.construct.slice import slice
from openclawbench.flow import FLOW
from openclawbench.fulltax.answers.parsing import text_from
from openclawbench.fulltax.merge import merge
from openclawbench.fulltax.rules_judge import RulesJudge
from openclawbench.fulltax.second_pass import SECOND_PASS
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.oracle import Fused
from openclawbench.records.packet import EvidenceStep
from openclawbench.records.release import RecordIndexRow
from openclawbench.records.risk import Onset, Risk, StepRisk
from openclawbench.records.session import Step, TraceSummaryRow, Trajectory, UserTurn
from openclawbench.release.labels.fingerprint import fingerprint
from openclawbench.release.record_key import Key, key_of
from openclawbench.release.validate.recompute.rules_in_force import RulesInForce
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.onset import OnsetRules
from openclawbench.rules.construct.risk import RiskRules
from openclawbench.runtime.stage import Stage
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY, Record
from openclawbench.tables.schema import conform, from_records

Tables = dict[type[Record], pl.LazyFrame]
Rows = Mapping[Key, dict[str, Any]]
FIRST_PASS = [stage for stage in FLOW[FLOW.index(slice) : FLOW.index(merge)] if stage.scope == "shard"]
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
FINISHES = ("truncated", "empty", "too_long", "content_filter", "refusal")  # failures that are ends of an answer
SCORES: set[type[Record]] = {Risk, StepRisk, Onset}
TEXTS = ("thinking", "narration", "action_text")  # columns with the agent's own words
PARTIAL = "partial"  # of a trial record that says so
RULES = "rules"  # name of the embedded judge


@dataclass
class StageRerun:
    """Run the stages again for some records of a release; `tables` holds the results.

    `answers`: annotation pass -> stage -> the released rows of StageRaw; `asked_again`: pass -> stage -> the answers of
    the embedded judge, if it was the judge of the pass.
    """

    records: list[dict[str, Any]]
    index: Mapping[Key, RecordIndexRow]
    answers: Mapping[int, Mapping[str, Rows]]
    in_force: RulesInForce
    tables: Tables = field(default_factory=dict)
    asked_again: dict[int, dict[str, pl.DataFrame]] = field(default_factory=dict)

    def run(self, passes: Iterable[int]) -> None:
        """Run the stages of these passes."""
        self.tables |= tables_of(self.records, self.index)
        self.tables[AlignedDescriptor] = self.with_languages()
        self.compute(fingerprint)
        for stage in FIRST_PASS:
            self.run_stage(stage)
        self.compute(merge)
        if 2 in passes:
            for stage in SECOND_PASS:
                self.run_stage(stage)

    def with_languages(self) -> pl.LazyFrame:
        """The descriptors with the languages of the released texts; a redacted record keeps its own."""
        steps = self.tables[Step].select(*STEP_KEY, "action_kind", *TEXTS).collect()
        texts = agent_texts(steps, self.in_force.rules(FlagRules).fields, self.in_force.rules(LanguageRules))
        redacted = [key for key, row in self.index.items() if row.redacted]
        keys = pl.DataFrame(redacted, schema=dict.fromkeys(TRAJECTORY_KEY, pl.String), orient="row")
        with_read_languages = lookup_join(
            self.tables[AlignedDescriptor].collect(),
            step_languages(texts).rename({"languages": "recomputed"}),
            STEP_KEY,
        )
        descriptors = lookup_join(with_read_languages, keys.with_columns(redacted=True), TRAJECTORY_KEY)
        languages = pl.when("redacted").then("languages").otherwise(pl.col("recomputed").fill_null([]))
        return descriptors.with_columns(languages=languages).drop("recomputed", "redacted").lazy()

    def run_stage(self, stage: Stage) -> None:
        """Run one stage. Released answers take the place of the judge's."""
        if stage.judge is None:
            self.compute(stage)
            letter = letter_of(stage)
            if stage.name.startswith("decide_") and any(row.redacted for row in self.index.values()):
                self.take_redacted(stage.writes[0], letter, stage.annotation_pass)
            return
        requests = next(table for name, table in self.inputs(stage).items() if name == "requests")
        letter = letter_of(stage)
        judge = self.embedded(stage.annotation_pass)
        if judge is not None:
            answers = stage(**self.inputs(stage), **{stage.judge: judge})
            self.asked_again.setdefault(stage.annotation_pass, {})[letter] = answers.collect()
        rows = self.released_answers(requests.collect(), letter, stage.annotation_pass)
        self.tables[stage.writes[0]] = from_records(rows, stage.writes[0]).lazy()

    def compute(self, stage: Stage) -> None:
        """Run a stage over the tables so far. Scores are taken as released if their rules need unreleased columns."""
        if set(stage.writes) & SCORES and needs_unreleased_columns(self.in_force):
            for record in stage.writes:
                self.tables[record] = from_records(released_scores(self.records, record), record).lazy()
            return
        output = stage(**self.inputs(stage))
        for record, table in zip(stage.writes, output if isinstance(output, tuple) else (output,), strict=True):
            self.tables[record] = conform(table.collect(), record).lazy()

    def inputs(self, stage: Stage) -> dict[str, Any]:
        """The arguments of a stage: tables, and rules of the release."""
        tables = {name: self.tables[record] for name, record in stage.reads.items()}
        return tables | {name: self.in_force.rules(kind) for name, kind in stage.rules.items()}

    def released_answers(self, requests: pl.DataFrame, letter: str, number: int) -> list[dict[str, Any]]:
        """The released answers to these requests, as rows of JudgeAnswer. The first stage gets the tokens and the cost
        of all stages, because the lines of answers do not have them."""
        answers, rows = self.answers.get(number, {}).get(letter, {}), []
        totals = (
            {key_of(record): record["provenance"] for record in self.records} if (letter, number) == ("a", 1) else {}
        )
        for request in requests.iter_rows(named=True):
            answer = answers.get(key_of(request))
            if answer is None:
                continue
            total = totals.get(key_of(request), {})
            rows.append(
                {name: answer[name] for name in ("response_text", "former", "judge", "judge_model")}
                | {name: request[name] for name in ("source_model", "trajectory_id", "purpose", "request_sha256")}
                | {"finish": answer["failure"] if answer["failure"] in FINISHES else "complete", "request_id": None}
                | {"usage": total.get("usage", NO_USAGE), "cost_usd": total.get("cost_usd", 0.0)}
                | {"text_from": text_from(answer["repairs"]), "reasoning": None}
            )
        return rows

    def take_redacted(self, decision: type[Record], letter: str, number: int) -> None:
        """Take the released decision for each redacted record: it was made from the unredacted answer."""
        table = self.tables[decision].collect()
        rows = []
        for row in table.iter_rows(named=True):
            key = key_of(row)
            answer = self.answers.get(number, {}).get(letter, {}).get(key)
            if answer is not None and key in self.index and self.index[key].redacted:
                row |= {name: answer[name] for name in ("outcome", "failure", "issues", "repairs")}
                row["answer"] = parsed_of(answer)
            rows.append(row)
        self.tables[decision] = from_records(rows, decision).lazy()

    def embedded(self, number: int) -> RulesJudge | None:
        """The embedded judge, if a judge with the same digest answered in a pass; else None."""
        for named_judge in self.in_force.provenance.judges:
            if named_judge.annotation_pass == number and named_judge.judge == RULES:
                judge = self.in_force.judge()
                return judge if judge.digest == named_judge.digest else None
        return None


def tables_of(records: list[dict[str, Any]], index: Mapping[Key, RecordIndexRow]) -> Tables:
    """The input tables of the stages, from released records. Columns that are not released are null."""
    keys = [{"source_model": record["source_model"], "trajectory_id": record["trajectory_id"]} for record in records]
    partial = {key: PARTIAL for key, record in index.items() if record.partial_trial}
    rows: dict[type[Record], Iterator[dict[str, Any]]] = {
        Trajectory: ({**record, "completeness": partial.get(key_of(record))} for record in records),
        TraceSummaryRow: ({**record, "behaviour": record["trace_summary"]["behaviour"]} for record in records),
        Fused: ({**record, "oracle_match": "matched"} for record in records),
        Step: ({**key, **step} for key, record in zip(keys, records, strict=True) for step in record["steps"]),
        AlignedDescriptor: (
            {**key, **step, "languages": languages.get(step["step_id"], [])}
            for key, record in zip(keys, records, strict=True)
            for languages in [languages_of(record)]
            for step in record["steps"]
        ),
        UserTurn: (
            {**key, **turn, "raw_text": turn["text"]}
            for key, record in zip(keys, records, strict=True)
            for turn in record["user_turns"]
        ),
    }
    return {record: from_records(list(table_rows), record).lazy() for record, table_rows in rows.items()}


def languages_of(record: Mapping[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """step_id -> its FieldLanguages in a record."""
    by_step: dict[int, list[dict[str, Any]]] = {}
    for language in record["languages"]:
        by_step.setdefault(language["step_id"], []).append(language)
    return by_step


def needs_unreleased_columns(in_force: RulesInForce) -> bool:
    """True if the conditions of scores or onset candidates use columns of a descriptor that are not released."""
    risk, onset = in_force.rules(RiskRules), in_force.rules(OnsetRules)
    expressions = [pl.sql_expr(risk.evidence), pl.sql_expr(risk.side_effect)]
    conditions = [
        *expressions,
        *(expression.condition for expression in risk.signals),
        *(expression.condition for expression in onset.earliest),
    ]
    return bool(
        {name for expression in conditions for name in expression.meta.root_names()} - set(EvidenceStep.model_fields)
    )


def released_scores(records: list[dict[str, Any]], record: type[Record]) -> list[dict[str, Any]]:
    """Rows of Risk, StepRisk or Onset from the released records."""
    if record is not StepRisk:
        return [{"onset_rules": [], **row} for row in records]
    return [{**row, **step} for row in records for step in row["onset_candidates"]["step_risk_scores"]]


def parsed_of(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parsed answer of a StageRaw row."""
    return None if answer["parsed"] is None else cast("dict[str, Any]", json.loads(answer["parsed"]))


def letter_of(stage: Stage) -> str:
    """a, b1, b2 or c for a judged stage; empty for any other."""
    parts = stage.name.split("_")
    return parts[1] if parts[0] in ("ask", "answer", "decide") else ""


def writers(stages: Iterable[Stage]) -> dict[str, str]:
    """Column -> the last of these stages that writes it."""
    return {name: stage.name for stage in stages for record in stage.writes for name in record.model_fields}
