"""Labelled trajectories for other tools: our own readers read them back to the same steps, and every form is what its
definition says."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from normalizing import RULES, SAMPLES, read

from openclawbench.inspect.export.sessions import file_name
from openclawbench.records.session import Harness
from openclawbench.release.interchange.atif import as_atif
from openclawbench.release.interchange.atif_check import fault
from openclawbench.release.interchange.pi import LABEL, as_pi
from openclawbench.release.interchange.scout import SCHEMA, as_scout
from openclawbench.release.interchange.session import Labelled
from openclawbench.sources.atif.records import OWN_LABELS
from openclawbench.sources.identification import identify

Row = dict[str, Any]
CASES = SAMPLES.parent / "golden" / "cases"
SESSIONS = [*sorted(SAMPLES.glob("2026.*/*.jsonl")), *sorted(CASES.glob("*/raw/**/*.jsonl"))]
SYNTHETIC = RULES.synthetic_prefixes[0]
KEPT = ["step_id", "user_turn", "action_kind", "thinking", "narration", "action_text", "reflection_text", "arguments"]
KEPT += ["timestamp", "model", "usage"]
KEPT += ["result_is_error", "result_synthetic", "has_result", "partial", "silent_token", "orphan"]
PI_KEPT = [*KEPT, "tool_name_raw", "narration_position", "resolved_by_step", "resolved_by_user_turn", "resolved_status"]
LABELLED = {"quality_tier": "review_or_unresolved", "is_anomalous": None, "task_id": None, "subset": None}
LABELLED |= dict.fromkeys(["attempt", "oracle_outcome", "anomaly_type_l1", "anomaly_type_l2", "review_cause"])
LABELLED |= dict.fromkeys(["severity", "recoverability", "slice_label"])
DESCRIBED = {"event_type": "other", "tool_name": None, "tool_status": None, "side_effect": False, "auto_flags": []}


def labelled(path: Path) -> Labelled | None:
    """A sample as the work tables hold it, with a made-up label; null where it is no trajectory."""
    session = read(path.read_bytes(), str(path)).session
    if session is None:
        return None
    trajectory = {
        "source_model": "m",
        "trajectory_id": path.stem,
        "session_id": session.session_id,
        "source_format": session.source_format,
        "session_version": session.session_version,
        "models": session.models,
        "harness": dict.fromkeys(Harness.model_fields) | session.harness,
        "run": session.run | {"total_tokens": None},  # a table takes no number of twenty digits
    }
    steps = [{"step_id": step["step_id"], "tool_name_raw": step["tool_name_raw"]} | DESCRIBED for step in session.steps]
    master = LABELLED | {"steps": steps, "user_turns": [], "source_model": "m", "trajectory_id": path.stem}
    return Labelled(trajectory, session.steps, session.user_turns, master)


def some() -> list[Labelled]:
    result = [entry for entry in map(labelled, SESSIONS) if entry is not None]
    assert len(result) > 100
    return result


ALL = some()
SPEAKING = [entry for entry in ALL if entry.steps or entry.user_turns]
IDS = [f"{entry.trajectory['trajectory_id']}-{number}" for number, entry in enumerate(SPEAKING)]


def kept(steps: list[Row], names: list[str]) -> list[Row]:
    """The columns that are kept. What follows the last step may be no step, so it is in no export."""
    followed = {"followed": [step["followed"] for step in steps[:-1]]}
    return [*({name: plain(step[name]) for name in names} for step in steps), followed]


def plain(value: Any) -> Any:
    """A value as forms compare it: what a message does not say that it used is 0 in some, and a line end of Unicode is
    written as its escape."""
    if isinstance(value, dict):
        return {name: number or 0 for name, number in value.items()}
    return value.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") if isinstance(value, str) else value


def without_place(turns: list[Row]) -> list[Row]:
    return [{name: turn[name] for name in ("raw_text", "text", "kinds", "before_step", "timestamp")} for turn in turns]


def details(steps: list[Row]) -> list[Row]:
    """Details of each result as data; whether it was an error stands in a column of its own."""
    documents = [json.loads(step["result_details"] or "{}") for step in steps]
    return [{name: value for name, value in document.items() if name != "isError"} for document in documents]


@pytest.mark.parametrize("session", SPEAKING, ids=IDS)
def test_atif_is_read_back_to_the_same_steps(session: Labelled) -> None:
    data = msgspec.json.encode(as_atif(session, SYNTHETIC))
    assert fault(data) is None
    again = read(data, "m/s.json").session
    assert again is not None
    assert again.source_format == "atif"
    assert kept(again.steps, KEPT) == kept(session.steps, KEPT)
    assert without_place(again.user_turns) == without_place(session.user_turns)
    assert details(again.steps) == details(session.steps)
    named = [(step["tool_name_raw"], step["orphan"]) for step in session.steps]
    assert [step["tool_name_raw"] for step in again.steps] == [None if orphan else name for name, orphan in named]


@pytest.mark.parametrize("session", SPEAKING, ids=IDS)
def test_pi_is_read_back_to_the_same_steps(session: Labelled) -> None:
    data = b"".join(as_pi(session, SYNTHETIC))
    file_format = identify(data)
    assert file_format.source is not None
    assert file_format.source.name == "openclaw"
    again = read(data).session
    assert again is not None
    assert kept(again.steps, PI_KEPT) == kept(session.steps, PI_KEPT)
    assert without_place(again.user_turns) == without_place(session.user_turns)
    assert details(again.steps) == details(session.steps)
    last = json.loads(data.split(b"\n")[-2])
    assert (last["type"], last["customType"], last["data"]["quality_tier"]) == ("custom", LABEL, "review_or_unresolved")


def test_the_samples_have_what_makes_it_hard() -> None:
    steps = [step for entry in ALL for step in entry.steps]
    for name in ("orphan", "partial", "result_synthetic", "thinking", "narration", "silent_token", "resolved_status"):
        assert any(step[name] for step in steps), name


def test_labels_stand_where_the_form_has_a_place_for_them() -> None:
    document = as_atif(SPEAKING[0], SYNTHETIC)
    assert document is not None
    assert document["extra"][OWN_LABELS]["quality_tier"] == "review_or_unresolved"
    step_ids = [
        action["step_id"]
        for step in document["steps"]
        if step["source"] == "agent"
        for action in step["extra"][OWN_LABELS]["steps"]
    ]
    assert step_ids == [step["step_id"] for step in SPEAKING[0].steps]


def test_a_trajectory_that_says_nothing_is_no_atif_document() -> None:
    silent = Labelled(ALL[0].trajectory, [], [], ALL[0].master)
    assert as_atif(silent, SYNTHETIC) is None
    assert len(as_pi(silent, SYNTHETIC)) == 2


GOOD: Row = {
    "schema_version": "ATIF-v1.7",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "go"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c", "content": "ok"}]},
        },
    ],
}


@pytest.mark.parametrize(
    ("step", "change", "says"),
    [
        (None, {"schema_version": "ATIF-v1.6"}, "Invalid enum value"),
        (None, {"labels": {}}, "unknown field `labels`"),
        (None, {"steps": []}, "has no step"),
        (0, {"step_id": 2}, "step 1 is called 2"),
        (0, {"source": "human"}, "Invalid enum value"),
        (0, {"reasoning_content": "hm"}, "step 1: reasoning_content is for steps of the agent"),
        (0, {"colour": 1}, "unknown field `colour`"),
        (0, {"timestamp": "yesterday"}, "is not ISO 8601"),
        (1, {"observation": {"results": [{"source_call_id": "d"}]}}, "source_call_id d is not a call of this step"),
        (1, {"tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": "{}"}]}, "Expected `object`"),
        (1, {"llm_call_count": 0, "reasoning_content": "hm"}, "stands where no model was called"),
    ],
)
def test_a_document_that_breaks_a_rule_of_the_format_is_named(step: int | None, change: Row, says: str) -> None:
    document = json.loads(json.dumps(GOOD))
    assert fault(json.dumps(document).encode()) is None
    (document if step is None else document["steps"][step]).update(change)
    assert says in (fault(json.dumps(document).encode()) or "")


def test_scout_rows_are_transcripts() -> None:
    rows = [as_scout(entry, SYNTHETIC) for entry in SPEAKING]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    assert not frame["trust_content"].any()
    for row, session in zip(rows, SPEAKING, strict=True):
        document = json.loads(row["messages"])
        assert row["message_count"] == len(document)
        calls = [call["id"] for entry in document for call in entry.get("tool_calls", [])]
        wanted = [step for step in session.steps if step["action_kind"] == "tool_call" and not step["orphan"]]
        assert calls == [session.call_ids[step["step_id"]] for step in wanted]
        assert [entry["content"] for entry in document if entry["role"] == "user"] == [
            t["raw_text"] for t in session.user_turns
        ]
        results = [entry["tool_call_id"] for entry in document if entry["role"] == "tool"]
        assert results == [session.call_ids[step["step_id"]] for step in session.steps if step["has_result"]]


def test_scout_rows_meet_the_schema_of_the_tool() -> None:
    shared = os.environ.get("OPENCLAWBENCH_SHARED", "")
    path = Path(shared) / "examples" / "scout_transcript_schema_0.6.1.json"
    if not shared or not path.is_file():
        pytest.skip("OPENCLAWBENCH_SHARED names no folder with the schema of transcripts")
    schema = json.loads(path.read_bytes())
    checker = Draft202012Validator(schema)
    for session in SPEAKING:
        row = {name: value for name, value in as_scout(session, SYNTHETIC).items() if value is not None}
        checker.validate(row)
    kinds = {"string": pl.String, "integer": pl.Int64, "number": pl.Float64, "boolean": pl.Boolean}
    for name, told_ in schema["properties"].items():
        assert SCHEMA.get(name, kinds[told_["type"]]) == kinds[told_["type"]], name


@pytest.mark.parametrize(
    "text", ["../../etc/passwd", "..", ".hidden", "a/b", "a\\b", "a\nb", "x" * 400, "\u202egpj.exe", ""]
)
def test_an_id_is_never_a_way_out_of_the_folder(text: str, tmp_path: Path) -> None:
    name = file_name(text)
    assert (tmp_path / f"{name}.jsonl").resolve().parent == tmp_path.resolve()
    assert len(name.encode()) < 200
    assert not name.startswith(".")
    assert name != file_name(text + "x")
    assert name.isprintable()


def test_an_ordinary_id_is_its_own_file_name() -> None:
    assert file_name("2026.4.15-unicode.c0ffee00") == "2026.4.15-unicode.c0ffee00"
