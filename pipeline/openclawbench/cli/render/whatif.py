"""What other rules would change, for people."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import flat, one_line, safe, table

KINDS_SHOWN = 8  # of one value, on a terminal; --json has all


def print_what_if(result: dict[str, Any], console: Console) -> None:
    """Tables and examples."""
    for rule in result["rules"]:
        console.print(
            f"{safe(rule['path'])} in the place of {rule['file']}{'' if rule['differs'] else ': the same rules'}"
        )
    if ignored := ", ".join(one_line(name) for name in result["passed_over"]):
        console.print(f"passed over, rules of other stages as they are in force: {ignored}")
    stages = ", ".join(result["stages"]) or "nothing"
    console.print(f"made again in memory: {stages}; the work tables are as they were")
    if set(result["stages"]) - {"split"} and "packet" not in result["stages"]:
        console.print("packets are not compared; --packets does")
    if result["sides"] is not None:
        print_splits(result["sides"]["after"], console)
        console.print()
    console.print(f"{result['moved']} of {result['trajectories']} trajectories change\n")
    if not result["changes"]:
        return
    rows = [[change["what"], change["steps"] or None, change["trajectories"]] for change in result["changes"]]
    console.print(table("What changes", ["value", "steps", "trajectories"], rows))
    for change in result["changes"]:
        console.print()
        print_value(change, console)


def print_splits(rows: list[dict[str, Any]], console: Console) -> None:
    """The table of split_counts.count_splits()."""
    names = ["cut", "side", "records", "decided", "anomalous"]
    title = "Splits (decided: needs no review; anomalous: of these)"
    console.print(table(title, names, ([row[name] for name in names] for row in rows)))


def print_value(change: dict[str, Any], console: Console) -> None:
    """The kinds of change of one value, and examples."""
    console.print(Text(change["what"], style="bold"))
    for kind in change["kinds"][:KINDS_SHOWN]:
        steps = f"{number(kind['steps'], 'step')} in " if kind["steps"] else ""
        console.print(f"  {flat(kind['kind'])}: {steps}{number(kind['trajectories'], 'trajectory')}")
    if len(change["kinds"]) > KINDS_SHOWN:
        console.print(f"  … and {len(change['kinds']) - KINDS_SHOWN} more kinds; --json lists them all")
    for example in change["examples"]:
        print_example(example, console)


def print_example(row: dict[str, Any], console: Console) -> None:
    """Where, from what to what, under which rules."""
    step = "" if row["step_id"] is None else f" step {row['step_id']}"
    console.print(Text(f"    {one_line(row['source_model'])}/{one_line(row['trajectory_id'])}{step}", style="cyan"))
    console.print(f"      {format_value(row['before'])} → {format_value(row['after'])}")
    before, after = join_rule_ids(row["rules_before"]), join_rule_ids(row["rules_after"])
    if before or after:
        console.print(f"      {before or 'no rule'} → {after or 'no rule'}" if before != after else f"      {before}")


def format_value(value: str | None) -> str:
    """A value in one short line."""
    text = " ".join(safe(value or "-").split())
    return text if len(text) <= 100 else f"{text[:99]}…"


def number(count: int, noun: str) -> str:
    """How many of a thing, in words."""
    return f"{count} {noun if count == 1 else noun.removesuffix('y') + 'ies' if noun.endswith('y') else noun + 's'}"


def join_rule_ids(rules: Iterable[str]) -> str:
    """Rule ids."""
    return ", ".join(safe(rule) for rule in rules)
