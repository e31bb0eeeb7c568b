"""Tools and commands that no rule knows, the most frequent first: what the next rule should be about."""

from collections import Counter

import polars as pl

from openclawbench.construct.describe.arguments import READ_SCHEMA, CallReader
from openclawbench.construct.shell.classify import Shell
from openclawbench.records.evidence import AlignedDescriptor
from openclawbench.records.session import Step
from openclawbench.reports.counting import all_models, by_model, with_models
from openclawbench.reports.section import BY_MODEL, Row, Section, Tables
from openclawbench.reports.settings import EvidenceReportRules
from openclawbench.rules.describe import DescribeRules
from openclawbench.rules.shell import ShellRules
from openclawbench.tables.record import STEP_KEY


def unknown_tools(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Tools by name that only the words of their name, or nothing at all, told apart."""
    describe = DescribeRules.load()
    verbs = [rule.id for rule in (*describe.verbs, *describe.deciding, *describe.nouns)]
    steps = tables(AlignedDescriptor)
    unnamed = steps.filter(pl.col("event_rule").is_in([describe.fallback_rule, *verbs]))
    rows = with_models(by_model(unnamed, ["tool_name_raw", "event_rule", "event_type"]), all_models(tables))
    rows.sort(key=lambda row: row["event_rule"] != describe.fallback_rule)
    nothing = [row for row in rows if row["event_rule"] == describe.fallback_rule]
    return Section(
        name="unknown_tools",
        title="Unknown tools",
        about="Tool calls whose tool no tool rule names. First those that nothing is known of (they stay `other`), "
        "then those whose "
        "category was read off the words of the name.",
        columns={
            "tool_name_raw": "the tool's name as the session has it",
            "event_rule": f"`{describe.fallback_rule}`: nothing is known; `verb.…`, `noun.…`: the rule of words",
            "event_type": "category given, after alignment",
            "steps": "tool calls",
            BY_MODEL: "tool calls of that source model alone",
        },
        rows=rows,
        facts={
            "unknown_tool_calls": sum(row["steps"] for row in nothing),
            "known_by_a_verb_only": sum(row["steps"] for row in rows) - sum(row["steps"] for row in nothing),
        },
        definitions={
            "unknown_tool_calls": f"Tool calls with the rule `{describe.fallback_rule}`.",
            "known_by_a_verb_only": "Tool calls whose category a rule of words gave.",
        },
        shown=rules.unknown_rows,
    )


def unknown_commands(tables: Tables, rules: EvidenceReportRules) -> Section:
    """Commands by name in the steps that only the fallback rule could name."""
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
    found = calls.sort("tool_name_raw", "arguments", "source_model", nulls_last=True).collect()
    for names, model, number in zip(named(found, shell_rules), found["source_model"], found["n"], strict=True):
        for name in names:
            counts.setdefault(name, Counter())[model] += number
    rows: list[Row] = [{"command": name, "steps": sum(n.values()), BY_MODEL: dict(n)} for name, n in counts.items()]
    rows = with_models(sorted(rows, key=lambda row: (-row["steps"], row["command"])), models)
    return Section(
        name="unknown_commands",
        title="Unknown commands",
        about="Commands without a rule in the steps that took their category from the shell's fallback "
        "(`code_execution`), looked for behind "
        "wrappers too. A step with two of them counts for both; an unknown command beside a known and more "
        "consequential one "
        "named no step and is not here.",
        columns={
            "command": "bare name of the command",
            "steps": "tool calls with it",
            BY_MODEL: "tool calls of that source model alone",
        },
        rows=rows,
        facts={"steps_named_by_the_fallback": int(found["n"].sum()), "different_commands": len(rows)},
        definitions={
            "steps_named_by_the_fallback": f"Tool calls with the rule {' or '.join(f'`{one}`' for one in fallback)}.",
            "different_commands": "Different names of commands in them.",
        },
        shown=rules.unknown_rows,
    )


def named(calls: pl.DataFrame, shell_rules: ShellRules) -> list[list[str]]:
    """The unknown commands in each call, in the order of names: the first words of the parts that no rule named."""
    reader = CallReader(DescribeRules.load(), shell_rules)
    shell, done = Shell(shell_rules), []
    for tool, arguments in calls.select("tool_name_raw", "arguments").iter_rows():
        said = dict(zip(READ_SCHEMA, reader.read(tool, arguments), strict=True))["command"]
        parts = shell.parts((said or "")[: shell_rules.max_length], 0)
        unknown = {part.command.split(" ", 1)[0] for part in parts if part.rule == shell_rules.fallback_rule}
        done.append(sorted(unknown))
    return done
