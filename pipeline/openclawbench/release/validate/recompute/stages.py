"""The stages once more, over what a release holds: from the released steps, turns and answers to the merged record.

Nothing is computed here in another way than in a run: these are the stages of flow.py, with the released rules.
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
from openclawbench.release.keys import Key, key_of
from openclawbench.release.labels.fingerprint import fingerprint
from openclawbench.release.validate.recompute.rules_in_force import InForce
from openclawbench.rules.flags import FlagRules
from openclawbench.rules.language import LanguageRules
from openclawbench.rules.onset import OnsetRules
from openclawbench.rules.risk import RiskRules
from openclawbench.runtime.stage import Stage
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY, Record
from openclawbench.tables.schema import conform, from_records

Tables = dict[type[Record], pl.LazyFrame]
Rows = Mapping[Key, dict[str, Any]]
FIRST_PASS = [one for one in FLOW[FLOW.index(slice) : FLOW.index(merge)] if one.scope == "shard"]
NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0}
FINISHES = ("truncated", "empty", "too_long", "content_filter", "refusal")  # failures that an answer ended with
SCORES: set[type[Record]] = {Risk, StepRisk, Onset}
TEXTS = ("thinking", "narration", "action_text")  # where a step's own words stand
PARTIAL = "partial"  # of a trial record that says so
RULES = "rules"  # name of the embedded judge


@dataclass
class Again:
    """A few records of a release, and what the stages make of them.

    `answers`: annotation pass -> stage -> the released rows of StageRaw; `asked_again`: pass -> stage -> the answers of
    the embedded judge, where it can be asked.
    """

    records: list[dict[str, Any]]
    index: Mapping[Key, RecordIndexRow]
    answers: Mapping[int, Mapping[str, Rows]]
    in_force: InForce
    tables: Tables = field(default_factory=dict)
    asked_again: dict[int, dict[str, pl.DataFrame]] = field(default_factory=dict)

    def make(self, passes: Iterable[int]) -> None:
        """Carry out the stages of these passes."""
        self.tables |= tables_of(self.records, self.index)
        self.tables[AlignedDescriptor] = self.with_languages()
        self.carry_out(fingerprint)
        for one in FIRST_PASS:
            self.step(one)
        self.carry_out(merge)
        if 2 in passes:
            for one in SECOND_PASS:
                self.step(one)

    def with_languages(self) -> pl.LazyFrame:
        """The descriptors with the languages of the released texts; a redacted record keeps its own."""
        steps = self.tables[Step].select(*STEP_KEY, "action_kind", *TEXTS).collect()
        texts = agent_texts(steps, self.in_force.rules(FlagRules).fields, self.in_force.rules(LanguageRules))
        redacted = [key for key, row in self.index.items() if row.redacted]
        keys = pl.DataFrame(redacted, schema=dict.fromkeys(TRAJECTORY_KEY, pl.String), orient="row")
        told = lookup_join(
            self.tables[AlignedDescriptor].collect(), step_languages(texts).rename({"languages": "told"}), STEP_KEY
        )
        found = lookup_join(told, keys.with_columns(redacted=True), TRAJECTORY_KEY)
        own = pl.when("redacted").then("languages").otherwise(pl.col("told").fill_null([]))
        return found.with_columns(languages=own).drop("told", "redacted").lazy()

    def step(self, one: Stage) -> None:
        """One stage; in the place of the judge's answers, those that were released."""
        if one.judge is None:
            self.carry_out(one)
            letter = letter_of(one)
            if one.name.startswith("decide_"):
                self.take_redacted(one.writes[0], letter, one.annotation_pass)
            return
        requests = next(table for name, table in self.inputs(one).items() if name == "requests")
        letter = letter_of(one)
        judge = self.embedded(one.annotation_pass)
        if judge is not None:
            said = one(**self.inputs(one), **{one.judge: judge})
            self.asked_again.setdefault(one.annotation_pass, {})[letter] = said.collect()
        rows = self.given(requests.collect(), letter, one.annotation_pass)
        self.tables[one.writes[0]] = from_records(rows, one.writes[0]).lazy()

    def carry_out(self, one: Stage) -> None:
        """A stage over the tables made so far; scores as they are released where its rules ask for more than that."""
        if set(one.writes) & SCORES and asks_for_more(self.in_force):
            for record in one.writes:
                self.tables[record] = from_records(given_scores(self.records, record), record).lazy()
            return
        made = one(**self.inputs(one))
        for record, table in zip(one.writes, made if isinstance(made, tuple) else (made,), strict=True):
            self.tables[record] = conform(table.collect(), record).lazy()

    def inputs(self, one: Stage) -> dict[str, Any]:
        """What a stage reads: tables, and rules that the release holds."""
        tables = {name: self.tables[record] for name, record in one.reads.items()}
        return tables | {name: self.in_force.rules(kind) for name, kind in one.rules.items()}

    def given(self, requests: pl.DataFrame, letter: str, number: int) -> list[dict[str, Any]]:
        """The released answers to these questions, as rows of JudgeAnswer. The tokens and the cost of all stages, which
        no answer's line holds, are told with the first."""
        known, rows = self.answers[number][letter], []
        totals = {key_of(one): one["provenance"] for one in self.records} if (letter, number) == ("a", 1) else {}
        for asked in requests.iter_rows(named=True):
            said = known.get(key_of(asked))
            if said is None:
                continue
            total = totals.get(key_of(asked), {})
            rows.append(
                {name: said[name] for name in ("response_text", "former", "judge", "judge_model")}
                | {name: asked[name] for name in ("source_model", "trajectory_id", "purpose", "request_sha256")}
                | {"finish": said["failure"] if said["failure"] in FINISHES else "complete", "request_id": None}
                | {"usage": total.get("usage", NO_USAGE), "cost_usd": total.get("cost_usd", 0.0)}
                | {"text_from": text_from(said["repairs"]), "reasoning": None}
            )
        return rows

    def take_redacted(self, decision: type[Record], letter: str, number: int) -> None:
        """Of a record whose texts were redacted, the decision as it was released: it was read from the whole answer."""
        table = self.tables[decision].collect()
        rows = []
        for row in table.iter_rows(named=True):
            key = key_of(row)
            said = self.answers[number][letter].get(key)
            if said is not None and key in self.index and self.index[key].redacted:
                row |= {name: said[name] for name in ("outcome", "failure", "issues", "repairs")}
                row["answer"] = parsed_of(said)
            rows.append(row)
        self.tables[decision] = from_records(rows, decision).lazy()

    def embedded(self, number: int) -> RulesJudge | None:
        """The embedded judge, where it is the one that was asked in a pass, to the digest; else null."""
        for one in self.in_force.made.judges:
            if one.annotation_pass == number and one.judge == RULES:
                judge = self.in_force.judge()
                return judge if judge.digest == one.digest else None
        return None


