"""Explain, for people: the label, and how each pass decided it."""

from typing import Any

from rich.console import Console

from openclawbench.cli.render.lines import as_words, join_values, line, marked_text

Row = dict[str, Any]


def print_label(label: Row | None, console: Console, command: str = "annotate") -> None:
    if label is None:
        line(console, f"not annotated, or not up to date: run `openclawbench {command}`")
        return
    decided = {True: "anomalous", False: "normal", None: "undecided"}[label["is_anomalous"]]
    subtype, cause = label["anomaly_type_l2"], label["review_cause"]
    line(console, f"{decided}{f', {subtype}' if subtype else ''}; judge: {label['judge'] or 'not asked'}")
    line(console, f"tier {label['quality_tier']}{f', because of {cause}' if cause else ''}")
    for stage, answer in label["stages"].items():
        words = (
            "not asked" if answer is None else "; ".join(f"{name} {as_words(value)}" for name, value in answer.items())
        )
        line(console, f"{stage.replace('_', ' ')}: {words}", 4)
    for evidence_step in label["evidence_steps"]:
        line(
            console,
            marked_text(
                f"cited: step {evidence_step['step_id']} {evidence_step['field']} ", {"text": evidence_step["quote"]}
            ),
            4,
        )
    for issue in label["issues"]:
        line(console, f"check {issue['check']}: {issue['message']}", 4)
    for repair in label["repairs"]:
        line(
            console,
            f"repair {repair['rule_id']}: {repair['field']} {as_words(repair['before'])} → {as_words(repair['after'])}",
            4,
        )


def print_decisions(decisions: list[Row], console: Console) -> None:
    """Each pass: what was asked, answered and read, stage by stage; the second pass with its label."""
    for row in decisions:
        line(console, f"pass {row['annotation_pass']}: {row['judge']} ({row['judge_model']}){cost(row)}")
        if row["annotation_pass"] > 1:
            print_label(row["label"], console, "annotate --pass 2")
        for stage, stage_answer in row["stages"].items():
            if stage_answer is not None:
                print_stage(stage.replace("_", " "), stage_answer, console)


def print_stage(name: str, stage_answer: Row, console: Console) -> None:
    """One stage: the question, the calls, the reading. Its content is printed with the label, except for an audit."""
    asked = stage_answer["asked"]
    saw = asked["saw"]
    material = {"packet": "the packet", "evidence": "the evidence, without outcome and risk"}[saw["record"]]
    size = "whole" if saw["estimated_tokens"] is None else f"about {saw['estimated_tokens']} tokens"
    more = "; shortened, see compaction" if saw["compacted"] else ""
    line(
        console,
        f"{name}: saw {material} ({saw['steps']} steps, {size}{more}), prompt "
        f"{asked['prompt_version']}, packet {asked['packet_sha256'][:12]}…",
        4,
    )
    if asked["purpose"] != "label":
        line(console, f"asked for the {asked['purpose'].replace('_', ' ')} only: this answer touches no label", 6)
    for call in stage_answer.get("calls", []):
        print_call(call, console)
    if former := (stage_answer.get("answered") or {}).get("former"):
        line(console, f"the first answer could not be used: {former['outcome']}", 6)
    read = stage_answer.get("read")
    if read is None:
        line(console, "the answer is not there yet, or not up to date", 6)
        return
    failure = f": {read['failure']}" if read["failure"] else ""
    line(console, f"read: {read['outcome'].replace('_', ' ')}{failure}", 6)
    for repair in read["repairs"]:
        line(
            console,
            f"repair {repair['rule_id']}: {repair['field']} {as_words(repair['before'])} → {as_words(repair['after'])}",
            6,
        )
    if asked["purpose"] != "label" and read["answer"]:
        parts = (f"{name} {as_words(value)}" for name, value in read["answer"].items() if name != "evidence_steps")
        line(console, "; ".join(parts), 6)


def print_call(call: Row, console: Console) -> None:
    """One call of the ledger."""
    tokens = f"{call['prompt_tokens']} tokens in ({call['cached_tokens']} cached), {call['completion_tokens']} out"
    line(
        console,
        f"answered {call['answered_at']} in {call['latency_s']:.2f} s, attempt {call['attempts']}, "
        f"{call['finish']}; {tokens}, {call['cost_usd']:.6f} USD; request {call['request_id'] or 'without an id'}",
        6,
    )
    if call["lost"]:
        lost = join_values(f"{row['reason']} at {row['sent_at']}" for row in call["lost"])
        line(console, f"lost on the way, and perhaps paid for: {lost}", 8)


def cost(decision: Row) -> str:
    """What the answers of a pass that decide the label cost."""
    if not decision["cost_usd"]:
        return ""
    return f", {decision['cost_usd']:.6f} USD, requests {join_values(decision['request_ids'])}"
