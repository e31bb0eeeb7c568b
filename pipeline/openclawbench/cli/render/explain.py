"""Explain, for people: sections of a trajectory, one line per step, or all of one step. Every text is made safe."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import flat, one_line, table
from openclawbench.cli.render.explain_decision import print_decisions, print_label
from openclawbench.cli.render.lines import as_words, heading, join_values, line, marked_text
from openclawbench.inspect.explain.rules import settings

Row = dict[str, Any]


def print_explanation(explanation: Row, console: Console, one_step: bool) -> None:
    """The trajectory with one line per step; or one step with every rule and marked text."""
    console.print(Text(one_line(f"{explanation['source_model']}/{explanation['trajectory_id']}"), style="bold"))
    if one_step:
        for step in explanation["steps"]:
            print_step(step, console)
        return
    for name, printer in TRAJECTORY.items():
        heading(console, name)
        printer(explanation[name], console)
    heading(console, "steps")
    for step in explanation["steps"]:
        line(console, in_short(step))
    line(console, "explain ID STEP prints every rule of a step, and the text that made it hold")


def in_words(rule: Row | None) -> str:
    """A rule: id, place and text. Long texts are cut; the rule file has them in full."""
    if rule is None:
        return "no rule"
    place = f" ({rule['place']})" if rule["place"] else ""
    words, limit = rule["says"] or "", settings().words_length
    if len(words) > limit:
        words = f"{words[: limit - 1]}… ({len(words) - limit + 1} more characters)"
    return f"{rule['rule_id']}{place}" + (f": {words}" if words else "")


# ---- sections of a trajectory


def print_outcome(explained: Row, console: Console) -> None:
    outcome = explained["oracle_outcome"] or "no outcome"
    line(
        console,
        f"oracle: {outcome} (context, never evidence); task {explained['task_id']}, subset {explained['subset']}",
    )
    if explained["why_none"]:
        line(console, f"{explained['oracle_match']}: {explained['why_none']}", 4)
    for row in explained["rows"]:
        aside = "; says nothing of the run and is set aside" if row["set_aside"] else ""
        line(console, f"{row['row_id']}: {row_in_words(row)}, joined {row['joined']}{aside}", 4)
    for row in explained["not_joined"]:
        line(console, f"not joined: {row['row_id']}: {row_in_words(row)}: {row['reason']}", 4)


def row_in_words(row: Row) -> str:
    """What an oracle row says."""
    verdict = {True: "success", False: "failure"}.get(row["success"], row["status"])
    task = f", task {row['task_id']}" if row["task_id"] else ""
    attempt = f", attempt {row['attempt']}" if row["attempt"] is not None else ""
    error = ": ".join(filter(None, (row["error_type"], row["error_message"])))
    return f"{verdict}{task}{attempt}" + (f" ({error})" if error else "")


def print_risk(risk: Row, console: Console) -> None:
    columns = ["signal", "count", "weight", "adds", "steps"]
    rows = [
        [signal["signal"], signal["count"], signal["weight"], signal["contribution"], join_values(signal["steps"])]
        for signal in risk["signals"]
        if signal["count"]
    ]
    console.print(table(None, columns, rows), soft_wrap=False)
    zero = [signal["signal"] for signal in risk["signals"] if not signal["count"]]
    line(console, f"nothing of: {join_values(zero)}")
    line(console, f"raw {risk['risk_score_raw']:g}; {risk['map']}; {risk['cuts']}: {risk['risk_bucket']}")
    line(console, f"slice: {risk['slice_label'] or 'none, because there is no outcome'} (a prior, never a label)")
    for signal in risk["signals"]:
        if signal["count"]:
            line(console, in_words(signal["rule"]), 4)
    if any(signal["signal"].startswith("early") and signal["count"] for signal in risk["signals"]):
        first = risk["first_steps"]
        line(
            console,
            f"first side effect: step {first['side_effect']}; first evidence: step {first['evidence'] or '-'}",
            4,
        )


def print_onset(candidates: list[Row], console: Console) -> None:
    occurring = [row for row in candidates if row["step_id"] is not None]
    for row in occurring:
        line(console, f"step {row['step_id']}: {row['candidate']}, by {in_words(row['rule'])}")
    none = [row["candidate"] for row in candidates if row["step_id"] is None]
    if none:
        line(console, f"none: {join_values(none)}")


def print_compaction(compaction: Row, console: Console) -> None:
    size = (
        f"about {compaction['estimated_tokens']} tokens of steps and user turns, budget {compaction['budget_tokens']}"
    )
    shown = "shortened" if compaction["compacted"] else "whole"
    too_long = ", too long even so" if compaction["compacted"] else ", too long, and nothing in it gets shorter"
    line(console, f"{size}; {shown}{'' if compaction['fits'] else too_long}")
    for cut in compaction["cuts"]:
        print_cut(cut, console)


def print_cut(cut: Row, console: Console) -> None:
    """A text that the packet shows in part."""
    where = f"{cut['place'].replace('_', ' ')} {cut['number']} {cut['field']}"
    line(
        console,
        f"{where}: {cut['left_out']} of {cut['characters']} characters left out, by {cut['rule']['rule_id']}",
        4,
    )


TRAJECTORY: dict[str, Callable[[Any, Console], None]] = {
    "outcome": print_outcome,
    "risk": print_risk,
    "onset": print_onset,
    "compaction": print_compaction,
    "label": print_label,
    "decisions": print_decisions,
}


# ---- steps


def in_short(step: Row) -> str:
    """A step in one line: values and their rules."""
    parts = [f"{step['event_type']['value']} ({step['event_type']['rule']['rule_id']})"]
    if step["tool_status"]["value"]:
        parts.append(f"{step['tool_status']['value']} ({step['tool_status']['rule']['rule_id']})")
    if step["side_effect"]["value"]:
        parts.append(f"side effect ({step['side_effect']['rule']['rule_id']})")
    parts += list(dict.fromkeys(f"{flag['value']} ({flag['rule']['rule_id']})" for flag in step["flags"]))
    if step["risk"]["step_risk"]:
        parts.append(f"risk {step['risk']['step_risk']:g}")
    return f"step {step['step_id']}: " + " · ".join(parts)


def print_step(step: Row, console: Console) -> None:
    """Every section of one step."""
    heading(console, f"step {step['step_id']}")
    event = step["event_type"]
    value_with_rule(console, "event_type", event)
    if "alignment" in event:
        line(
            console,
            f"before alignment {event['before_alignment']}; aligned by {in_words(event['alignment']['rule'])}",
            6,
        )
    print_parts(step["command_parts"], console)
    print_alignment(step["alignment"], console)
    if step["tool_status"]["value"]:
        value_with_rule(console, "tool_status", step["tool_status"])
        for name, value in step["tool_status"].get("read_from", {}).items():
            if value is not None:
                line(console, f"{name.replace('_', ' ')}: {as_words(value)}", 6)
        if step["tool_status"]["resolved_by_step"]:
            line(console, f"how it ended stands in step {step['tool_status']['resolved_by_step']}", 6)
    value_with_rule(console, "side_effect", step["side_effect"])
    for target in step["targets"]:
        value_with_rule(console, target["field"], target)
    for flag in step["flags"]:
        print_flag(flag, console)
    print_step_risk(step["risk"], console)
    for row in step["onset"]:
        line(console, f"onset candidate {row['candidate']}, by {in_words(row['rule'])}")
    for cut in step["compaction"]:
        print_cut(cut, console)


def value_with_rule(console: Console, name: str, entry: Row) -> None:
    """A value with its rule and the marked texts."""
    shown = {True: "yes", False: "no"}.get(entry["value"], entry["value"]) if entry["value"] is not None else "-"
    line(console, Text(flat(f"{name} "), style="dim") + Text(flat(str(shown)), style="bold"))
    line(console, f"by {in_words(entry['rule'])}", 6)
    for mark in entry["marked"]:
        line(console, marked_text(f"{mark['field']} {mark['start']}–{mark['end']}: ", mark), 6)


def print_parts(parts: list[Row], console: Console) -> None:
    """The parts of a command line in its order."""
    for part in parts:
        effect = ", side effect" if part["side_effect"] else ""
        target = f" on {part['target']}" if part["target"] else ""
        line(console, f"part {part['command'] or '(how the text was read)'}", 6)
        line(console, f"{part['event_type'] or 'no event by itself'}{effect}{target}, by {in_words(part['rule'])}", 8)


def print_alignment(alignment: Row, console: Console) -> None:
    """The tool's name across source models."""
    if alignment["tool_name_raw"] is None and alignment["tool_name"] is None:
        return
    rules = " and ".join(map(in_words, alignment["rules"])) or "no rule"
    line(console, Text("tool_name ", style="dim") + Text(flat(str(alignment["tool_name"])), style="bold"))
    behind = alignment["previous_tool_name"] if alignment["previous_tool_name"] != alignment["tool_name_raw"] else None
    server = f" of the server {alignment['tool_server']}" if alignment["tool_server"] else ""
    written = f"written {alignment['tool_name_raw']}{f', meant {behind}{server}' if behind else ''}"
    line(console, f"{written}; {alignment['alignment_case']}, by {rules}", 6)