def tables_of(records: list[dict[str, Any]], index: Mapping[Key, RecordIndexRow]) -> Tables:
    """The tables that the stages begin with, of released records: what is in none of them is null."""
    keys = [{"source_model": one["source_model"], "trajectory_id": one["trajectory_id"]} for one in records]
    partial = {key: PARTIAL for key, one in index.items() if one.partial_trial}
    rows: dict[type[Record], Iterator[dict[str, Any]]] = {
        Trajectory: ({**one, "completeness": partial.get(key_of(one))} for one in records),
        TraceSummaryRow: ({**one, "behaviour": one["trace_summary"]["behaviour"]} for one in records),
        Fused: ({**one, "oracle_match": "matched"} for one in records),
        Step: ({**key, **step} for key, one in zip(keys, records, strict=True) for step in one["steps"]),
        AlignedDescriptor: (
            {**key, **step, "languages": languages.get(step["step_id"], [])}
            for key, one in zip(keys, records, strict=True)
            for languages in [languages_of(one)]
            for step in one["steps"]
        ),
        UserTurn: (
            {**key, **turn, "raw_text": turn["text"]}
            for key, one in zip(keys, records, strict=True)
            for turn in one["user_turns"]
        ),
    }
    return {record: from_records(list(some), record).lazy() for record, some in rows.items()}


def languages_of(record: Mapping[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """step_id -> its FieldLanguages, as a record has them."""
    found: dict[int, list[dict[str, Any]]] = {}
    for one in record["languages"]:
        found.setdefault(one["step_id"], []).append(one)
    return found


def asks_for_more(in_force: InForce) -> bool:
    """True where conditions of scores or candidates look at columns of a step's descriptor that are not released."""
    risk, onset = in_force.rules(RiskRules), in_force.rules(OnsetRules)
    own = [pl.sql_expr(risk.evidence), pl.sql_expr(risk.side_effect)]
    conditions = [*own, *(one.condition for one in risk.signals), *(one.condition for one in onset.earliest)]
    return bool({name for one in conditions for name in one.meta.root_names()} - set(EvidenceStep.model_fields))


def given_scores(records: list[dict[str, Any]], record: type[Record]) -> list[dict[str, Any]]:
    """Rows of Risk, StepRisk or Onset as the records have them."""
    if record is not StepRisk:
        return [{"onset_rules": [], **one} for one in records]
    return [{**one, **step} for one in records for step in one["onset_candidates"]["step_risk_scores"]]


def parsed_of(said: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parsed answer of a StageRaw row."""
    return None if said["parsed"] is None else cast("dict[str, Any]", json.loads(said["parsed"]))


def letter_of(one: Stage) -> str:
    """a, b1, b2 or c of a judged stage; blank of another."""
    parts = one.name.split("_")
    return parts[1] if parts[0] in ("ask", "answer", "decide") else ""


def made_by(stages: Iterable[Stage]) -> dict[str, str]:
    """Column -> the last of these stages that gives it."""
    return {name: one.name for one in stages for record in one.writes for name in record.model_fields}
