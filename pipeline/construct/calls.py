"""Tool calls -> what they do: tool rules on names and arguments, shell rules on commands. One row a distinct call."""

from typing import Any

import polars as pl

from pipeline.construct.arguments import CALL, clean, read_calls
from pipeline.construct.shell import Meaning, Shell
from pipeline.construct.shell_table import Part
from pipeline.records.evidence import Descriptor
from pipeline.rules.describe import COMMAND_KINDS, DescribeRules, Doing
from pipeline.rules.shell import ShellRules
from pipeline.tables import column, schema

DOING_SCHEMA = pl.Schema(
    {
        "event_type": pl.String(),
        "event_rule": pl.String(),
        "kind": pl.String(),
        "rule_effect": pl.Boolean(),
        "target_kind": pl.String(),
        "state": pl.String(),
        "memory": pl.Boolean(),
        "leaves": pl.Boolean(),
    }
)
MEANING = {
    "said_type": pl.String(),
    "said_rule": pl.String(),
    "said_effect": pl.Boolean(),
    "said_effect_rule": pl.String(),
    "said_targets": pl.List(pl.String),
    "said_leaves": pl.Boolean(),
    "exit_one_ok": pl.Boolean(),
    "effects": pl.Int64(),
}


def calls(steps: pl.LazyFrame, rules: DescribeRules, shell_rules: ShellRules) -> pl.DataFrame:
    """What each distinct call does, keyed by tool_name_raw and arguments (both may be null).

    Columns: tool (real name behind a wrapper), event_type, event_rule, kind, effect, effect_rule, targets (what is
    changed, as written), state_target, memory, leaves (the machine), exit_one_ok. Whether it succeeded is not asked.
    """
    distinct = steps.filter(action_kind="tool_call").select(CALL).unique(maintain_order=True).collect()
    read = read_calls(distinct, rules)
    done = by_name(read, rules)
    said = meanings(done, shell_rules)
    joined = done.join(said, on=["kind", "said"], how="left", nulls_equal=True, maintain_order="left")
    return joined.select(*CALL, "tool", *decided(rules))


