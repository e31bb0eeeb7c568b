"""Rows that hold a session, made by hand: ATIF documents, their steps, lists of chat messages."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


def steps(number: int) -> list[Row]:
    """Steps of an ATIF document: a user's wish, a call with its result, a reply."""
    call = {"tool_call_id": "c1", "function_name": "exec", "arguments": {"command": f"ls {number}"}}
    result = {"source_call_id": "c1", "content": f"a{number}.txt\nb.txt"}
    return [
        {"step_id": 1, "source": "user", "message": f"List the files of folder {number}."},
        {"step_id": 2, "source": "agent", "message": "Looking.", "tool_calls": [call]}
        | {"observation": {"results": [result]}},
        {"step_id": 3, "source": "agent", "message": f"There are two files: a{number}.txt and b.txt."},
    ]


def document(number: int, **more: Any) -> Row:
    """A whole ATIF document."""
    agent = {"name": "openclaw", "version": "2026.4.15", "model_name": "vendor/model-a"}
    known = {"schema_version": "ATIF-v1.6", "session_id": f"s-{number}", "agent": agent, "steps": steps(number)}
    return known | more


def messages(number: int) -> list[Row]:
    """Chat messages with a call and its result."""
    call = {"name": "exec", "arguments": json.dumps({"command": f"wc -l {number}.txt"})}
    return [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": f"Count the lines of {number}.txt."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{number} {number}.txt"},
        {"role": "assistant", "content": f"It has {number} lines."},
    ]


def trace_row(number: int, score: float | None, **more: Any) -> Row:
    """A row as a table of a benchmark's trials has them: steps, score, task and the model."""
    known = {"harness": "openclaw", "session_id": f"u-{number}", "traces": steps(number), "model": "vendor/model-b"}
    return known | {"task_name": f"t{number}", "task_category": "email", "score": score, "n_steps": 3} | more


def jsonl(path: Path, rows: list[Row | str]) -> Path:
    """Write rows, one a line; a text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def parquet(path: Path, rows: list[Row], **options: Any) -> Path:
    """Write rows as Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path
