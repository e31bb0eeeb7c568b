"""Harmless recorded steps that make a session longer: each is a call and its result."""

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from openclawbench.exam.clothe import parse_time, record

FILLER = Path(__file__).parent / "filler.toml"
PAUSE = timedelta(milliseconds=900)  # between two records of the filler
Unit = tuple[dict[str, Any], dict[str, Any]]  # the agent's message, the tool's result


@cache
def units() -> tuple[Unit, ...]:
    """Every step of the recorded filler."""
    lines = [record(line) for line in FILLER.with_suffix(".jsonl").read_bytes().split(b"\n")]
    messages = [line for line in lines if line.get("type") == "message"]
    return tuple((call, result) for call, result in pairwise(messages) if result["message"]["role"] == "toolResult")


def agent_lines(lines: Sequence[bytes]) -> list[int]:
    """Indices of the lines that are messages of the agent, in order."""
    return [number for number, line in enumerate(lines) if record(line).get("message", {}).get("role") == "assistant"]


def insert_filler(content: bytes, counts: dict[int, int], source: random.Random) -> bytes:
    """Insert steps before messages of the agent: `counts` has index of the message -> number of steps.

    Later records keep their distance in time; ids are new.
    """
    lines = content.split(b"\n")
    places = {agent_lines(lines)[index]: count for index, count in counts.items()}
    result: list[bytes] = []
    delay, parent, renamed = timedelta(), "", False
    for number, line in enumerate(lines):
        row = record(line)
        if number in places:
            start = moved_time(row["timestamp"], delay)
            for unit in chosen(places[number], source):
                for part in unit:
                    start += PAUSE
                    delay += PAUSE
                    new = {**part, "id": new_id(source), "parentId": parent or row["parentId"], "timestamp": iso(start)}
                    new["message"] = {**part["message"], "timestamp": round(start.timestamp() * 1000)}
                    parent = new["id"]
                    result.append(json.dumps(new, ensure_ascii=False, separators=(",", ":")).encode())
            renamed = True
        if row and delay:
            row["timestamp"] = iso(moved_time(row["timestamp"], delay))
            if "timestamp" in row.get("message", {}):
                row["message"]["timestamp"] += round(delay.total_seconds() * 1000)
            if renamed:
                row["parentId"], parent, renamed = parent, "", False
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()  # noqa: PLW2901
        result.append(line)
    return b"\n".join(result)


def chosen(count: int, source: random.Random) -> list[Unit]:
    """This many steps, with call and response ids of their own; none twice until all were used."""
    order: list[Unit] = []
    while len(order) < count:
        order += source.sample(units(), len(units()))
    renamed = []
    for call, result in order[:count]:
        call_id = f"call_{new_id(source)}"
        message = json.loads(json.dumps(call["message"]))
        for block in message["content"]:
            if block["type"] == "toolCall":
                block["id"] = call_id
        message["responseId"] = f"chatcmpl-{new_id(source)}"
        renamed.append(
            ({**call, "message": message}, {**result, "message": {**result["message"], "toolCallId": call_id}})
        )
    return renamed


def new_id(source: random.Random) -> str:
    """An id as the runtime gives one."""
    return f"{source.getrandbits(32):08x}"


def moved_time(text: str, delay: timedelta) -> datetime:
    """A time of the recording, later."""
    return parse_time(text) + delay


def iso(time: datetime) -> str:
    """A time as the runtime writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
