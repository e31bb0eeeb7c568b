"""From tool calls to what they do: tool rules read names and arguments, shell rules read commands. One row per distinct
call."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl

from openclawbench.base.memoize import memoize
from openclawbench.construct.describe.arguments import CALL, NAMED, read_calls
from openclawbench.construct.shell.classify import Shell, shell_of
from openclawbench.construct.shell.command_table import Part, ShellMeaning
from openclawbench.records.evidence import CommandPart
from openclawbench.rules.construct.describe import COMMAND_KINDS, DescribeRules, Doing
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.loading.patterns import union
from openclawbench.tables.collect import collect_unoptimized
from openclawbench.tables.lookup_join import lookup_join
from openclawbench.tables.regex_pool import collect_in_pool
from openclawbench.tables.schema import column, from_columns, list_column, schema

SPOKEN = pl.col("said_type").is_not_null()  # a command or program text says what is done
# A name behind that of its server: what it runs in, where it goes.
WITH_SERVER = pl.concat_str(pl.col("server").str.to_lowercase(), "name", separator="_", ignore_nulls=True)

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
    "said_written": pl.List(pl.String),
}

ORDER = ["acts_first", "several_parts"]  # what parts_of says


def classify_calls(steps: pl.LazyFrame, rules: DescribeRules, shell_rules: ShellRules) -> pl.DataFrame:
    """What each distinct call does, keyed by tool_name_raw and arguments (both may be null).

    Columns: tool (real name behind a wrapper and a server), name (the same as rules spell it), server, event_type,
    event_rule, kind, effect, effect_rule, targets (what is changed, as written), state_target, memory, leaves (the
    machine) and leaves_rule (what says so), exit_one_ok, acts_first and several_parts (parts_of). Whether it succeeded
    is not asked.
    """
    called = steps.select("action_kind", *CALL).filter(action_kind="tool_call").select(CALL)
    distinct = collect_unoptimized(called.unique(maintain_order=True))
    call_rows = by_name(read_calls(distinct, rules, shell_rules), rules)
    call_meanings = meanings(call_rows, shell_rules)
    changed = lookup_join(call_rows, call_meanings, ["kind", "said"]).with_columns(changes()).with_row_index("row")
    with_state = lookup_join(changed, own_state(changed, rules), ["row"])
    return collect_in_pool(
        with_state.lazy().select_seq(*CALL, "tool", "name", "server", *decide_event_type(rules)), "calls"
    )


def by_name(read: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """The calls with what the rule of their tool says (DOING_SCHEMA), or what an unknown name's verb says; said: the
    text that tells more, if there is one; arguments_effect: the arguments say that something is changed."""
    plan = read.lazy().with_columns_seq(unknown_names()).with_columns_seq(verb_number(rules))
    merged = lookup_join(collect_in_pool(plan, "calls"), doing_table(rules), ["doing"])
    kind, texts = argument_columns(rules)
    return collect_in_pool(merged.lazy().with_columns_seq(kind).with_columns_seq(texts), "calls")


@cache
def unknown_names() -> list[pl.Expr]:
    """unknown and words of the calls whose tool no rule knows: its name behind that of its server, which may say that
    it is a shell (mcp__shell__run); its name, and with that its action."""
    unknown = pl.when(pl.col("doing").is_null())
    action = unknown.then("action").str.replace_all(r"[_.-]+", "_")
    words = pl.concat_str(unknown.then("name"), action, separator=" ", ignore_nulls=True)
    return [unknown.then(WITH_SERVER).alias("unknown"), words.alias("words")]


@memoize
def argument_columns(rules: DescribeRules) -> list[list[pl.Expr]]:
    """kind, said and arguments_effect of calls whose doing is known."""
    is_unknown = pl.col("doing").is_null() | (pl.col("doing") >= len(rules.tools))
    kind = pl.col("kind").fill_null("plain")
    statement = pl.when(is_unknown & (kind == "plain")).then("statement")
    is_sql = statement.str.contains(rules.arguments.sql).fill_null(False)
    said_text = (
        pl.when(pl.col("kind").is_in(COMMAND_KINDS))
        .then("command")
        .when(kind="program")
        .then(pl.coalesce("program", "command"))
        .when(kind="sql")
        .then("statement")
    )
    asked = pl.lit(False)
    for number, rule in enumerate(rules.tools):
        if rule.effect_when:
            arguments = pl.when(pl.col("doing") == number).then(pl.coalesce("inner", "arguments"))
            asked = asked | arguments.str.contains(rule.effect_when).fill_null(False)
    return [
        [pl.when(is_sql).then(pl.lit("sql")).otherwise("kind").alias("kind")],
        [said_text.alias("said"), asked.alias("arguments_effect")],
    ]


@memoize
def verb_number(rules: DescribeRules) -> pl.Expr:
    """doing: the number of a call's tool rule; behind those, of the first verb rule that holds for a name which no tool
    rule knows, else of the rule of its words."""
    numbers: list[pl.Expr | str] = []
    for number, rule in enumerate(rules.verbs, start=len(rules.tools)):
        holds = pl.col("words").str.contains(rule.pattern)
        if rule.kind in COMMAND_KINDS:
            holds = pl.col("unknown").str.contains(rule.pattern) & pl.col("command").is_not_null()
        numbers.append(pl.when(holds).then(pl.lit(number, pl.UInt16)))
    return pl.coalesce("doing", *numbers, "by_word").alias("doing")


@memoize
def doing_table(rules: DescribeRules) -> pl.DataFrame:
    """The rules that say what a tool does by their numbers: doing, and the columns of DOING_SCHEMA."""
    data = [{"doing": number, **doing_values(rule, rules)} for number, rule in enumerate(rules.doings)]
    return pl.DataFrame(data, schema={"doing": pl.UInt16, **DOING_SCHEMA})


def doing_values(rule: Doing, rules: DescribeRules) -> dict[str, Any]:
    """A rule as a row of DOING_SCHEMA."""
    return {
        "event_type": rule.category,
        "event_rule": rule.id,
        "kind": getattr(rule, "kind", "plain"),
        "rule_effect": rules.acts(rule),
        "target_kind": rule.target,
        "state": rule.state,
        "memory": rule.memory,
        "leaves": rule.external,
    }


def meanings(call_rows: pl.DataFrame, shell_rules: ShellRules) -> pl.DataFrame:
    """What each distinct command or program text does; the only loop over commands."""
    shell = shell_of(shell_rules)
    texts = call_rows.filter(pl.col("said").is_not_null()).select("kind", "said").unique(maintain_order=True)
    rows = [meaning_of(shell, kind, text) for kind, text in texts.iter_rows()]
    shell.forget()
    values = list(zip(*rows, strict=True)) or [()] * len(ShellMeaning._fields)
    columns = [column(name, value, kind) for (name, kind), value in zip(MEANING.items(), values, strict=False)]
    parts = values[-1]
    leaving = column("said_leaves_rule", leaving_rules(parts, shell_rules), pl.String())
    order_values = [parts_of(part, shell_rules) for part in parts]
    order = [column(name, [values[place] for values in order_values], pl.Boolean()) for place, name in enumerate(ORDER)]
    return texts.with_columns(*columns, leaving, *order, part_lists(parts, shell_rules.nothing))


def parts_of(parts: Sequence[Part], shell_rules: ShellRules) -> tuple[bool, bool]:
    """(acts_first, several_parts). acts_first: a part changes something before another part, which may be the one that
    failed. A redirection belongs to the command behind it."""
    events = [part for part in parts if part.category != shell_rules.nothing]
    acting = [place for place, part in enumerate(events) if part.effect]
    if not acting:
        return False, len(events) > 1
    behind = len(events) - 1 - acting[0] - (events[acting[0]].rule == shell_rules.redirect_rule)
    return behind > 0, len(events) > 1


def leaving_rules(texts: Sequence[tuple[Part, ...]], shell_rules: ShellRules) -> list[str | None]:
    """The rule of the first part of each text that leaves the machine, or the rule of the wrapper that runs it
    elsewhere."""
    leave = {rule.id for rule in shell_rules.commands if rule.external}
    leaving = [[part.rule for part in parts if part.external] for parts in texts]
    return [None if not rules else rules[0] if rules[0] in leave else shell_rules.elsewhere_rule for rules in leaving]


def meaning_of(shell: Shell, kind: str, text: str) -> ShellMeaning:
    """The meaning of a text of some kind (describe.toml: tool.kind)."""
    if kind == "program":
        return shell.program(text)
    if kind == "sql":
        return shell.statements(text)
    return shell.meaning(text, powershell=kind == "powershell")


def part_lists(parts: Sequence[tuple[Part, ...]], nothing: str) -> pl.Series:
    """The parts of each text as a column of lists of CommandPart."""
    flat = [part for text_parts in parts for part in text_parts]
    values: dict[str, list[Any]] = {
        "event_type": [None if part.category == nothing else part.category for part in flat],
        "rule_id": [part.rule for part in flat],
        "command": [part.command for part in flat],
        "side_effect": [part.effect for part in flat],
        "target": [part.targets[0] if part.effect and part.targets else None for part in flat],
    }
    return list_column("command_parts", list(map(len, parts)), from_columns(values, schema(CommandPart)))


@cache
def changes() -> list[pl.Expr]:
    """targets: what a call is about, as written: of a command what it changes, else what the rule's argument names.
    written: those that are themselves changed. effect: something is changed."""
    argument = pl.coalesce(pl.when(target_kind=name).then(name) for name in NAMED)
    none = pl.lit([], dtype=pl.List(pl.String))
    argued = pl.when(argument.is_null()).then(none).otherwise(pl.concat_list(argument))
    moved = pl.concat_list("destination", "origin").list.drop_nulls()
    by_rule = pl.when(target_kind="patch").then("patch").when(target_kind="moved").then(moved).otherwise(argued)
    spoken = pl.when(SPOKEN)
    effect = spoken.then("said_effect").otherwise(pl.col("rule_effect").fill_null(False))
    return [
        spoken.then("said_targets").otherwise(by_rule).alias("targets"),
        spoken.then("said_written").otherwise(by_rule).alias("written"),
        (effect | pl.col("arguments_effect")).alias("effect"),
    ]


def own_state(calls: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """Calls that change the agent's own state: row, state_path (the first written target that is a part of it),
    state_rule, and whether one of them is memory."""
    own, conditions, first = own_files(rules)
    changed = calls.lazy().select("row", "effect", target="written").filter("effect").drop("effect")
    plan = changed.explode("target", empty_as_null=True).with_columns_seq(own)
    own_calls = collect_in_pool(plan, "calls").filter("own")
    return collect_unoptimized(
        collect_in_pool(own_calls.lazy().with_columns_seq(conditions), "calls").lazy().group_by("row").agg(first)
    )


@memoize
def own_files(rules: DescribeRules) -> tuple[pl.Expr, list[pl.Expr], list[pl.Expr]]:
    """Whether a target is a part of the agent's own state; which rule says so, and whether it is memory; what is kept
    of a call's targets."""
    target, files = pl.col("target"), rules.state_files
    rule = pl.coalesce(pl.when(target.str.contains(file.pattern)).then(pl.lit(file.id)) for file in files)
    return (
        target.str.contains(union(file.pattern for file in files)).alias("own"),
        [
            rule.alias("state_rule"),
            target.str.contains(union(file.pattern for file in files if file.memory)).alias("to_memory"),
        ],
        [target.first().alias("state_path"), pl.col("state_rule").first(), pl.col("to_memory").any()],
    )


