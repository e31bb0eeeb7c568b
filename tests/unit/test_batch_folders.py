"""Batch files cut into folders for a model that is asked through a chat, and its answers put together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.batch_folders import folders_of, join, split


def request(name: str, task: str, more: str = "") -> dict[str, Any]:
    packet = f'{{"trajectory_id":"{name}","user_turns":[{{"text":"{task}"}}],"steps":[]}}{more}'
    messages = [{"role": "system", "content": "The protocol."}, {"role": "user", "content": packet}]
    body = {"model": "m", "messages": messages, "response_format": {"type": "json_schema"}}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


REQUESTS = [request(f"{task}-{twin}", task) for task in "abcdef" for twin in (1, 2)]


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    path = tmp_path / "a-001.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in REQUESTS), encoding="utf-8")
    return path


@pytest.mark.parametrize(("items", "characters"), [(25, 250_000), (3, 250_000), (25, 200)])
def test_twins_are_apart_and_every_request_is_in_one_folder(items: int, characters: int) -> None:
    folders = folders_of(REQUESTS, items, characters)
    assert sorted(each["custom_id"] for folder in folders for each in folder) == [
        each["custom_id"] for each in REQUESTS
    ]
    for folder in folders:
        tasks = [each["custom_id"][0] for each in folder]
        assert len(tasks) == len(set(tasks)) <= items


def test_a_request_beyond_the_limit_has_a_folder_of_its_own() -> None:
    folders = folders_of([request("a", "x", "y" * 500), request("b", "z")], characters=300)
    assert sorted(len(folder) for folder in folders) == [1, 1]


def test_answers_come_back_in_the_form_of_a_batch(
    batch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split(batch, tmp_path / "out")
    for folder in (tmp_path / "out").iterdir():
        assert (folder / "PROMPT.md").read_text(encoding="utf-8") == "The protocol."
        ids = [item.read_text(encoding="utf-8").split()[1] for item in folder.glob("item_*.txt")]
        lines = [json.dumps({"custom_id": id_, "content": {"said": id_}}) for id_ in ids]
        (folder / "ANSWERS.jsonl").write_text("\n".join(lines), encoding="utf-8")
    capsys.readouterr()
    assert join(batch, tmp_path / "out") == []
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["custom_id"] for row in rows] == [each["custom_id"] for each in REQUESTS]
    for row in rows:
        content = row["response"]["body"]["choices"][0]["message"]["content"]
        assert json.loads(content) == {"said": row["custom_id"]}


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        (lambda id_: {"custom_id": id_, "content": "again"}, "was answered before"),
        (lambda _: {"custom_id": "nobody", "content": "x"}, "was not asked"),
    ],
)
def test_an_answer_too_many_is_named(
    batch: Path, tmp_path: Path, more: Callable[[str], dict[str, str]], fault: str
) -> None:
    folder = tmp_path / "out" / "00"
    folder.mkdir(parents=True)
    id_ = REQUESTS[0]["custom_id"]
    answers = [{"custom_id": id_, "content": "x"}, more(id_)]
    (folder / "ANSWERS.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    [fault_line] = join(batch, tmp_path / "out")
    assert fault_line.startswith(f"{folder / 'ANSWERS.jsonl'}: line 2: ")
    assert fault_line.endswith(fault)
