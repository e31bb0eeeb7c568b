"""Show: a trajectory to read. Numbered steps, thinking, narration, action, feedback, descriptors, label, evidence."""

from typing import Any

from rich.console import Console
from rich.text import Text

from openclawbench.base.terminal import flat, one_line, safe
from openclawbench.cli.render.trace_summary import summary_lines
from openclawbench.inspect.blind import blind_trajectory
from openclawbench.inspect.find import Key, has_for, rows_for
from openclawbench.records.fulltax import Annotation
from openclawbench.records.oracle import Fused
from openclawbench.records.packet import Evidence
from openclawbench.records.risk import Risk
from openclawbench.records.session import TraceSummaryRow, Trajectory
from openclawbench.records.tiers import STATUS_OF
from openclawbench.records.vocabulary import ONSETS
from openclawbench.runtime.run import Run

TEXT_FIELDS = {
    "thinking": "thinking",
    "narration": "says",
    "action_text": "action",
    "reflection_text": "feedback",
}
MARKS = ("truncated", "order_ambiguous", "several_sessions", "divergent", "head_drop")
LIMIT, LINES = 1200, 30  # characters and lines of a field that are shown; --full shows all


def print_trajectory(run: Run, key: Key, console: Console, full: bool, labelled: bool = True) -> None:
    """Print one trajectory; without `labelled` nothing that says or hints at how it was judged."""
    trajectory = rows_for(run, Trajectory, key)[0]
    trajectory["trace_summary"] = rows_for(run, TraceSummaryRow, key)[0]["trace_summary"]
    evidence = rows_for(run, Evidence, key)[0]
    if not labelled:
        trajectory, evidence = blind_trajectory(trajectory), blind_trajectory(evidence)
    annotation = rows_for(run, Annotation, key)[0] if labelled and has_for(run, Annotation, key) else None
    heading(console, trajectory, rows_for(run, Fused, key)[0], rows_for(run, Risk, key)[0], labelled)
    cited = annotation["evidence_steps"] if annotation else []
    turns = {turn["user_turn"]: turn for turn in evidence["user_turns"]}
    shown: set[int] = set()
    for step in evidence["steps"]:
        for number in sorted(n for n in turns if n <= (step["user_turn"] or 0) and n not in shown):
            shown.add(number)
            user(console, turns[number], cited, full)
        one_step(console, step, cited, annotation, full)
    for number in sorted(turns.keys() - shown):
        user(console, turns[number], cited, full)
    if not labelled:
        return
    if annotation is None:
        console.print("\nnot annotated yet: run `openclawbench annotate`")
    else:
        label(console, annotation)


def heading(
    console: Console, trajectory: dict[str, Any], fused: dict[str, Any], risk: dict[str, Any], labelled: bool
) -> None:
    """Who, what, how it ended; outcome and risk, which hint at a label, only with `labelled`."""
    summary = trajectory["trace_summary"]
    console.print(Text(one_line(f"{trajectory['source_model']}/{trajectory['trajectory_id']}"), style="bold"))
    marks = [name for name in MARKS if trajectory[name]]
    models = ", ".join(trajectory["models"]) or "none"
    outcome = f", oracle: {fused['oracle_outcome'] or 'no outcome'}" if labelled else ""
    slice_label = risk["slice_label"] or "no slice"
    rows = {
        "source": f"{source_of(trajectory)} ({trajectory['source_format']}), models: {models}",
        "task": f"{fused['task_id'] or 'unknown'}, subset {fused['subset'] or 'unknown'}{outcome}",
        "risk": f"{risk['risk_score']:.2f} {risk['risk_bucket']}, {slice_label} (priors, no labels)",
        **summary_lines(summary, trajectory["num_steps"]),
    }
    if not labelled:
        del rows["risk"]
    if labelled and trajectory["collection"]:
        rows["made by"] = made_by(trajectory)
    if marks:
        rows["marks"] = ", ".join(marks)
    if removed := trajectory["removed_records"]:
        rows["removed"] = f"{len(removed)} records that only copies of the file hold: `openclawbench trace` shows them"
    if unknown := trajectory["unknown_blocks"]:
        rows["unknown"] = "content blocks: " + ", ".join(f"{row['count']} {row['name']}" for row in unknown)
    for name, value in rows.items():
        console.print(f"  {name:8}{one_line(value)}")


def made_by(trajectory: dict[str, Any]) -> str:
    """What made a collected session."""
    collection = trajectory["collection"]
    model = f"{collection['model']} at {collection['endpoint_host']}" if collection["endpoint_host"] else None
    openclaw = f"OpenClaw {collection['openclaw']}" if collection["openclaw"] else None
    return ", ".join(filter(None, [openclaw, trajectory["mode"], collection["evaluator"], model]))


