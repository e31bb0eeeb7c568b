"""docs/develop/add_a_format.md: the adapter that the page shows reads the session that the page shows."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from normalizing import read

from openclawbench.sources import identification, registry

PAGE = (Path(__file__).parents[2] / "docs" / "develop" / "add_a_format.md").read_text(encoding="utf-8")
LONGEST_PAGE = 120  # lines


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_recipe_reads_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("transcript_log")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block("python"), "add_a_format.md", "exec"), module.__dict__)
    formats = (*registry.FORMATS, module.__dict__["TranscriptLog"]())
    monkeypatch.setattr(registry, "FORMATS", formats)
    monkeypatch.setattr(identification, "FORMATS", formats)
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
