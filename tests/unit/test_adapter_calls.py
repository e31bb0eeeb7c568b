"""An adapter with a defect costs the files that it fails on, with a message that names all a person needs; no other."""

import json
from pathlib import Path
from typing import Any

import pytest
from normalizing import RULES, SAMPLES, check_accounting, normalized_folder, read

from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources import identification, registry
from openclawbench.sources.base import ParsedSession, Source
from openclawbench.sources.io.jsonl import read_lines
from openclawbench.sources.step_builder import StepList

GOOD = SAMPLES / "2026.6.11" / "bad-args.jsonl"


class Careless(Source):
    """Loses records that say `lost`, counts those that say `twice` twice, stumbles over `odd`, and takes a dict for a
    text at `table`."""

    name = "careless"

    def detect(self, first: Any) -> bool:
        return bool(isinstance(first, dict) and first["careless"] if isinstance(first, dict) and "x" in first else 0)

    def identity(self, first: Any, head: bytes) -> tuple[str | None, str]:
        return None, str(first["id"])

    def find_sidecars(self, path: str, paths: frozenset[str]) -> dict[str, str]:
        return {"note": path + ".note"} if "note" in path else {}

    def read_context(self, first: Any, path: str, sidecars: dict[str, Any]) -> dict[str, Any]:
        return {"note": sidecars["other"]} if sidecars else {}

    def parse(self, content: bytes, context: dict[str, Any], rules: NormalizeRules) -> ParsedSession:
        steps, lines = StepList(rules), read_lines(content, json.loads).lines
        for line in lines:
            if line.value.get("says") == "odd":
                raise KeyError("text")
            if line.value.get("says") != "lost":
                steps.counts["step_reply"] += 2 if line.value.get("says") == "twice" else 1
                steps.reply({"words": 1} if line.value.get("says") == "table" else "words", steps.moment(None), [line])  # type: ignore[arg-type]
        records = [line for line in lines if line.value.get("says") != "hidden"]
        steps.counts["step_reply"] -= len(lines) - len(records)
        return ParsedSession(
            self.name, None, None, steps=steps.steps, records_in=len(records), record_counts=steps.counts
        )


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    formats = (Careless(), *registry.FORMATS)
    monkeypatch.setattr(registry, "FORMATS", formats)
    monkeypatch.setattr(identification, "FORMATS", formats)


def session(name: str, *says: str, **more: Any) -> bytes:
    rows = [{"x": 1, "careless": True, "id": name} | more, *({"says": entry} for entry in says)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


FILES = {
    "sound.jsonl": session("sound", "a", "b"),
    "lost.jsonl": session("lost", "a", "b", "lost", "c"),
    "twice.jsonl": session("twice", "a", "twice"),
    "hidden.jsonl": session("hidden", "hidden", "b"),
    "odd.jsonl": session("odd", "a", "b", "c", "odd", "d"),
    "table.jsonl": session("table", "a", "table"),
    "note.jsonl": session("note", "a"),
    "note.jsonl.note": b"words",
    "undetected.jsonl": b'{"x": 1}\n',
    "nameless.jsonl": b'{"x": 1, "careless": true}\n',
    "native.jsonl": GOOD.read_bytes(),
}
DEFECTS = {
    "lost.jsonl": ("records_lost", 4, "line 4: the adapter `careless` reads 5 records and accounts for 4"),
    "twice.jsonl": ("records_lost", 3, "line 3: the adapter `careless` reads 3 records and accounts for 4"),
    "hidden.jsonl": ("records_lost", 2, "line 2: the adapter `careless` reads 2 records of 3 lines"),
    "odd.jsonl": ("adapter_error", 5, "line 5: the adapter `careless` fails: KeyError: 'text' (test_adapter_calls.py"),
    "table.jsonl": (
        "adapter_error",
        3,
        "line 3: the adapter `careless` gives steps.action_text a value of the type dict; it holds str",
    ),
    "note.jsonl": ("unreadable_file", None, "the adapter `careless` fails: KeyError: 'other'"),
    "undetected.jsonl": ("unreadable_file", None, "the adapter `careless` fails: KeyError: 'careless'"),
    "nameless.jsonl": ("unreadable_file", None, "the adapter `careless` fails: KeyError: 'id'"),
}


@pytest.mark.usefixtures("careless")
def test_a_defective_adapter_costs_its_own_files(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "m"
    raw.mkdir(parents=True)
    for name, content in FILES.items():
        (raw / name).write_bytes(content)
    _, result = normalized_folder(tmp_path / "raw", tmp_path / "data")
    check_accounting(result, len(FILES))
    assert {row["source_file"] for row in result.trajectories} == {"m/sound.jsonl", "m/native.jsonl"}
    rows = {row["path"].removeprefix("m/"): row for row in result.files}
    for name, (reason, line, words) in DEFECTS.items():
        row = rows[name]
        assert (row["disposition"], row["reason"], row["line"]) == ("quarantined", reason, line), row["message"]
        assert row["message"].startswith(f"m/{name}: {words}"), row["message"]
        assert "report it, and take the file out" in row["message"]
    assert rows["odd.jsonl"]["records_in"] == 6


def test_a_sound_adapter_is_not_touched() -> None:
    file = read(GOOD.read_bytes())
    assert file.session is not None and file.disposition == "trajectory"
    assert RULES is not None
