"""Real files that are not part of the project: each goes through scan and normalize, and each record is accounted for.

They lie beside the checkout, in ../shared (or where OPENCLAWBENCH_SHARED says); without them these tests are skipped.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from normalizing import Normalized, check_accounting, normalized_folder

from openclawbench.intake.scan import entry_content

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("OPENCLAWBENCH_SHARED", ROOT.parent / "shared"))
DECODER = json.JSONDecoder()
Passed = tuple[Path, Normalized]


@pytest.fixture(scope="module", params=["wild", "seed_samples", "samples"])
def passed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Passed:
    """A corpus and what became of it."""
    raw = SHARED / request.param
    if not raw.is_dir():
        pytest.skip(f"{raw} is not there: put the shared corpora beside the checkout, or set OPENCLAWBENCH_SHARED")
    intake, result = normalized_folder(raw, tmp_path_factory.mktemp(request.param) / "data")
    check_accounting(result, sum(map(len, intake.entries.values())))
    return raw, result


def test_every_file_has_a_fate(passed: Passed) -> None:
    raw, result = passed
    there = {path.relative_to(raw).as_posix() for path in raw.rglob("*") if path.is_file()}
    assert {row["path"] for row in result.files} == there
    assert result.trajectories
    assert result.steps


def test_every_record_is_counted(passed: Passed) -> None:
    """The number of records is that of the JSON texts in the file, counted in another way."""
    raw, result = passed
    for row in result.files:
        if row["path"].endswith(".jsonl") and row["member"] is None and row["disposition"] in ("trajectory", "copy"):
            content = (raw / row["path"]).read_bytes()
            torn = sum(
                record_count["count"]
                for record_count in row["record_counts"]
                if record_count["name"] == "torn_last_line"
            )
            assert row["records_in"] == sum(1 for _ in json_texts(content)) + torn, row["path"]


def json_texts(content: bytes) -> Iterator[Any]:
    """JSON values of a JSONL file; what is none is left out."""
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = line.decode("utf-8", "replace").strip()
        while text:
            try:
                value, end = DECODER.raw_decode(text)
            except ValueError:
                break
            yield value
            text = text[end:].lstrip()


def test_every_pointer_leads_to_what_the_step_says(passed: Passed) -> None:
    """A step's raw records are JSON at their place, and hold the step's feedback and arguments."""
    raw, result = passed
    for trajectory in result.trajectories:
        if trajectory["source_format"] not in ("openclaw", "openclaw_sqlite"):
            continue
        content = content_of(raw, trajectory)
        for step in result.steps_of(trajectory):
            for pointer in step["raw"]:
                place = content[pointer["offset"] : pointer["offset"] + pointer["length"]]
                message = json.loads(place.decode("utf-8", "backslashreplace"))["message"]
                assert message["role"] == ("toolResult" if pointer["part"] == "result" else "assistant")
                assert content.count(b"\n", 0, pointer["offset"]) + 1 == pointer["line"]


def content_of(raw: Path, trajectory: dict[str, Any]) -> bytes:
    member = trajectory["source_member"]
    return entry_content(raw, trajectory["source_file"], member, trajectory["source_base_offset"], None)


def test_what_the_model_said_is_in_the_steps(passed: Passed) -> None:
    """In a session without branches each text of the model stands in one step, in order, each tool result too."""
    raw, result = passed
    for trajectory in result.trajectories:
        counts = next(
            {record_count["name"]: record_count["count"] for record_count in row["record_counts"]}
            for row in result.files
            if row["disposition"] == "trajectory" and row["trajectory_id"] == trajectory["trajectory_id"]
        )
        if trajectory["source_format"] not in ("openclaw", "openclaw_sqlite") or trajectory["escaped_fields"]:
            continue
        if counts.keys() & {"off_branch", "duplicate_record"} or any(name.startswith("injected") for name in counts):
            continue
        stated, results = texts_of(json_texts(content_of(raw, trajectory)))
        steps = result.steps_of(trajectory)
        spoken = [step["action_text"] if step["action_kind"] == "reply" else step["narration"] for step in steps]
        shown = map(as_shown, stated)
        assert [text for text in spoken if text is not None] == [*filter(None, shown)], trajectory["source_file"]
        heard = Counter(text for step in steps if (text := step["reflection_text"]) and "[image " not in text)
        assert heard == Counter(results), trajectory["source_file"]


def as_shown(text: str) -> str:
    """A text without the thought in tags before it, and an answer in `<final>` without these tags, as users see it."""
    answer = re.sub(r"\A\s*<(think|thinking)>.*?(</\1>\s*|(?=<final>))", "", text, flags=re.DOTALL)
    return re.sub(r"</?final>", "", answer).strip() if answer.lstrip().startswith("<final>") else answer


def texts_of(records: Iterator[Any]) -> tuple[list[str], list[str]]:
    """Text of each agent message, and of each real tool result without pictures."""
    stated, results = [], []
    for record in records:
        message = record.get("message") or {}
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text" and block["text"])
        if any(block.get("type") == "image" for block in blocks) or not text.strip():
            continue
        if message.get("role") == "assistant":
            stated.append(text)
        elif message.get("role") == "toolResult" and not text.startswith("[openclaw] missing tool result"):
            results.append(text)
    return stated, results
