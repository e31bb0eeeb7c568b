"""Trajectories of sub-agents in ATIF documents, inside them or in files beside them: each is one of its own."""

import json
from pathlib import Path
from typing import Any

from normalizing import Normalized, check_accounting, normalized_folder

AGENT = {"name": "harness", "version": "1"}


def document(name: str, **fields: Any) -> dict[str, Any]:
    steps = [
        {"step_id": 1, "source": "user", "message": f"ask {name}"},
        {"step_id": 2, "source": "agent", "message": f"é\u2028 answer of {name}"},
    ]
    return {"schema_version": "ATIF-v1.7", "session_id": name, "agent": AGENT, "steps": steps} | fields


def naming(name: str, *paths: Any) -> dict[str, Any]:
    """A document one of whose results names files as sub-agents' trajectories."""
    new_document = document(name)
    refs = [{"trajectory_path": path} for path in paths]
    call = {"tool_call_id": "a", "function_name": "spawn", "arguments": {}}
    result = {"source_call_id": "a", "content": None, "subagent_trajectory_ref": refs}
    new_document["steps"].append(
        {"step_id": 3, "source": "agent", "message": "", "tool_calls": [call], "observation": {"results": [result]}}
    )
    return new_document


def read(tmp_path: Path, files: dict[str, Any], indent: int | None = 1) -> Normalized:
    for name, value in files.items():
        path = tmp_path / "raw" / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding="utf-8")
    intake, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, sum(len(entries) for entries in intake.entries.values()))
    return result


def parents(normalized: Normalized) -> dict[str, str | None]:
    """Session id -> session id of the parent."""
    names = {row["trajectory_id"]: row["session_id"] for row in normalized.trajectories}
    return {row["session_id"]: names.get(row["parent_trajectory_id"]) for row in normalized.trajectories}


def test_what_a_document_holds_are_trajectories_with_a_parent(tmp_path: Path) -> None:
    inner = document("two", subagent_trajectories=[document("three")])
    top = document("top", subagent_trajectories=[document("one"), inner])
    for indent in (None, 1):
        normalized = read(tmp_path / str(indent), {"a.json": top}, indent)
        assert parents(normalized) == {"top": None, "one": "top", "two": "top", "three": "two"}
        (outcome,) = [row for row in normalized.files if row["member"] is None]
        assert {"name": "subagent_trajectory", "count": 2} in outcome["record_counts"]
        content = (tmp_path / str(indent) / "raw" / "m" / "a.json").read_bytes()
        for row in normalized.trajectories:
            (step,) = normalized.steps_of(row)
            (raw,) = step["raw"]
            begin = row["source_base_offset"] + raw["offset"]
            assert json.loads(content[begin : begin + raw["length"]])["message"] == step["action_text"]
            assert content.count(b"\n", 0, begin) == row["source_base_line"] + raw["line"] - 2


def test_documents_without_ids_are_linked_too(tmp_path: Path) -> None:
    inner = {key: value for key, value in document("one").items() if key != "session_id"}
    top = {key: value for key, value in document("top").items() if key != "session_id"}
    normalized = read(tmp_path, {"a.json": top | {"subagent_trajectories": [inner]}})
    ids = {row["source_member"]: row for row in normalized.trajectories}
    assert ids["subagent1"]["parent_trajectory_id"] == ids[None]["trajectory_id"]


def test_what_does_not_say_of_which_format_it_is_needs_a_person(tmp_path: Path) -> None:
    inner = {key: value for key, value in document("one").items() if key != "schema_version"}
    normalized = read(tmp_path, {"a.json": document("top", subagent_trajectories=[inner, None])})
    assert parents(normalized) == {"top": None}
    rows = [row for row in normalized.files if row["disposition"] == "quarantined"]
    assert [row["member"] for row in rows] == ["subagent1", "subagent2"]
    assert "schema_version" in rows[0]["message"]