@memoize
def decide_event_type(rules: DescribeRules) -> list[pl.Expr]:
    """Event type, effect and targets of a call; a write to the agent's own state is a state_write."""
    named = pl.coalesce("said_type", "event_type", pl.lit(rules.fallback_category))
    dry_run = pl.col("dry_run") & pl.col("effect")
    effect = pl.col("effect") & ~pl.col("dry_run")
    state = pl.coalesce("state", "state_path")
    acting = named.is_in(rules.effect_categories)
    to_state = (named == "external_write") & state.is_not_null()
    effect_rule = (
        pl.when(SPOKEN)
        .then("said_effect_rule")
        .when("arguments_effect")
        .then(pl.lit(rules.arguments_effect_rule))
        .when(acting)
        .then(pl.lit(rules.category_effect_rule))
        .otherwise(pl.lit(rules.tool_effect_rule))
    )
    by_verb = pl.when(pl.col("doing") >= len(rules.tools)).then(WITH_SERVER)
    remote = by_verb.str.contains(rules.remote_tools).fill_null(False)
    return [
        pl.when(dry_run & acting)
        .then(pl.lit(rules.dry_run_category))
        .when(to_state)
        .then(pl.lit("state_write"))
        .otherwise(named)
        .alias("event_type"),
        pl.when(dry_run & acting)
        .then(pl.lit(rules.dry_run_rule))
        .when(to_state & pl.col("state").is_null())
        .then("state_rule")
        .otherwise(pl.coalesce("said_rule", "event_rule", pl.lit(rules.fallback_rule)))
        .alias("event_rule"),
        pl.col("kind"),
        effect,
        pl.when(effect).then(effect_rule).otherwise(pl.lit(rules.no_effect_rule)).alias("effect_rule"),
        pl.when(effect).then(pl.col("targets").list.first()).alias("target"),
        pl.when(~dry_run).then(state).alias("state_target"),
        ((pl.col("memory").fill_null(False) | pl.col("to_memory").fill_null(False)) & ~dry_run).alias("memory"),
        pl.when(SPOKEN).then("said_leaves").otherwise(pl.col("leaves").fill_null(False) | remote).alias("leaves"),
        pl.when(SPOKEN)
        .then("said_leaves_rule")
        .when("leaves")
        .then("event_rule")
        .when(remote)
        .then(pl.lit(rules.remote_rule))
        .alias("leaves_rule"),
        pl.col("exit_one_ok").fill_null(False),
        pl.col("acts_first").fill_null(False),
        pl.col("several_parts").fill_null(False),
        pl.coalesce("inner", "arguments").alias("real_arguments"),
        pl.col("command_parts").fill_null([]),
    ]
