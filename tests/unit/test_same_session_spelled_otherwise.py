"""A session in the row of a table is the same session however the table is written."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from normalizing import Row, normalized_folder

CALL = {"id": "c1", "type": "function", "function": {"name": "cancel", "arguments": '{"id":1}'}}
TALK: list[Row] = [
    {"role": "user", "content": "Cancel my order #1."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "cancel", "content": "ok"},
    {"role": "assistant", "content": "Done."},
]
ROWS: list[Row] = [
    {"task_id": 2, "trial": 2, "reward": 0.0, "traj": TALK},
    {"task_id": 3, "trial": 2, "reward": 0.0, "traj": [TALK[0], TALK[3]]},
]


def write_spellings(folder: Path, rows: list[Row]) -> None:
    """The rows as JSONL, as pretty JSON, one by one, with their keys in another order, as Parquet, as text there."""
    folder.mkdir(parents=True)
    turned = [dict(reversed(row.items())) | {"traj": [dict(reversed(m.items())) for m in row["traj"]]} for row in rows]
    texts = {
        "rows.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "turned.jsonl": "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in turned),
        "full.json": json.dumps(rows, indent=2),
        "single.json": json.dumps(rows[0], indent=4),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    pl.DataFrame(rows).write_parquet(folder / "rows.parquet")  # with null in the place of what a message lacks
    pl.DataFrame([row | {"traj": json.dumps(row["traj"])} for row in rows]).write_parquet(folder / "text.parquet")


def fates(raw: Path) -> tuple[list[Row], list[str]]:
    _, result = normalized_folder(raw, raw.parent / "data")
    return result.trajectories, sorted(row["disposition"] for row in result.files)


def test_rows_are_one_session_in_every_spelling(tmp_path: Path) -> None:
    write_spellings(tmp_path / "raw" / "m", ROWS)
    trajectories, dispositions = fates(tmp_path / "raw")
    assert sorted((row["task_id"], row["num_steps"]) for row in trajectories) == [("2", 2), ("3", 1)]
    assert not any(row["divergent"] for row in trajectories)
    assert dispositions == ["copy"] * 9 + ["trajectory"] * 2


def test_rows_of_other_attempts_and_other_words_are_other_sessions(tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        ROWS[0] | {"trial": 3},
        ROWS[0] | {"task_id": 4},
        ROWS[0] | {"traj": [*TALK[:-1], {"role": "assistant", "content": "done."}]},
    ]
    write_spellings(tmp_path / "raw" / "m", [ROWS[0], *others])
    trajectories, _ = fates(tmp_path / "raw")
    assert len(trajectories) == 4
