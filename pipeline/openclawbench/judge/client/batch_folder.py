"""A folder of batch files: requests that anybody may answer, and answers that anybody put there.

    STAGE-NNN.jsonl          requests in OpenAI's batch format; custom_id is the key of the question
    NAME.output.jsonl        answers to any of them, in OpenAI's form or that of `vllm run-batch`, in any order
    pass2/                   the same of a second pass
    recorded.toml            says that the answers are a recorded set: nothing is written here

Requests hold no key and no address: the same questions give the same files on any machine.
"""

import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from openclawbench.errors import UsageError
from openclawbench.judge.client.batch_engine import BatchAnswer, batch_answer, lines_of
from openclawbench.judge.transport.request_options import RequestOptions
from openclawbench.rules.judge.asking import AskingRules

ANSWERS = ".output.jsonl"
RECORDED = "recorded.toml"
NAMED = re.compile(r"(?P<stage>[a-z0-9]+)-(?P<number>\d+)(?P<more>\..*)?\.jsonl")
ID = re.compile(rb'"custom_id"\s*:\s*"([^"\\]+)"')
AROUND = b"\xef\xbb\xbf \t\r\n,"  # what editors put around the lines of a list
TEMPORARY = ".batch-"


class Place(NamedTuple):
    """A line of a file of answers."""

    path: Path
    number: int  # from 1
    offset: int
    length: int


class Line(msgspec.Struct):
    """A request as far as it is read back."""

    custom_id: str


class RequestLine(Line):
    """The first request of a file."""

    body: dict[str, msgspec.Raw]


