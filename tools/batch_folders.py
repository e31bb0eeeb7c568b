"""Cut batch files into folders that a model reached only through a chat can answer, and put its answers together.

    python -m tools.batch_folders split a-001.jsonl OUT
    python -m tools.batch_folders join a-001.jsonl OUT >a-001.output.jsonl

`split` writes OUT/NN/ with PROMPT.md (the system message), SCHEMA.json (the form of an answer) and item_NNN.txt (a line
`CUSTOM_ID ...`, then the user message). Requests with the same user turns, as the twins of an exam have them, are in
different folders. `join` reads OUT/NN/ANSWERS.jsonl, a line an answer: {"custom_id": ..., "content": ...}. Answers that
fit no request, or are given twice, end it with status 1. docs/develop/record_answers.md says how to ask.
"""

import argparse
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

ITEMS, CHARACTERS = 25, 250_000  # of a folder, at most
USER_TURNS = re.compile(r'"user_turns":(\[.*?\]),"steps"')
CHARACTERS_PER_TOKEN = 4  # where nobody counted tokens

Request = dict[str, Any]


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _user_text(request: Request) -> str:
    return "\n\n".join(message["content"] for message in request["body"]["messages"][1:])


def _task(request: Request) -> str:
    """What twins share: the user turns, or all of the text where it has none."""
    text = _user_text(request)
    user_turns = USER_TURNS.search(text)
    return user_turns.group(1) if user_turns else text


def folders_of(requests: list[Request], items: int = ITEMS, characters: int = CHARACTERS) -> list[list[Request]]:
    """The requests in as few folders as the limits allow, twins apart, each folder in an order of its own."""
    folders: list[list[Request]] = []
    for request in sorted(requests, key=lambda each: (_task(each), each["custom_id"])):
        size = len(_user_text(request))
        free = [
            folder
            for folder in folders
            if len(folder) < items
            and sum(len(_user_text(each)) for each in folder) + size <= characters
            and all(_task(each) != _task(request) for each in folder)
        ]
        if not free:
            folders.append([])
            free = [folders[-1]]
        min(free, key=lambda folder: sum(len(_user_text(each)) for each in folder)).append(request)
    for number, folder in enumerate(folders):
        random.Random(number).shuffle(folder)
    return folders


def split(batch: Path, out: Path, items: int = ITEMS, characters: int = CHARACTERS) -> None:
    """Write the folders; say how large each is."""
    for number, folder in enumerate(folders_of(_json_lines(batch), items, characters)):
        place = out / f"{number:02}"
        place.mkdir(parents=True)
        body = folder[0]["body"]
        (place / "PROMPT.md").write_text(body["messages"][0]["content"], encoding="utf-8")
        (place / "SCHEMA.json").write_text(json.dumps(body.get("response_format"), indent=1), encoding="utf-8")
        for index, request in enumerate(folder):
            text = f"CUSTOM_ID {request['custom_id']}\n{_user_text(request)}\n"
            (place / f"item_{index:03}.txt").write_text(text, encoding="utf-8")
        print(f"{place}: {len(folder)} items, {sum(len(_user_text(each)) for each in folder)} characters")


def answer_line(request: Request, content: Any) -> dict[str, Any]:
    """A line of a batch output file. Tokens are estimated: nobody counted them."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    asked = sum(len(message["content"]) for message in request["body"]["messages"]) // CHARACTERS_PER_TOKEN
    answered = len(text) // CHARACTERS_PER_TOKEN
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    body = {"object": "chat.completion", "model": request["body"]["model"], "choices": [choice], "usage": usage}
    return {"custom_id": request["custom_id"], "error": None, "response": {"status_code": 200, "body": body}}


def join(batch: Path, out: Path) -> list[str]:
    """Print the answers of all folders as lines of a batch output file. Returns what is wrong with some."""
    asked = {request["custom_id"]: request for request in _json_lines(batch)}
    given: dict[str, Any] = {}
    faults = []
    for path in sorted(out.glob("*/ANSWERS.jsonl")):
        for number, answer in enumerate(_json_lines(path), start=1):
            id_ = answer["custom_id"]
            if id_ not in asked or id_ in given:
                faults.append(
                    f"{path}: line {number}: {id_} {'was answered before' if id_ in given else 'was not asked'}"
                )
            else:
                given[id_] = answer["content"]
    for id_, request in asked.items():
        if id_ in given:
            print(json.dumps(answer_line(request, given[id_]), ensure_ascii=False))
    print(f"{len(given)} of {len(asked)} answered", file=sys.stderr)
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.batch_folders", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verb", choices=("split", "join"))
    parser.add_argument("batch", type=Path, help="a file of requests")
    parser.add_argument("out", type=Path, help="the folder of folders")
    parser.add_argument("--items", type=int, default=ITEMS, help="of a folder, at most (default: %(default)s)")
    parser.add_argument(
        "--characters", type=int, default=CHARACTERS, help="of a folder, at most (default: %(default)s)"
    )
    chosen = parser.parse_args()
    if chosen.verb == "split":
        split(chosen.batch, chosen.out, chosen.items, chosen.characters)
    elif faults := join(chosen.batch, chosen.out):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