def test_a_file_that_a_result_names_has_that_parent(tmp_path: Path) -> None:
    files = {
        "n/p.json": naming(
            "p", "child.json", "sub/other.json", "../out.json", "/m/n/abs.json", "p.json", "gone.json", 7
        ),
        "n/child.json": document("child"),
        "n/sub/other.json": document("other"),
        "n/abs.json": document("abs"),
        "out.json": document("out"),
    }
    linked = {"child": "p", "other": "p"}
    assert parents(read(tmp_path, files)) == dict.fromkeys(("p", "abs", "out")) | linked


def test_a_file_that_two_name_has_no_parent_and_a_circle_is_told(tmp_path: Path) -> None:
    normalized = read(
        tmp_path / "a", {"p.json": naming("p", "c.json"), "q.json": naming("q", "c.json"), "c.json": document("c")}
    )
    assert parents(normalized) == {"p": None, "q": None, "c": None}
    normalized = read(tmp_path / "b", {"p.json": naming("p", "q.json"), "q.json": naming("q", "p.json")})
    assert parents(normalized) == {"p": None, "q": None}
    assert [warning["name"] for row in normalized.files for warning in row["warnings"]] == ["circular_parent"] * 2


def test_what_lies_too_deep_needs_a_person(tmp_path: Path) -> None:
    new_document = document("s0")
    for number in range(1, 40):
        new_document = document(f"s{number}", subagent_trajectories=[new_document])
    normalized = read(tmp_path, {"a.json": new_document})
    assert len(normalized.trajectories) == 17
    (reported,) = [row for row in normalized.files if row["disposition"] == "quarantined"]
    assert "16 levels inside others" in reported["message"]


def step_of(number: int, message: str, source: str = "agent", **extra: Any) -> dict[str, Any]:
    return {"step_id": number, "source": source, "message": message, "extra": extra}


def test_steps_of_sub_agents_among_the_agents_are_theirs(tmp_path: Path) -> None:
    """Claude Code's sidechains: Harbor writes them into one list, by time."""
    steps = [
        step_of(1, "I'm ready to help.", is_sidechain=True),
        step_of(2, "Count the files.", "user", is_sidechain=False),
        step_of(3, "List the folder.", "user", is_sidechain=True, agent_id="a1"),
        step_of(4, "I ask another.", is_sidechain=False),
        step_of(5, "Three.", is_sidechain=True, agent_id="a1"),
        step_of(6, "There are three.", is_sidechain="no"),
    ]
    steps[4]["metrics"] = {"prompt_tokens": 70}
    steps[5]["metrics"] = {"prompt_tokens": 5}
    total = {"total_prompt_tokens": 75}
    normalized = read(tmp_path, {"a.json": document("top") | {"steps": steps, "final_metrics": total}}, None)
    spoken = {}
    for row in normalized.trajectories:
        turns = [turn["text"] for turn in normalized.turns if turn["trajectory_id"] == row["trajectory_id"]]
        replies = [step["action_text"] for step in normalized.steps_of(row)]
        spoken[row["source_member"]] = (turns, replies, row["run"]["input_tokens"])
    assert spoken == {
        None: (["Count the files."], ["I ask another.", "There are three."], 5),
        "sidechain1": ([], ["I'm ready to help."], None),
        "sidechain2": (["List the folder."], ["Three."], 70),
    }
    (top,) = [row for row in normalized.trajectories if row["source_member"] is None]
    assert {row["parent_trajectory_id"] for row in normalized.trajectories} == {None, top["trajectory_id"]}
    (outcome,) = [row for row in normalized.files if row["member"] is None]
    assert {"name": "subagent_step", "count": 3} in outcome["record_counts"]


def test_a_document_of_a_sub_agent_alone_is_a_trajectory(tmp_path: Path) -> None:
    steps = [step_of(1, "Go.", "user", is_sidechain=True), step_of(2, "Done.", is_sidechain=True)]
    (row,) = read(tmp_path, {"a.json": document("top") | {"steps": steps}}, None).trajectories
    assert (row["num_steps"], row["parent_trajectory_id"]) == (1, None)