class BatchFolder:
    """The files of a folder. Answers are read once; a run sees those that were there when it began to ask."""

    def __init__(self, path: Path, rules: AskingRules) -> None:
        self.path, self.rules = path, rules
        self.remarks: dict[tuple[Path, str], set[int]] = {}  # (file, what is wrong) -> lines
        self.known: set[str] = set()  # ids that belong to questions of this run
        self.stages: set[str] = set()  # that asked in this run
        self.why_closed = f"is a recorded set ({RECORDED})" if (path / RECORDED).exists() else None

    def __str__(self) -> str:
        return f"batch files in {self.path}"

    def remark(self, place: Place, reason: str) -> bool:
        """Note what is wrong with a line; False if that was noted before."""
        lines = self.remarks.setdefault((place.path, reason), set())
        is_new = place.number not in lines
        lines.add(place.number)
        return is_new

    def take_remarks(self) -> list[str]:
        """What is wrong with lines, a sentence for each file and reason; each is given once."""
        remarks, self.remarks = self.remarks, {}
        return [
            f"{path}: line {min(lines)}{f' and {len(lines) - 1} more' if len(lines) > 1 else ''}: {reason}"
            for (path, reason), lines in sorted(remarks.items())
        ]

    # ---------------------------------------------------------------------------------------------------------- answers
    @cached_property
    def places(self) -> dict[str, list[Place]]:
        """Where the answers to each request are, by its id, in the order of files and lines. Raises UsageError if the
        folder cannot be read."""
        places: dict[str, list[Place]] = {}
        for path in self.files(lambda name: name.endswith(ANSWERS)):
            for number, offset, line in self.lines(path):
                place = Place(path, number, offset, len(line))
                if (id_ := id_in(line)) is not None:
                    places.setdefault(id_, []).append(place)
                elif line.strip(AROUND) not in (b"[", b"]"):
                    self.remark(place, "is not a line of answers: it names no custom_id")
        return places

    def answer_at(self, place: Place) -> BatchAnswer:
        """The answer in a line, without what stands around its JSON. Raises ValueError if there is none."""
        with place.path.open("rb") as file:
            file.seek(place.offset)
            line = file.read(place.length)
        try:
            return batch_answer(line)
        except ValueError:
            return batch_answer(line[line.find(b"{") : line.rfind(b"}") + 1])

    def others(self, is_done: bool) -> Iterator[tuple[Path, list[str]]]:
        """Files of answers, each with those of its ids that no question of this run had. Until every stage was asked
        (`is_done`), a file that is named after another stage is left out."""
        ids: dict[Path, list[str]] = {}
        for id_, places in self.places.items():
            if id_ not in self.known:
                for path in dict.fromkeys(place.path for place in places):
                    named = NAMED.fullmatch(path.name)
                    if is_done or named is None or named["stage"] in self.stages:
                        ids.setdefault(path, []).append(id_)
        yield from sorted(ids.items())

    # --------------------------------------------------------------------------------------------------------- requests
    def requests(self, stage: str) -> Counter[str]:
        """How often each question of a stage stands in files of requests, by its id."""
        ids: Counter[str] = Counter()
        for path in self.request_files(stage):
            ids.update(id_ for *_, line in self.lines(path) if (id_ := id_in(line)) is not None)
        return ids

    def options(self, model: str) -> RequestOptions | None:
        """The form of the newest requests to a model; None without any."""
        for path in reversed(self.request_files(None)):
            for *_, line in self.lines(path):
                try:
                    body = msgspec.json.decode(line, type=RequestLine).body
                    if msgspec.json.decode(body["model"]) == model:
                        return RequestOptions.of_body(body)
                except (ValueError, LookupError):
                    pass
                break
        return None

    def request_files(self, stage: str | None) -> list[Path]:
        """Files of requests of a stage, or of all, by number and name."""
        files = self.files(lambda name: bool((match := NAMED.fullmatch(name)) and not match["more"]))
        named = [(match, path) for path in files if (match := NAMED.fullmatch(path.name))]
        ordered = sorted((int(match["number"]), path) for match, path in named if stage in (None, match["stage"]))
        return [path for _, path in ordered]

    def next_number(self, stage: str) -> int:
        """The number of the next file of requests: neither requests nor answers have it."""
        matches = map(NAMED.fullmatch, (path.name for path in self.files(lambda _: True)))
        return max((int(match["number"]) for match in matches if match and match["stage"] == stage), default=0) + 1

    def files(self, wanted: Callable[[str], bool]) -> list[Path]:
        """Files of the folder, by name. Raises UsageError if it cannot be read."""
        try:
            return sorted(path for path in self.path.iterdir() if path.is_file() and wanted(path.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"--batch-files {self.path}: {error.strerror}. Name a folder for batch files.") from error

    def lines(self, path: Path) -> Iterator[tuple[int, int, bytes]]:
        """Lines of a file with number and offset."""
        with path.open("rb") as file:
            yield from lines_of(file, self.rules.connection.largest_answer_bytes)


def id_in(line: bytes) -> str | None:
    """The custom_id of a line, also of one that is not valid JSON; None if it names none."""
    try:
        return msgspec.json.decode(line, type=Line).custom_id
    except ValueError:
        match = ID.search(line)
        return match[1].decode("utf-8", "replace") if match else None


class RequestWriter:
    """Writes files of requests of a stage, each whole or not at all, under the next free number. Use it as a context
    manager: after an error, a file that was begun is gone."""

    def __init__(self, folder: BatchFolder, stage: str) -> None:
        self.folder, self.stage, self.limits = folder, stage, folder.rules.batch
        self.file: BinaryIO | None = None
        self.temporary = folder.path / f"{TEMPORARY}{uuid.uuid4().hex}.jsonl"
        self.count = self.size = 0
        self.names: list[str] = []  # of files that were written

    def __enter__(self) -> "RequestWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self.file is not None:
            self.file.close()
        if self.folder.why_closed is None:
            self.temporary.unlink(missing_ok=True)

    def add(self, line: bytes) -> bool:
        """Add a request. False if the folder cannot be written to, which it says from then on."""
        if self.folder.why_closed is not None:
            return False
        try:
            if self.file is None:
                self.folder.path.mkdir(parents=True, exist_ok=True)
                self.file, self.count, self.size = self.temporary.open("wb"), 0, 0
            self.file.write(line)
            self.count, self.size = self.count + 1, self.size + len(line)
            if self.count >= self.limits.requests or self.size >= self.limits.bytes:
                self.finish()
        except OSError as error:
            self.folder.why_closed = f"cannot be written to ({error.strerror})"
            return False
        return True

    def finish(self) -> None:
        """Put the file that was begun in its place."""
        if self.file is None:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        self.file, number = None, self.folder.next_number(self.stage)
        while not link(self.temporary, self.folder.path / f"{self.stage}-{number:03d}.jsonl"):
            number += 1
        self.names.append(f"{self.stage}-{number:03d}.jsonl")


def link(temporary: Path, path: Path) -> bool:
    """Give a file its name; False if another run took the name meanwhile."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links
        if path.exists():
            return False
        temporary.replace(path)
        return True
    temporary.unlink()
    return True


def names_of(ids: Iterable[str], most: int) -> str:
    """The first ids, and how many more there are."""
    named = sorted(ids)
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return ", ".join(named[:most]) + more
