"""`explain` of an outcome: the rows that count, with file and line and how they were joined; why there is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from child import call
from normalizing import SAMPLES

pytestmark = pytest.mark.slow

Row = dict[str, Any]
SESSION = SAMPLES / "2026.6.11" / "thinking.jsonl"
NAMES = ["passed", "failed", "twice", "aside", "torn", "alone", "first", "second", "by_id", "short"]
JSONL = [
    {"native_session_basename": "passed", "task_id": "live_simple_1-1-0", "success": True},
    {"native_session_basename": "twice", "task_id": "live_simple_2-2-0", "success": True},
    {"native_session_basename": "twice", "task_id": "live_simple_2-2-0", "success": False},
    {"native_session_basename": "aside", "task_id": "live_simple_3-3-0", "success": False},
    {"native_session_basename": "aside", "task_id": "live_simple_3-3-0", "status": "not_scored"},
    {"native_session_basename": "torn", "status": "infra_error", "error_type": "timeout", "error_message": "no answer"},
    {"native_session_basename": "second", "task_id": "live_simple_9-9-0", "success": True},
    {"session_id": "id-by_id", "task_id": "live_simple_4-4-0", "success": True},
    {"native_session_basename": "passed", "task_id": "live_simple_1-1-0", "success": "perhaps"},
]
MANIFEST = [("failed", "simple_python_0"), ("short", "parallel_0"), ("first", "live_simple_9-9-0")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions that are joined in every way, and not joined."""
    data = tmp_path_factory.mktemp("outcomes")
    (data / "raw" / "m").mkdir(parents=True)
    for name in NAMES:
        header, *rest = SESSION.read_bytes().split(b"\n")
        own = json.dumps(json.loads(header) | {"id": f"id-{name}"}).encode()
        (data / "raw" / "m" / f"{name}.jsonl").write_bytes(b"\n".join([own, *rest]))
    write(data / "oracle" / "o.jsonl", [{"source_model": "m", **row} for row in JSONL])
    manifest = [
        {"source_model": "m", "native_session_basename": name, "task_id": task, "attempt": 1} for name, task in MANIFEST
    ]
    write(data / "raw" / "run_manifest.jsonl", manifest)
    for category, right in (("simple_python", 1), ("parallel", 2)):  # the second header says more than there are
        place = Path("m", "non_live", f"BFCL_v4_{category}")
        results = [{"id": f"{category}_{number}", "result": "[f(x=1)]"} for number in (0, 1)]
        failure = {"id": f"{category}_0", "valid": False, "error": ["wrong"], "error_type": "value_error:others"}
        header = {"accuracy": right / 2, "correct_count": right, "total_count": 2}
        write(data / "oracle" / "run" / "result" / f"{place}_result.json", results)
        write(data / "oracle" / "run" / "score" / f"{place}_score.json", [header, failure])
    ended = call("run", "--to", "packet", "--data", data)
    assert ended.status == 1, ended.err  # there is a broken line, and a header that is wrong
    return data


def write(path: Path, rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def outcome(data: Path, name: str) -> Row:
    row: Row = call("explain", name, "--data", data, "--json").json["outcome"]
    return row


SCORE = "run/score/m/non_live/BFCL_v4_{}_score.json:2"
# session -> outcome, rows that count or are set aside, how the first was joined, what is said where there is no outcome
JOINED: dict[str, tuple[str | None, list[str], str, str]] = {
    "passed": ("pass", ["o.jsonl:1"], "by the basename passed", ""),
    "failed": ("fail", [SCORE.format("simple_python")], "by the run manifest, which names the session failed", ""),
    "twice": (None, ["o.jsonl:2", "o.jsonl:3"], "by the basename twice", "contradict each other"),
    "aside": ("fail", ["o.jsonl:4", "o.jsonl:5"], "by the basename aside", ""),
    "torn": (None, ["o.jsonl:6"], "by the basename torn", "its status is infra_error: no answer"),
    "by_id": ("pass", ["o.jsonl:8"], "by the session id id-by_id", ""),
    "short": (None, [SCORE.format("parallel")], "by the run manifest", "header says 2 correct of 2"),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_session_that_rows_name(data: Path, name: str) -> None:
    verdict, rows, how, why = JOINED[name]
    actual_outcome = outcome(data, name)
    assert actual_outcome["oracle_outcome"] == verdict
    assert [row["row_id"] for row in actual_outcome["rows"]] == rows
    assert actual_outcome["rows"][0]["joined"].startswith(how)
    assert (actual_outcome["why_none"] is None) == (verdict is not None)
    assert why in (actual_outcome["why_none"] or "")
    assert [row["set_aside"] for row in actual_outcome["rows"]] == [
        name == "aside" and row == "o.jsonl:5" for row in rows
    ]


def test_a_session_that_no_row_names(data: Path) -> None:
    nothing = outcome(data, "alone")
    assert (nothing["oracle_match"], nothing["rows"], nothing["not_joined"]) == ("unmatched", [], [])
    assert "no oracle row is joined" in nothing["why_none"]
    assert "refused: 1" in nothing["why_none"]
    other = outcome(data, "first")
    (row,) = other["not_joined"]
    assert (row["row_id"], row["reason"]) == ("o.jsonl:7", "it is of the session second")


def test_it_is_printed(data: Path) -> None:
    text = " ".join(call("explain", "twice", "--data", data).text.split())
    assert "contradiction: its oracle rows contradict each other" in text
    assert "o.jsonl:2: success, task live_simple_2-2-0, joined by the basename twice" in text
    assert "o.jsonl:3: failure, task live_simple_2-2-0" in text
    assert "not joined: o.jsonl:7" in call("explain", "first", "--data", data).text
