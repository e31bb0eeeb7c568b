"""Explain, sections of a step: each descriptor and flag with its rule and the text that the rule matched."""

from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from openclawbench.inspect.explain.highlights import command_place, elsewhere_place, stays_here, target_place
from openclawbench.inspect.explain.rules import rule, settings
from openclawbench.rules.construct.describe import ClearRule, DescribeRules, EnvelopeRule, FailureRule
from openclawbench.rules.construct.flags import FlagRules

if TYPE_CHECKING:
    from openclawbench.inspect.explain.explain import TrajectoryTables

Row = dict[str, Any]


@cache
def describe_rules() -> DescribeRules:
    return DescribeRules.load()


@cache
def flag_rules() -> FlagRules:
    return FlagRules.load()


def value_row(value: Any, rule_id: str | None, marks: list[Row] | None = None) -> Row:
    """A value, the rule that gave it, and the marked texts: {field, start, end} in code points, end exclusive."""
    return {"value": value, "rule": rule(rule_id).model_dump() if rule_id else None, "marked": marks or []}


def event(tables: "TrajectoryTables", step: Row) -> Row:
    """event_type: the value of the description; both values if alignment changed it."""
    naming = next(
        (
            command_part["command"]
            for command_part in step["command_parts"] or []
            if command_part["rule_id"] == step["event_rule"]
        ),
        None,
    )
    of_state = step["event_rule"] in {state_file.id for state_file in describe_rules().state_files}
    marks = target_marks(step, step["state_write_target"]) if of_state else command_marks(step, naming)
    explained = value_row(step["event_type"], step["event_rule"], marks)
    if step["event_type"] != step["previous_event_type"]:
        explained |= {
            "before_alignment": step["previous_event_type"],
            "alignment": value_row(step["event_type"], step["alignment_rule"]),
        }
    return explained


def parts(tables: "TrajectoryTables", step: Row) -> list[Row]:
    """The parts of a shell command, each with its rule; the first of the step's category names the step."""
    return [
        command_part | {"rule": rule(command_part["rule_id"]).model_dump()}
        for command_part in step["command_parts"] or []
    ]


def alignment(tables: "TrajectoryTables", step: Row) -> Row:
    """The tool's name as written and as aligned."""
    names = {
        name: step[name]
        for name in ("tool_name_raw", "tool_server", "previous_tool_name", "tool_name", "alignment_case")
    }
    return names | {"rules": [rule(part).model_dump() for part in (step["alignment_rule"] or "").split()]}


def status(tables: "TrajectoryTables", step: Row) -> Row:
    """tool_status, and the words of the result in which its rule found it."""
    marks = mark_words(step, "reflection_text", status_words(step)) if step["status_rule"] else []
    explained = value_row(step["tool_status"], step["status_rule"], marks) | {
        "resolved_by_step": step["resolved_by_step"]
    }
    if not marks and step["has_result"]:
        explained["read_from"] = {name: shorten_value(step[name]) for name in ("result_is_error", "result_details")}
    return explained


def status_words(step: Row) -> str | None:
    """The text that a failure rule finds in a result; None for rules that read the result's details."""
    rules = describe_rules()
    texts: list[FailureRule | ClearRule | EnvelopeRule] = [*rules.failures, *rules.clears, *rules.envelopes]
    patterns = {rule.id: rule.pattern for rule in texts}
    patterns[rules.status.exit_rule] = patterns[rules.status.clear_rule] = rules.status.exit_tail
    pattern = patterns.get(step["status_rule"])
    text = step["reflection_text"]
    if pattern is None or text is None:
        return None
    words = pl.Series([text]).str.extract(pattern, 0)[0]
    return str(words).strip() if words else None


def side_effect(tables: "TrajectoryTables", step: Row) -> Row:
    """The side effect: whether something outside was changed."""
    return value_row(step["side_effect"], step["side_effect_rule"])


def targets(tables: "TrajectoryTables", step: Row) -> list[Row]:
    """The target of the change, as the call names it."""
    return [
        {"field": name, **value_row(step[name], step["event_rule"], target_marks(step, step[name]))}
        for name in ("artifact_target", "state_write_target")
        if step[name] is not None
    ]