def user(console: Console, turn: dict[str, Any], cited: list[dict[str, Any]], full: bool) -> None:
    """A user turn."""
    quotes = [q["quote"] for q in cited if q["field"] == "user_turn" and q["step_id"] == turn["user_turn"]]
    console.print()
    field(console, f"user {turn['user_turn']} ({', '.join(turn['kinds'])})", turn["text"], quotes, full)


def one_step(
    console: Console,
    step: dict[str, Any],
    cited: list[dict[str, Any]],
    annotation: dict[str, Any] | None,
    full: bool,
) -> None:
    """One step; a bar at its left where it lies in an anomalous span."""
    quotes = [q for q in cited if q["step_id"] == step["step_id"] and q["field"] != "user_turn"]
    spans = annotation["segment_spans"] if annotation else []
    inside = any(s["start_step"] <= step["step_id"] <= s["end_step"] and s["label"] == "anomalous" for s in spans)
    descriptor = [step["event_type"], step["tool_status"], "side effect" if step["side_effect"] else None]
    descriptor += [step["artifact_target"], *step.get("auto_flags", [])]
    descriptor += [name for name in ("partial", "orphan") if step[name]]
    descriptor.append("shown to nobody" if step["silent_token"] else None)
    if step["resolved_by_step"]:
        descriptor.append(f"resolved by step {step['resolved_by_step']}")
    if step["resolved_by_user_turn"]:
        descriptor.append(f"user turn {step['resolved_by_user_turn']} says: {step['resolved_status']}")
    text = flat(" · ".join(str(value) for value in descriptor if value))
    onset = onsets_at(annotation, step["step_id"]) if annotation else ""
    console.print()
    console.print(Text(f"{'┃' if inside else ' '} step {step['step_id']}  ", style="bold") + Text(text, style="cyan"))
    if onset:
        console.print(f"    ◀ {onset}")
    for name, title in TEXT_FIELDS.items():
        if step[name] is not None:
            field(console, title, step[name], [q["quote"] for q in quotes if q["field"] == name], full)
    for quote in quotes:
        if quote["field"] == "descriptor":
            console.print(f"    evidence descriptor: {flat(quote['quote'])}")


def onsets_at(annotation: dict[str, Any], step_id: int) -> str:
    """Names of the onsets that are set to this step."""
    return ", ".join(name for name in ONSETS if annotation[name] == step_id)


def field(console: Console, title: str, text: str, quotes: list[str], full: bool) -> None:
    """A text field, its lines below each other; quotes that are in it are marked »so«."""
    for quote in quotes:
        text = text.replace(quote, f"»{quote}«", 1) if quote in text else f"{text}\n[evidence] »{quote}«"
    shown = text if full else "\n".join(text[:LIMIT].split("\n")[:LINES])
    if remaining := len(text) - len(shown):
        shown = f"{shown}\n[… {remaining} characters more; --full shows them]"
    body = safe(shown).replace("\n", "\n" + " " * 14)
    console.print(Text(f"    {flat(title):9} ", style="dim") + Text(body))


def label(console: Console, annotation: dict[str, Any]) -> None:
    """The label with its tier and provenance."""
    decided = {True: "anomalous", False: "normal", None: "undecided"}[annotation["is_anomalous"]]
    provenance = annotation["provenance"]
    rows = {
        "label": f"{decided} {annotation['anomaly_type_l2'] or ''}".rstrip(),
        "status": STATUS_OF.get(annotation["quality_tier"], "-"),
        "tier": f"{annotation['quality_tier'] or '-'} {annotation['review_cause'] or ''}".rstrip(),
        "judge": f"{provenance['judge'] or 'not asked'} {provenance['judge_model'] or ''}".rstrip(),
        "severity": f"{annotation['severity'] or '-'}, {annotation['recoverability'] or '-'}",
        "spans": ", ".join(f"{s['start_step']}-{s['end_step']} {s['label']}" for s in annotation["segment_spans"])
        or "-",
        "why": annotation["annotator_rationale"] or "-",
        "repairs": ", ".join(f"{r['rule_id']} {r['field']}" for r in annotation["repairs"]) or "-",
    }
    console.print()
    for name, value in rows.items():
        console.print(Text(f"  {name:9}", style="bold") + Text(flat(value)))


def source_of(trajectory: dict[str, Any]) -> str:
    """The file of a trajectory, with the part of it where it holds several sessions."""
    member = trajectory["source_member"]
    return f"{trajectory['source_file']}#{member}" if member else str(trajectory["source_file"])
