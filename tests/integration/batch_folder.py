"""Whoever answers a folder of batch files: each question as the rules judge would, in the form of OpenAI or of vLLM."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from endpoint import Endpoint as Answerer

Row = dict[str, Any]
FORMS: dict[str, Callable[[str, Row], Row]] = {
    "openai": lambda id_, body: {
        "id": "batch_req_1",
        "custom_id": id_,
        "response": {"status_code": 200, "request_id": f"req-{id_[:20]}", "body": body},
        "error": None,
    },
    "vllm": lambda id_, body: {
        "id": f"vllm-{id_[:20]}",
        "custom_id": id_,
        "response": {
            "status_code": 200,
            "request_id": f"vllm-batch-{id_[:20]}",
            "body": body | {"prompt_logprobs": None},
        },
        "error": None,
    },
    "old_vllm": lambda id_, body: {"id": f"vllm-{id_[:20]}", "custom_id": id_, "response": body, "error": None},
}


def requests(folder: Path) -> dict[Path, list[Row]]:
    """The files of requests of a folder."""
    paths = sorted(path for path in folder.glob("*.jsonl") if ".output" not in path.name)
    return {path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in paths}


def output_of(path: Path, name: str = "") -> Path:
    """The file of answers beside a file of requests."""
    return path.with_name(f"{path.stem}{name}.output.jsonl")


def answer(
    folder: Path,
    form: str = "openai",
    change: Callable[[int, Row], Row | None] = lambda _, line: line,
    answerer: Answerer | None = None,
    **script: Any,
) -> list[Path]:
    """Answer every file of requests that has no answers beside it. `change` alters a line of answers, by its place from
    0, or leaves it out. Returns the files that were answered."""
    answerer = answerer or Answerer()
    answerer.reset(script)
    answered = []
    for path, rows in requests(folder).items():
        if output_of(path).exists():
            continue
        bodies = {row["custom_id"]: answerer.completion(row["body"], row["custom_id"]) for row in rows}
        lines = [FORMS[form](id_, body) for id_, body in bodies.items()]
        changed = [row for place, line in enumerate(lines) if (row := change(place, line)) is not None]
        output_of(path).write_text("".join(f"{json.dumps(line)}\n" for line in changed), encoding="utf-8")
        answered.append(path)
    return answered