def flags(tables: "TrajectoryTables", step: Row) -> list[Row]:
    """Each firing of each flag. A firing without a place in a text names the descriptor and the other steps that it
    depends on."""
    flag_entries = []
    for row in step["flag_evidence"]:
        marks = [{name: row[name] for name in ("field", "start", "end")}] if row["start"] is not None else []
        firing = value_row(row["flag"], row["rule_id"], add_texts(step, marks))
        if row["cause"]:
            firing["cause"] = value_row(row["flag"], row["cause"], cause_marks(tables, step, row))
        if not marks:
            firing["read_from"] = {"field": row["field"], "value": shorten_value(step.get(row["field"]))}
        if because := find_contributing_steps(tables, step, row["flag"]):
            firing["because_of"] = because
        flag_entries.append(firing)
    return flag_entries


def cause_marks(tables: "TrajectoryTables", step: Row, evidence: Row) -> list[Row]:
    """The text matched by the rule on which a flag without a place of its own depends."""
    if evidence["field"] == "tool_status":
        return list(status(tables, step)["marked"])
    if evidence["flag"] != "external_interaction":
        target = step["state_write_target"] or step["artifact_target"]
        return target_marks(step, target) or list(event(tables, step)["marked"])
    shown = [
        command_part["command"]
        for command_part in step["command_parts"] or []
        if command_part["rule_id"] == evidence["cause"]
    ]
    if shown:
        return command_marks(step, next((mark for mark in shown if not stays_here(mark)), shown[0]))
    place = elsewhere_place(step["action_text"]) if step["command_parts"] else called_place(step)
    return called_marks(step, place)


def called_place(step: Row) -> tuple[int, int] | None:
    """The span of the name of the called tool; for a wrapper's call, of the inner tool."""
    name = step["previous_tool_name"] or ""
    start = (step["action_text"] or "").find(name) if name else -1
    return (start, start + len(name)) if start >= 0 else None


def find_contributing_steps(tables: "TrajectoryTables", step: Row, flag: str) -> list[Row]:
    """Other steps that made a flag fire: steps of the same message that express doubt, or the failed call that the step
    repeats."""
    if flag == "write_under_uncertainty":
        same = [other for other in tables.steps.values() if other["message_index"] == step["message_index"]]
        return [
            {"step_id": row["step_id"], "flag": "uncertainty", "marked": add_texts(row, [spot])}
            for row in same
            for spot in row["flag_evidence"]
            if spot["flag"] == "uncertainty"
        ]
    if flag == "retry_of_failed":
        call = ("tool_name", "arguments")
        failures = flag_rules().error_statuses
        return [
            {"step_id": other["step_id"], "tool_status": other["tool_status"]}
            for other in tables.steps.values()
            if other["message_index"] < step["message_index"]
            and other["tool_status"] in failures
            and [other[name] for name in call] == [step[name] for name in call]
        ]
    return []


def mark_words(step: Row, field: str, words: str | None) -> list[Row]:
    """The place of words in a field; empty if the field does not contain them verbatim."""
    text = step[field]
    start = text.find(words) if words and text else -1
    return add_texts(step, [{"field": field, "start": start, "end": start + len(words or "")}]) if start >= 0 else []


def command_marks(step: Row, shown: str | None) -> list[Row]:
    """The place of the command that names a step."""
    return called_marks(step, command_place(step["action_text"], shown) if shown and step["action_text"] else None)


def target_marks(step: Row, target: str | None) -> list[Row]:
    """The place of the argument that is a target."""
    is_shown = target and step["action_text"]
    span = target_place(step["action_text"], str(target), step["command_parts"] or []) if is_shown else None
    return called_marks(step, span)


def called_marks(step: Row, span: tuple[int, int] | None) -> list[Row]:
    """A place in the call's text; empty without a span."""
    return add_texts(step, [{"field": "action_text", "start": span[0], "end": span[1]}]) if span else []


def add_texts(step: Row, spots: list[Row]) -> list[Row]:
    """The places with the marked text, and the text before and after it."""
    around = settings().context
    return [
        {
            "field": spot["field"],
            "start": spot["start"],
            "end": spot["end"],
            "before": step[spot["field"]][max(0, spot["start"] - around) : spot["start"]],
            "text": step[spot["field"]][spot["start"] : spot["end"]],
            "after": step[spot["field"]][spot["end"] : spot["end"] + around],
        }
        for spot in spots
    ]


def shorten_value(value: Any) -> Any:
    """The value; a long text is cut to 200 characters."""
    return value if not isinstance(value, str) or len(value) <= 200 else f"{value[:200]}…"
