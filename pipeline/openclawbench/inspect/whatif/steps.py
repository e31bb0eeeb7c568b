"""Differences of steps between two sets of tables: descriptors, their rules, flags with evidence, step risk."""

from typing import get_args

import polars as pl

from openclawbench.inspect.whatif.change import (
    AFTER,
    Tables,
    as_texts,
    came_or_went,
    change,
    entries,
    join_texts,
    list_change,
    number_change,
    pair_rows,
)
from openclawbench.records.evidence import AlignedDescriptor, FlagEvidence
from openclawbench.records.risk import StepRisk
from openclawbench.records.vocabulary import AutoFlag
from openclawbench.tables.record import STEP_KEY

FLAGS: tuple[str, ...] = get_args(AutoFlag)
# Value of a step -> columns that name the rules behind it.
VALUES = {
    "event_type": ["event_rule", "alignment_rule"],
    "tool_name": ["alignment_rule"],
    "tool_status": ["status_rule"],
    "side_effect": ["side_effect_rule"],
    "artifact_target": ["event_rule"],
    "state_write_target": ["event_rule"],
    "alignment_case": ["alignment_rule"],
    "previous_event_type": ["event_rule"],
    "previous_tool_name": ["event_rule"],
    "tool_server": ["event_rule"],
}
TARGETS = ("artifact_target", "state_write_target")  # counted by whether there is a value; the others by their values
RULED = {  # reported also if another rule gives the same value
    "event_type": ["event_rule", "alignment_rule"],
    "alignment": ["alignment_rule"],
    "tool_status": ["status_rule"],
    "side_effect": ["side_effect_rule"],
}
VALUE_OF = {"alignment": "alignment_case"}  # the column of RULED, if it has another name
WHATS = [
    *VALUES,
    "command_parts",
    "languages",
    *(f"flag {flag}" for flag in FLAGS),
    "order of flags",
    *(f"evidence of flag {flag}" for flag in FLAGS),
    *(f"rule of {name}" for name in RULED),
    "step_risk",
]


def of_steps(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Changes of descriptors and flags."""
    pairs = pair_rows(before, after, AlignedDescriptor, STEP_KEY)
    changed = [of_value(pairs, name, rules) for name, rules in VALUES.items()]
    changed.append(list_change(pairs, "command_parts", "command_parts", "other parts"))
    changed.append(list_change(pairs, "languages", "languages", "other languages"))
    for flag in FLAGS:
        changed += [of_flag(pairs, flag), of_evidence(pairs, flag)]
    changed.append(of_order(pairs))
    return changed + [other_rule(pairs, name) for name in RULED]


def of_step_risk(before: Tables, after: Tables) -> list[pl.LazyFrame]:
    """Changes of the per-step risk."""
    return [number_change(pair_rows(before, after, StepRisk, STEP_KEY), "step_risk")]


def of_value(pairs: pl.LazyFrame, name: str, rules: list[str]) -> pl.LazyFrame:
    """Steps in which one value differs, with the rules behind it."""
    before, after = pl.col(name), pl.col(f"{name}{AFTER}")
    kind = came_or_went(before, after, pl.lit("another")) if name in TARGETS else None
    return change(pairs, name, before, after, (rule_list(rules, ""), rule_list(rules, AFTER)), kind)


def other_rule(pairs: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Steps whose value is the same, given by another rule."""
    value = VALUE_OF.get(name, name)
    same = pairs.filter(pl.col(value).eq_missing(pl.col(f"{value}{AFTER}")))
    before, after = (rule_list(RULED[name], suffix) for suffix in ("", AFTER))
    return change(same, f"rule of {name}", join_texts(before), join_texts(after), (before, after))


def rule_list(columns: list[str], suffix: str) -> pl.Expr:
    """The rules behind a value. The alignment's rule counts for event_type only if it changed the value."""
    unchanged = pl.col(f"event_type{suffix}") == pl.col(f"previous_event_type{suffix}")
    return pl.concat_list(
        pl.when(~unchanged).then(f"{name}{suffix}")
        if name == "alignment_rule" and len(columns) > 1
        else f"{name}{suffix}"
        for name in columns
    ).list.drop_nulls()


def of_flag(pairs: pl.LazyFrame, flag: str) -> pl.LazyFrame:
    """Steps that get a flag or lose it."""

    def carried(suffix: str) -> pl.Expr:
        return pl.when(pl.col(f"auto_flags{suffix}").list.contains(flag)).then(pl.lit(flag))

    before, after = carried(""), carried(AFTER)
    kind = came_or_went(before, after, pl.lit("another"))
    return change(pairs, f"flag {flag}", before, after, flag_rules(flag), kind)


def of_order(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Steps that keep their flags in another order."""
    before, after = pl.col("auto_flags"), pl.col(f"auto_flags{AFTER}")
    same = pairs.filter(before.list.sort().eq_missing(after.list.sort()))
    return change(same, "order of flags", join_texts(before), join_texts(after), kind=pl.lit("another order"))


def of_evidence(pairs: pl.LazyFrame, flag: str) -> pl.LazyFrame:
    """Steps whose flag stays present or absent, but by other rules or other places in the text."""
    carried = [pl.col(f"auto_flags{suffix}").list.contains(flag) for suffix in ("", AFTER)]
    differ = pl.col("flag_evidence").ne_missing(pl.col(f"flag_evidence{AFTER}"))
    moved = pairs.filter(differ & (carried[0] == carried[1]))
    places = [name for name in FlagEvidence.model_fields if name != "flag"]
    before, after = (entries_of(flag, f"flag_evidence{suffix}", places) for suffix in ("", AFTER))
    rules = flag_rules(flag)
    kind = pl.when(rules[0] == rules[1]).then(pl.lit("another place")).otherwise(pl.lit("other rules"))
    return change(moved, f"evidence of flag {flag}", *as_texts(before, after), rules, kind)


def entries_of(flag: str, name: str, fields: list[str]) -> pl.Expr:
    """The evidence of one flag as a list of texts."""
    own = pl.col(name).list.filter(pl.element().struct.field("flag") == flag)
    return entries(own, fields)


def flag_rules(flag: str) -> tuple[pl.Expr, pl.Expr]:
    """The rules behind a flag, before and after."""
    of_it = pl.element().filter(pl.element().struct.field("flag") == flag).struct.field("rule_id")
    before, after = (
        pl.col(f"flag_evidence{suffix}").list.eval(of_it.unique(maintain_order=True)) for suffix in ("", AFTER)
    )
    return before, after