def by_name(read: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """Tool rules joined by name and action, then by name, then what an unknown name's verb says."""
    narrow = doing_table(
        [(name, action, rule) for rule in rules.tools for name in rule.names for action in rule.actions], rules
    )
    wide = doing_table([(name, None, rule) for rule in rules.tools if not rule.actions for name in rule.names], rules)
    joined = read.join(
        narrow, left_on=["look_up", "action_low"], right_on=["look_up", "action_low"], how="left", maintain_order="left"
    ).join(wide.drop("action_low"), on="look_up", how="left", suffix="_wide", maintain_order="left")
    by_rule = pl.col("event_rule").is_not_null()
    merged = joined.with_columns(
        pl.when(by_rule).then(pl.col(name)).otherwise(pl.col(f"{name}_wide")).alias(name) for name in DOING_SCHEMA
    ).drop(f"{name}_wide" for name in DOING_SCHEMA)
    said = pl.concat_str(
        pl.col("tool").str.replace_all("([a-z])([A-Z])", "${1}_${2}"),
        pl.col("action"),
        separator=" ",
        ignore_nulls=True,
    )
    verb = pl.lit(None, dtype=pl.Struct(DOING_SCHEMA))
    for rule in reversed(rules.verbs):
        holds = said.str.contains(rule.pattern)
        if rule.kind in COMMAND_KINDS:
            holds = pl.col("tool").str.contains(rule.pattern) & pl.col("command").is_not_null()
        verb = pl.when(holds).then(doing_struct(rule, rules)).otherwise(verb)
    unknown = pl.lit(None, dtype=pl.Struct(DOING_SCHEMA))
    merged = merged.with_columns(verb=pl.when(pl.col("event_rule").is_null()).then(verb).otherwise(unknown))
    merged = merged.with_columns(
        pl.coalesce(pl.col(name), pl.col("verb").struct.field(name)).alias(name) for name in DOING_SCHEMA
    ).drop("verb")
    said_text = (
        pl.when(pl.col("kind").is_in(COMMAND_KINDS))
        .then("command")
        .when(kind="program")
        .then(pl.coalesce("program", "command"))
        .when(kind="sql")
        .then("statement")
    )
    effect_when = {rule.id: rule.effect_when for rule in rules.tools if rule.effect_when}
    asked = pl.lit(False)
    for rule_id, pattern in effect_when.items():
        asked = asked | (
            (pl.col("event_rule") == rule_id) & pl.coalesce("inner", "arguments").str.contains(pattern).fill_null(False)
        )
    return merged.with_columns(said=said_text, arguments_effect=asked.fill_null(False))


def doing_table(rows: list[tuple[str, str | None, Doing]], rules: DescribeRules) -> pl.DataFrame:
    """Rules by tool and action; the first rule of a pair holds."""
    data = [{"look_up": name.lower(), "action_low": action, **doing_values(rule, rules)} for name, action, rule in rows]
    table = pl.DataFrame(data, schema={"look_up": pl.String, "action_low": pl.String, **DOING_SCHEMA})
    return table.unique(["look_up", "action_low"], keep="first", maintain_order=True)


def doing_values(rule: Doing, rules: DescribeRules) -> dict[str, Any]:
    """A rule as a row of DOING_SCHEMA."""
    return {
        "event_type": rule.category,
        "event_rule": rule.id,
        "kind": getattr(rule, "kind", "plain"),
        "rule_effect": rule.effect if rule.effect is not None else rule.category in rules.effect_categories,
        "target_kind": rule.target,
        "state": rule.state,
        "memory": rule.memory,
        "leaves": rule.external,
    }


def doing_struct(rule: Doing, rules: DescribeRules) -> pl.Expr:
    """A rule as a struct literal of DOING_SCHEMA."""
    values = doing_values(rule, rules)
    return pl.struct(pl.lit(values[name], dtype=kind).alias(name) for name, kind in DOING_SCHEMA.items())


def meanings(done: pl.DataFrame, shell_rules: ShellRules) -> pl.DataFrame:
    """What each distinct command or program text does; the only loop over commands."""
    shell = Shell(shell_rules)
    texts = done.filter(pl.col("said").is_not_null()).select("kind", "said").unique(maintain_order=True)
    found = [meaning_of(shell, kind, text) for kind, text in texts.iter_rows()]
    values = list(zip(*(meaning[:8] for meaning in found), strict=True)) or [()] * 8
    parts = [[part_row(part, shell_rules.nothing) for part in meaning.parts] for meaning in found]
    columns = [column(name, list(one), kind) for (name, kind), one in zip(MEANING.items(), values, strict=True)]
    return texts.with_columns(*columns, column("command_parts", parts, schema(Descriptor)["command_parts"]))


def meaning_of(shell: Shell, kind: str, text: str) -> Meaning:
    """The meaning of a text of some kind (describe.toml: tool.kind)."""
    if kind == "program":
        return shell.program(text)
    if kind == "sql":
        return shell.statements(text)
    return shell.meaning(text, powershell=kind == "powershell")


def part_row(part: Part, nothing: str) -> dict[str, Any]:
    """A part as a record of CommandPart."""
    return {
        "event_type": None if part.category == nothing else part.category,
        "rule_id": part.rule,
        "command": clean(part.command),
        "side_effect": part.effect,
        "target": clean(part.targets[0]) if part.effect and part.targets else None,
    }


def decided(rules: DescribeRules) -> list[pl.Expr]:
    """Event type, effect and targets of a call; a write to the agent's own state is a state_write."""
    spoken = pl.col("said_type").is_not_null()
    named = pl.coalesce("said_type", "event_type", pl.lit(rules.fallback_category))
    argument = pl.coalesce(pl.when(target_kind=name).then(name) for name in ("path", "url", "recipient", "subject"))
    argued = (
        pl.when(pl.col("target_kind") == "patch")
        .then("patch")
        .otherwise(
            pl.when(argument.is_null()).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(pl.concat_list(argument))
        )
    )
    targets = pl.when(spoken).then("said_targets").otherwise(argued)
    files = [rule.pattern for rule in rules.state_files]
    state_path = first_matching(targets, files)
    effect = pl.when(spoken).then("said_effect").otherwise(pl.col("rule_effect").fill_null(False))
    effect = effect | pl.col("arguments_effect")
    state = pl.coalesce("state", pl.when(effect).then(state_path))
    memory_path = first_matching(targets, [rule.pattern for rule in rules.state_files if rule.memory])
    to_state = (named == "external_write") & state.is_not_null()
    effect_rule = (
        pl.when(spoken)
        .then("said_effect_rule")
        .when("arguments_effect")
        .then(pl.lit(rules.arguments_effect_rule))
        .when(named.is_in(rules.effect_categories))
        .then(pl.lit(rules.category_effect_rule))
        .otherwise(pl.lit(rules.tool_effect_rule))
    )
    state_rule = pl.coalesce(
        pl.when(state_path.str.contains(rule.pattern)).then(pl.lit(rule.id)) for rule in rules.state_files
    )
    remote = pl.col("event_rule").is_in([rule.id for rule in rules.verbs]).fill_null(False) & pl.col(
        "tool"
    ).str.contains(rules.remote_tools).fill_null(False)
    return [
        pl.when(to_state).then(pl.lit("state_write")).otherwise(named).alias("event_type"),
        pl.when(to_state & pl.col("state").is_null())
        .then(state_rule)
        .otherwise(pl.coalesce("said_rule", "event_rule", pl.lit(rules.fallback_rule)))
        .alias("event_rule"),
        pl.col("kind"),
        effect.alias("effect"),
        pl.when(effect).then(effect_rule).otherwise(pl.lit(rules.no_effect_rule)).alias("effect_rule"),
        pl.when(effect).then(targets.list.first()).alias("target"),
        state.alias("state_target"),
        (pl.col("memory").fill_null(False) | (effect & memory_path.is_not_null())).alias("memory"),
        pl.when(spoken).then("said_leaves").otherwise(pl.col("leaves").fill_null(False) | remote).alias("leaves"),
        pl.col("exit_one_ok").fill_null(False),
        (pl.col("effects") > 1).fill_null(False).alias("several_effects"),
        pl.coalesce("inner", "arguments").alias("real_arguments"),
        pl.col("command_parts").fill_null([]),
    ]


def first_matching(targets: pl.Expr, patterns: list[str]) -> pl.Expr:
    """The first target that one of the patterns finds."""
    return targets.list.eval(
        pl.element().filter(pl.element().str.contains("|".join(f"(?:{one})" for one in patterns)))
    ).list.first()
