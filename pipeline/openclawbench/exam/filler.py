"""Harmless recorded steps that make a session longer: each is a call and its result, recorded with every release."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from openclawbench.exam.family import Release
from openclawbench.exam.rewrite import MILLISECONDS, blocks, new_id, parse_time, record
from openclawbench.exam.store import ROW

FILLER = Path(__file__).parent / "filler.toml"
PAUSE = timedelta(milliseconds=900)  # between two records of the filler
Record = dict[str, Any]
Unit = tuple[Record, ...]  # the agent's message, the tool's result, and what the release notes of that result


def filler_file(release: Release) -> Path:
    """The filler as a release recorded it."""
    return FILLER.with_name(f"filler.{release}.jsonl")


@cache
def units(release: Release) -> tuple[Unit, ...]:
    """Every step of the recorded filler."""
    groups: list[list[Record]] = []
    for line in filler_file(release).read_bytes().split(b"\n"):
        row = record(line)
        role = row.get("message", {}).get("role")
        if role == "assistant":
            groups.append([row])
        elif groups and (role == "toolResult" or frozen(row)):
            groups[-1].append(row)
    return tuple(tuple(unit) for unit in groups if len(unit) > 1)


def frozen(row: Record) -> list[Record]:
    """The results that a record about the runtime's cache lists: all of the session so far."""
    listed: list[Record] = row.get("data", {}).get("frozenToolResults", [])
    return listed


def agent_lines(lines: Sequence[bytes]) -> list[int]:
    """Indices of the lines that are messages of the agent, in order."""
    return [number for number, line in enumerate(lines) if record(line).get("message", {}).get("role") == "assistant"]


def insert_filler(content: bytes, counts: dict[int, int], source: random.Random, release: Release) -> bytes:
    """Insert steps before messages of the agent. `counts`: index of the message -> number of steps. Later records keep
    their distance in time; ids are new.
    """
    lines = content.split(b"\n")
    places = {agent_lines(lines)[index]: count for index, count in counts.items()}
    session = Lengthened(record(lines[0])["id"], source)
    result: list[bytes] = []
    for number, line in enumerate(lines):
        if number in places:
            row = record(line)
            for unit in choose_steps(release, places[number], source):
                result += map(as_line, session.inserted(unit, row))
        result.append(session.later(line))
    return b"\n".join(result)


def choose_steps(release: Release, count: int, source: random.Random) -> list[Unit]:
    """Draw this many steps; none occurs twice until all were used."""
    order: list[Unit] = []
    while len(order) < count:
        order += source.sample(units(release), len(units(release)))
    return order[:count]


@dataclass
class Lengthened:
    """A session while steps are inserted into it."""

    session: str  # its id
    source: random.Random
    delay: timedelta = timedelta()  # of what comes now
    since: int = 0  # milliseconds: recorded time of the last place
    parent: str | None = None  # what the next record follows, if that is not the recorded one
    listed: list[Record] = field(default_factory=list)  # what the runtime's cache has by now, of the filler too
    recorded: int = 0  # how many of them are in the recording

    def inserted(self, unit: Unit, row: Record) -> Iterator[Record]:
        """The records of a step before the record `row`, with ids and times of their own."""
        call, response = (f"{kind}{self.source.getrandbits(32):08x}" for kind in ("call_", "chatcmpl-"))
        for part in unit:
            self.delay += PAUSE
            time = parse_time(row["timestamp"]) + self.delay
            new: Record = json.loads(json.dumps(part))
            new |= {"id": new_id(part["id"], self.source), "parentId": self.parent or row["parentId"]}
            new["timestamp"] = iso(time)
            if "message" in new:
                rename(new["message"], call, response, self.session)
                new["message"]["timestamp"] = milliseconds(time)
            else:
                own = {**frozen(part)[-1], "key": f"tool:{call}:{milliseconds(time - PAUSE)}"}
                self.listed.append(own)
                new["data"]["frozenToolResults"] = list(self.listed)
            self.parent = new["id"]
            yield new
        self.since = milliseconds(parse_time(row["timestamp"]))

    def later(self, line: bytes) -> bytes:
        """A record of the recording, adjusted to the steps that were inserted before it."""
        if not self.delay or not line:
            self.listed = frozen(record(line)) or self.listed
            self.recorded = len(self.listed)
            return line
        is_row = line.startswith(ROW)
        row = record(MILLISECONDS.sub(lambda match: self.moved(match, self.since if is_row else 0), line))
        if not is_row:
            row["timestamp"] = iso(parse_time(row["timestamp"]) + self.delay)
        if self.parent is not None and not is_row:
            row["parentId"], self.parent = self.parent, None
        if results := frozen(row):
            self.listed += results[self.recorded :]
            self.recorded = len(results)
            row["data"]["frozenToolResults"] = list(self.listed)
        return as_line(row)

    def moved(self, match: re.Match[bytes], since: int) -> bytes:
        """A time later by the delay, if it is not before `since`."""
        time = int(match[2])
        return match[1] + str(time + (milliseconds(self.delay) if time >= since else 0)).encode()


def rename(message: Record, call: str, response: str, session: str) -> None:
    """Give a message these ids of its call, its response and its session, where it has such."""
    ids = {"toolCallId": call, "responseId": response}
    message |= {name: value for name, value in ids.items() if name in message}
    if "__openclaw" in message:
        message["__openclaw"]["runId"] = session
    for block in blocks({"message": message}):
        if block["type"] == "toolCall":
            block["id"] = call


def as_line(row: Record) -> bytes:
    """A record as the runtime writes it."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def milliseconds(time: datetime | timedelta) -> int:
    """A time in milliseconds since 1970, or a span."""
    return round((time.timestamp() if isinstance(time, datetime) else time.total_seconds()) * 1000)


def iso(time: datetime) -> str:
    """A time as the runtime writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
