"""docs/develop/add_a_format.md: the adapter that the page shows reads the session that the page shows."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from normalizing import read

from openclawbench.construct.normalize.session_file import SessionFile
from openclawbench.sources import identification, registry

PAGE = (Path(__file__).parents[2] / "docs" / "develop" / "add_a_format.md").read_text(encoding="utf-8")
LONGEST_PAGE = 125  # lines


def block(language: str) -> str:
    (result,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(result)


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The format of the page, registered."""
    module = ModuleType("transcript_log")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block("python"), "add_a_format.md", "exec"), module.__dict__)
    formats = (*registry.FORMATS, module.__dict__["TranscriptLog"]())
    monkeypatch.setattr(registry, "FORMATS", formats)
    monkeypatch.setattr(identification, "FORMATS", formats)


@pytest.mark.usefixtures("recipe")
def test_the_recipe_reads_its_session() -> None:
    file = read(block("json").encode(), "model-a/r1.jsonl")
    assert file.session is not None, file.message
    assert [step["action_text"] for step in file.session.steps] == [
        'exec {"command": "wc -l a.txt"}',
        "It has 3 lines.",
    ]
    assert file.session.steps[0]["reflection_text"] == "3 a.txt"
    assert file.session.record_counts["unknown_type:heartbeat"] == 1
    assert file.session.models == ["small"] and file.session.run["end"] == "completed"
    assert len(PAGE.splitlines()) <= LONGEST_PAGE


HEADER = {"transcript": 1, "run": "r1", "time": "2026-01-05T09:59:58.000Z", "model": "small"}


def session(*records: dict[str, Any], **header: Any) -> SessionFile:
    lines = [HEADER | header, *records]
    return read("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode(), "model-a/r1.jsonl")


def called(call_id: str, command: str) -> dict[str, Any]:
    return {"kind": "call", "id": call_id, "tool": "exec", "arguments": {"command": command}}


@pytest.mark.usefixtures("recipe")
def test_the_recipe_keeps_odd_records() -> None:
    file = session(
        called("a", "ls Größe/日本"),
        called("b", "ls b"),
        {"kind": "result", "id": "a", "text": "of a"},
        {"kind": "result", "id": "b", "text": "of b"},
        {"kind": "result", "id": "c", "text": "of nobody"},
        {"kind": "reply", "text": " "},
        called("d", "ls d"),
        {"kind": "reply", "text": "Done."},
    )
    assert file.session is not None, file.message
    steps = file.session.steps
    assert [step["reflection_text"] for step in steps] == ["of a", "of b", "of nobody", None, None]
    assert steps[0]["arguments"] == '{"command": "ls Größe/日本"}'
    assert [step["orphan"] for step in steps] == [False, False, True, False, False]
    assert steps[3]["followed"] and not steps[3]["has_result"]
    assert steps[4]["action_text"] == "Done." and file.session.run["empty_replies"] == 1


@pytest.mark.usefixtures("recipe")
@pytest.mark.parametrize("model", [7, {"a": 1}, None])
def test_a_wrong_type_in_the_header_costs_the_file(model: Any) -> None:
    file = session({"kind": "user", "text": "Hello"}, model=model)
    assert file.reason == "adapter_error" and file.message is not None
    assert "session.models" in file.message and "fix the adapter" in file.message
