"""The event-evidence sample (paper E.10): steps stratified by category, with what a reviewer needs to judge each."""

import shlex
from typing import Any, get_args

import polars as pl

from openclawbench.audit.sampling import Key, allocate, draw_in_turns
from openclawbench.audit.settings import EventSampleRules
from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.review import EventSampleRow
from openclawbench.records.session import Step, UserTurn
from openclawbench.records.vocabulary import STEP_TEXTS, EventType
from openclawbench.reports.section import Tables
from openclawbench.tables.record import STEP_KEY, TRAJECTORY_KEY

KEY_SCHEMA = dict.fromkeys(TRAJECTORY_KEY, pl.String)


def draw(
    tables: Tables, wanted: int, seed: int, rules: EventSampleRules
) -> tuple[list[EventSampleRow], dict[str, int]]:
    """The rows of a sample, by category and key, and how many steps of each category the corpus has.

    The same tables, number, seed and rules give the same rows. Raises UsageError if the sample is too small.
    """
    steps = tables(AlignedDescriptor).select(*STEP_KEY, "event_type").collect()
    population = dict(steps.group_by("event_type").len().iter_rows())
    order = [*get_args(EventType), *sorted(set(population) - set(get_args(EventType)))]
    population = {name: population[name] for name in order if name in population}
    entries = ((category, key) for *key_columns, category in steps.iter_rows() for key in [tuple(key_columns)])
    chosen = draw_in_turns(entries, allocate(population, wanted, rules.at_least), seed)
    blank = rows_of(tables, chosen, rules)
    sample = "s-" + sha256_text(canonical_json([row | {"seed": seed} for row in blank]))[:8]
    return [EventSampleRow.model_validate(row | {"sample": sample}) for row in blank], population


def rows_of(tables: Tables, chosen: list[Key], rules: EventSampleRules) -> list[dict[str, Any]]:
    """The rows in the order of `chosen`: EventSampleRow without the sample's id."""
    keys = pl.DataFrame(sorted({key[:2] for key in chosen}), schema=KEY_SCHEMA, orient="row").lazy()
    described = by_key(tables(AlignedDescriptor).join(keys, on=TRAJECTORY_KEY, how="semi"), "step_id")
    steps = tables(Step).join(keys, on=TRAJECTORY_KEY, how="semi")
    texts = by_key(steps.select(*STEP_KEY, *STEP_TEXTS, turn="user_turn"), "step_id")
    turns = by_key(tables(UserTurn).join(keys, on=TRAJECTORY_KEY, how="semi"), "user_turn")
    rows = []
    for key in chosen:
        model, trajectory, number = key
        step, text = described[key], texts[key]
        turn = turns.get((model, trajectory, text["turn"] or 0))
        row = {name: step[name] for name in EventSampleRow.model_fields if name in step}
        row |= {name: text[name] for name in STEP_TEXTS}
        row["row"] = "r-" + sha256_text(f"{model}\0{trajectory}\0{number}")[:10]
        row["flag_evidence"] = [flag_text(evidence, text) for evidence in step["flag_evidence"]]
        row["user_turn"] = None if turn is None else turn["text"] or turn["raw_text"]
        for name, place in (("before", number - 1), ("after", number + 1)):
            row[name] = shorten_neighbour(texts.get((model, trajectory, place)), rules)
        row["trace"] = f"openclawbench trace {shlex.quote(f'{model}/{trajectory}')} {number}"
        rows.append(row)
    return rows


def by_key(table: pl.LazyFrame, number: str) -> dict[Key, dict[str, Any]]:
    """Rows by source model, trajectory and number."""
    rows = table.collect().to_dicts()
    return {(row["source_model"], row["trajectory_id"], row[number]): row for row in rows}


def flag_text(evidence: dict[str, Any], text: dict[str, Any]) -> str:
    """A flag with its rule and, for a flag from a text, the matched words."""
    words = (text.get(evidence["field"]) or "")[evidence["start"] : evidence["end"]] if evidence["end"] else ""
    return f"{evidence['flag']} ({evidence['rule_id']}, {evidence['field']})" + (f": {words}" if words else "")


def shorten_neighbour(step: dict[str, Any] | None, rules: EventSampleRules) -> str | None:
    """The action and the result of a neighbouring step, cut short."""
    if step is None:
        return None
    half = rules.context_characters // 2
    parts = [(step[name] or "")[:half] for name in ("action_text", "reflection_text")]
    return " -> ".join(part for part in parts if part) or None
