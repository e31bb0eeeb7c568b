"""Tool calls -> what they do: tool rules on names and arguments, shell rules on commands. One row a distinct call."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import polars as pl

from pipeline.construct.shell import Meaning, Shell
from pipeline.construct.shell_table import Part
from pipeline.records.evidence import Descriptor
from pipeline.rules.describe import COMMAND_KINDS, DescribeRules, Doing
from pipeline.rules.shell import ShellRules
from pipeline.tables import column, schema

DECODE = msgspec.json.Decoder().decode
CALL = ["tool_name_raw", "arguments"]
READ = ["action", "command", "program", "statement", "path", "url", "recipient", "subject"]
ACTION, COMMAND = READ.index("action"), READ.index("command")
READ_SCHEMA = pl.Schema(
    [(name, pl.String()) for name in (*CALL, "tool", "inner", *READ)] + [("patch", pl.List(pl.String))]
)
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


def read_calls(distinct: pl.DataFrame, rules: DescribeRules) -> pl.DataFrame:
    """Real tool name and the arguments that rules look at; the only loop over distinct calls."""
    reader = CallReader(rules)
    rows = [reader.read(name, arguments) for name, arguments in distinct.iter_rows()]
    return pl.DataFrame(rows, schema=READ_SCHEMA, orient="row").with_columns(
        look_up=pl.col("tool").str.to_lowercase(), action_low=pl.col("action").str.to_lowercase()
    )


class CallReader:
    """Reads one call's JSON arguments."""

    def __init__(self, rules: DescribeRules) -> None:
        self.prefix = re.compile(rules.name_prefix)
        self.patch_file = re.compile(rules.arguments.patch_file)
        self.patch_fields = rules.arguments.patch
        self.wrappers = {name: wrapper for wrapper in rules.wrappers for name in wrapper.names}
        self.command_is_action = {name for rule in rules.tools if rule.command_is_action for name in rule.names}
        self.names: dict[str | None, tuple[str | None, str]] = {}
        self.fields: dict[str, str] = {}
        # field name -> [(column, rank)]: of several names of one column the first listed that is there holds
        self.columns: dict[str, list[tuple[int, int]]] = {}
        for place, one in enumerate(READ):
            for rank, name in enumerate(getattr(rules.arguments, one)):
                self.columns.setdefault(self.plain_name(name), []).append((place, rank))

    def read(self, raw: str | None, text: str | None) -> list[Any]:
        """A row of READ_SCHEMA. Arguments that are no JSON object are no arguments."""
        found = loads(text)
        tool, low = self.bare(raw)
        inner = None
        wrapper = self.wrappers.get(low)
        if wrapper:
            name = first_text(found, wrapper.name_fields)
            if name:
                tool, low = self.bare(name)
                wrapped: Any = next((found[one] for one in wrapper.argument_fields if one in found), {})
                found = wrapped if isinstance(wrapped, dict) else loads(wrapped if isinstance(wrapped, str) else None)
                inner = json.dumps(found, ensure_ascii=False, sort_keys=True)
        values = self.values(found)
        if low in self.command_is_action:
            values[ACTION], values[COMMAND] = values[COMMAND], None
        return [raw, text, tool, inner, *values, self.patched(found)]

    def values(self, found: dict[str, Any]) -> list[str | None]:
        """The values of READ, each the first of its fields that holds text."""
        values: list[str | None] = [None] * len(READ)
        ranks = [len(self.columns)] * len(READ)
        for name, value in found.items():
            places = self.columns.get(self.plain_name(name))
            text = text_of(value) if places else None
            if text is not None and places:
                for place, rank in places:
                    if rank < ranks[place]:
                        values[place], ranks[place] = text, rank
        return values

    def plain_name(self, name: str) -> str:
        """A field's name in lower case, without what joins its words."""
        known = self.fields.get(name)
        if known is None:
            known = self.fields[name] = name.replace("_", "").replace("-", "").lower()
        return known

    def bare(self, name: str | None) -> tuple[str | None, str]:
        """A tool's name without blanks around it and a provider's prefix, and the same in lower case."""
        known = self.names.get(name)
        if known is None:
            tool = self.prefix.sub("", name).strip() or None if name else None
            known = self.names[name] = (tool, (tool or "").lower())
        return known

    def patched(self, found: dict[str, Any]) -> list[str]:
        """Files named in a patch text."""
        if not any(name in found for name in self.patch_fields):
            return []
        text = first_text(found, self.patch_fields) or ""
        return [next(group for group in hit.groups() if group) for hit in self.patch_file.finditer(text)]


def loads(text: str | None) -> dict[str, Any]:
    """A JSON object, or nothing where the text is none."""
    if not text:
        return {}
    try:
        found = DECODE(text)
    except msgspec.DecodeError:  # e.g. a lone surrogate, which the standard library reads
        found = loads_slowly(text)
    except RecursionError:
        return {}
    return found if isinstance(found, dict) else {}


def loads_slowly(text: str) -> Any:
    """What the standard library reads in a JSON text; nothing where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def first_text(found: dict[str, Any], names: Iterable[str]) -> str | None:
    """The first of these fields that holds text."""
    return next((text for name in names if (text := text_of(found.get(name))) is not None), None)


def text_of(value: Any) -> str | None:
    """A value that is text, a whole number, or a list of words (a command line)."""
    if isinstance(value, str):
        return clean(value) if value else None
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return clean(argument_list(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def argument_list(words: list[str]) -> str:
    """One command line of an argument list: ["bash", "-lc", "ls | wc"] keeps its last word whole."""
    quoted = [
        "'" + word.replace("'", "'\\''") + "'" if re.search(r"[^A-Za-z0-9_./:=@%+-]", word) else word for word in words
    ]
    return " ".join(quoted)


def clean(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


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
        verb = pl.when(said.str.contains(rule.pattern)).then(doing_struct(rule, rules)).otherwise(verb)
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
