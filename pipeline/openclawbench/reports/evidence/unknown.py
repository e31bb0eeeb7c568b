"""Tools and commands that no rule names, the most frequent first: candidates for the next rule."""

from collections import Counter

import polars as pl

from openclawbench.construct.describe.arguments import READ_SCHEMA, CallReader
from openclawbench.construct.shell.classify import Shell
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import Step
from openclawbench.reports.counting import all_models, by_model, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.tables.record import STEP_KEY


def unknown_tools(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Tools whose category comes from the words of their name, or from nothing."""
    describe = DescribeRules.load()
    verbs = [rule.id for rule in (*describe.verbs, *describe.deciding, *describe.nouns)]
    steps = tables(AlignedDescriptor)
    without_rule = steps.filter(pl.col("event_rule").is_in([describe.fallback_rule, *verbs]))
    rows = with_models(by_model(without_rule, ["tool_name_raw", "event_rule", "event_type"]), all_models(tables))
    rows.sort(key=lambda row: row["event_rule"] != describe.fallback_rule)
    unknown = [row for row in rows if row["event_rule"] == describe.fallback_rule]
    return Section(
        name="unknown_tools",
        title="Unknown tools",
        about="Tool calls without a tool rule. First the unknown tools (they stay `other`), then those whose category "
        "comes from the words of their name.",
        columns={
            "tool_name_raw": "the tool's name in the session",
            "event_rule": f"`{describe.fallback_rule}`: unknown; `verb.…`, `noun.…`: the rule that matched a word",
            "event_type": "category given, after alignment",
            "steps": "tool calls",
            BY_MODEL: "tool calls of that source model alone",
        },
        rows=rows,
        facts={
            "unknown_tool_calls": sum(row["steps"] for row in unknown),
            "known_by_a_verb_only": sum(row["steps"] for row in rows) - sum(row["steps"] for row in unknown),
        },
        definitions={
            "unknown_tool_calls": f"Tool calls with the rule `{describe.fallback_rule}`.",
            "known_by_a_verb_only": "Tool calls whose category comes from a rule about words of the name.",
        },
        shown=rules.unknown_rows,
    )


def unknown_commands(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Unknown commands in the steps whose category comes from the fallback rule."""
    shell_rules = ShellRules.load()
    fallback = [shell_rules.fallback_rule, shell_rules.unparsed_rule]
    steps = tables(AlignedDescriptor)
    models = all_models(tables)
    wanted = steps.filter(pl.col("event_rule").is_in(fallback)).select(STEP_KEY)
    calls = (
        tables(Step)
        .join(wanted, on=STEP_KEY, how="semi")
        .group_by("tool_name_raw", "arguments", "source_model")
        .agg(n=pl.len())
    )
    counts: dict[str, Counter[str]] = {}
    counted_calls = calls.sort("tool_name_raw", "arguments", "source_model", nulls_last=True).collect()
    for names, model, number in zip(
        unknown_by_call(counted_calls, shell_rules), counted_calls["source_model"], counted_calls["n"], strict=True
    ):
        for name in names:
            counts.setdefault(name, Counter())[model] += number
    rows: list[Row] = [{"command": name, "steps": sum(n.values()), BY_MODEL: dict(n)} for name, n in counts.items()]
    rows = with_models(sorted(rows, key=lambda row: (-row["steps"], row["command"])), models)
    return Section(
        name="unknown_commands",
        title="Unknown commands",
        about="Commands without a rule in the steps that took their category from the shell's fallback "
        "(`code_execution`), including commands behind wrappers. A step with two of them counts for both. An unknown "
        "command beside a known and more consequential one does not name its step and is left out.",
        columns={
            "command": "bare name of the command",
            "steps": "tool calls with it",
            BY_MODEL: "tool calls of that source model alone",
        },
        rows=rows,
        facts={"steps_named_by_the_fallback": int(counted_calls["n"].sum()), "different_commands": len(rows)},
        definitions={
            "steps_named_by_the_fallback": f"Tool calls with the rule {' or '.join(f'`{rule}`' for rule in fallback)}.",
            "different_commands": "Different names of commands in them.",
        },
        shown=rules.unknown_rows,
    )


def unknown_by_call(calls: pl.DataFrame, shell_rules: ShellRules) -> list[list[str]]:
    """The unknown commands of each call, sorted: the first words of command parts that only the fallback rule
    matches."""
    reader = CallReader(DescribeRules.load(), shell_rules)
    shell, names_by_call = Shell(shell_rules), []
    for tool, arguments in calls.select("tool_name_raw", "arguments").iter_rows():
        command = dict(zip(READ_SCHEMA, reader.read(tool, arguments), strict=True))["command"]
        parts = shell.parts((command or "")[: shell_rules.max_length], 0)
        unknown = {part.command.split(" ", 1)[0] for part in parts if part.rule == shell_rules.fallback_rule}
        names_by_call.append(sorted(unknown))
    return names_by_call