def print_flag(flag: Row, console: Console) -> None:
    """One firing of a flag."""
    value_with_rule(console, "flag", flag)
    if "cause" in flag:
        line(console, f"because of {in_words(flag['cause']['rule'])}", 6)
        for mark in flag["cause"]["marked"]:
            line(console, marked_text(f"{mark['field']} {mark['start']}–{mark['end']}: ", mark), 6)
    elif "read_from" in flag:
        line(console, f"read from {flag['read_from']['field']}: {flag['read_from']['value']}", 6)
    for row in flag.get("because_of", []):
        if "tool_status" in row:
            line(console, f"step {row['step_id']} ended in {row['tool_status']}", 6)
        for mark in row.get("marked", []):
            line(
                console, marked_text(f"step {row['step_id']} {mark['field']} {mark['start']}–{mark['end']}: ", mark), 6
            )


def print_step_risk(risk: Row, console: Console) -> None:
    """Where a step's risk comes from."""
    sum_ = " + ".join(f"{signal['weight']:g} {signal['signal']}" for signal in risk["signals"])
    line(
        console,
        Text("step_risk ", style="dim")
        + Text(f"{risk['step_risk']:g}", style="bold")
        + Text(flat(f" = {sum_}") if sum_ else ""),
    )
    for signal in risk["signals"]:
        line(console, f"by {in_words(signal['rule'])}", 6)
