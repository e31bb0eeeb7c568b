"""Batch files: the same questions, ledger and keys, for whoever answers a folder of files.

A run takes in the answers that are there, writes what nobody was asked yet, and stops. What stands in a file of
requests waits for its answer; what was answered there in a way that cannot be used is asked again in a further file.
The folder alone says so: any run of the same questions, on any machine, goes on from it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from openclawbench.base.terminal import pluralize
from openclawbench.errors import AnswersAwaited, BudgetReached, EndpointRefused, NotJudged
from openclawbench.judge.client.batch_engine import Asked, BatchEngine, Need, Rows, row_of
from openclawbench.judge.client.batch_folder import BatchFolder, Place, RequestWriter, names_of
from openclawbench.judge.client.engine import QuestionTask
from openclawbench.judge.ledger.sqlite_file import reading
from openclawbench.judge.ledger.stored_answer import read_stored_answer
from openclawbench.judge.transport.completion import Failed, parse_completion
from openclawbench.judge.transport.protocol import RejectedRequest, TransientError
from openclawbench.judge.transport.request_options import RequestOptions

NAMED = 5  # questions, or files, that a sentence names
ANOTHER = "another answer to a question that has one; the first is kept"
PLACE = "batch files"  # in the ledger, in place of an endpoint's address
VERSION = re.compile(r"[-@:](\d{4}(-?\d{2}-?\d{2})?|\d{6}|latest|free)")  # what servers add to the name of a model


class BatchFilesRun(BatchEngine):
    """Takes in answers to the questions of one stage, of which there is one at least, from a folder, and writes the
    others there."""

    def __init__(self, asked: Asked, options: RequestOptions, folder: BatchFolder) -> None:
        super().__init__(asked, options)
        self.folder, self.stage, self.model = folder, "", ""
        self.requests: Counter[str] = Counter()  # id -> how often it was asked
        self.handled: set[str] = set()  # ids of requests that stay open
        self.again: set[str] = set()  # ids of requests whose answers cannot be used, to be looked at once more
        self.waiting = 0  # requests in files of former runs
        self.unwritten: list[str] = []  # trajectories whose requests have no file
        self.over: BudgetReached | None = None

    async def run(self, tasks: Callable[[], Iterator[list[QuestionTask]]]) -> None:
        """Take in what is there. Raises AnswersAwaited if questions are open, NotJudged if they are and the folder
        takes no requests, and BudgetReached if the budget ends before anything could be asked."""
        first = next(tasks())[0]
        self.stage, self.model = first.question.stage, first.first.model
        self.requests = self.folder.requests(self.stage)
        self.folder.stages.add(self.stage)
        with RequestWriter(self.folder, self.stage) as self.writer:
            await self.go_through(tasks())
            if self.again:
                await self.settle_refused(bool(self.collected))
                self.again.clear()
                await self.go_through(tasks(), is_last=True)
            self.writer.finish()
        if self.collected:
            await self.ledger.remember(self.place, self.model, self.options.text)
        self.raise_what_is_open()

    async def go_through(self, batches: Iterator[list[QuestionTask]], is_last: bool = False) -> None:
        """Take the answers to these questions, and hand over those without any. `is_last`: what was refused has been
        settled, and everything left is asked."""
        for batch in batches:
            open_tasks = batch
            while open_tasks:
                self.stopped()
                needs = [(task, need) for task in open_tasks if (need := self.next_request(task)) is not None]
                taken = [(task, rows) for task, need in needs if (rows := self.take(task, need)) is not None]
                open_tasks = [task for task, _ in taken]
                for task, need in needs:
                    if need[0].key not in self.collected:
                        await self.leave_open(task, need, is_last)
                if taken:
                    await self.ledger.put(*(row for _, rows in taken for row in rows))

    # ---------------------------------------------------------------------------------------------------------- answers
    def take(self, task: QuestionTask, need: Need) -> Rows | None:
        """The rows of the first answer to a request that can be used; None without one. Others that say something else
        are noted."""
        request, _ = need
        id_, row, rows = request.key.hex(), row_of("", self.options, task, need), None
        self.folder.known.add(id_)
        refused, body, failures = len(self.refused), b"", 0
        for place in self.folder.places.get(id_, ()):
            try:
                answer = self.folder.answer_at(place)
                if not is_same_model(request.model, model_in(answer.body)):
                    raise ValueError(f"an answer of {model_in(answer.body)}; {request.model} was asked")
                received, finish = self.received(answer)
            except TransientError as failure:
                self.fail(place, failure.sentence)
            except RejectedRequest as rejection:
                self.refused.append((rejection, row))
                self.fail(place, f"refused ({rejection.status}): {rejection.message}")
            except ValueError as error:
                reason = "is not valid JSON" if isinstance(error, msgspec.DecodeError) else str(error)
                self.fail(place, reason)
            else:
                if rows is None:
                    rows, body = self.kept_rows(request.key, received, finish, row), answer.body
                elif differ(body, answer.body):
                    self.folder.remark(place, ANOTHER)
                continue
            failures += 1
        self.failures[request.key] = failures
        if rows is not None or failures < self.requests[id_]:
            del self.refused[refused:]
        else:
            del self.refused[refused + 1 :]
        return rows

    def fail(self, place: Place, reason: str) -> None:
        """Note a line that holds no answer to its question."""
        if self.folder.remark(place, f"{reason}; the question is asked again unless another line answers it"):
            self.tally.failures += 1
            self.tally.last_failure = reason

    async def drop_refused_option(self, rejection: RejectedRequest, row: dict[str, Any]) -> None:
        """Remember the option that is refused; anything else is a matter of whoever answers, and was noted."""
        with suppress(EndpointRefused):
            await super().drop_refused_option(rejection, row)

    # --------------------------------------------------------------------------------------------------------- requests
    async def leave_open(self, task: QuestionTask, need: Need, is_last: bool) -> None:
        """Write a request that nobody was asked, or whose answers cannot be used; any other one waits in its file."""
        request, _ = need
        id_ = request.key.hex()
        if id_ in self.handled:
            return
        failures, requests = self.failures[request.key], self.requests[id_]
        if failures and failures >= requests and not is_last:
            self.again.add(id_)
            return
        maximum = self.budget.maximum(request.bytes)
        if not self.budget.fits(maximum):
            self.over = self.over or BudgetReached(self.budget.sentence(maximum))
            return
        await self.budget.reserve(request.bytes)
        self.handled.add(id_)
        if failures < requests and self.folder.why_closed is None:
            self.waiting += 1
        elif not self.writer.add(self.line(request)):
            self.unwritten.append(task.question.trajectory_id)

    def raise_what_is_open(self) -> None:
        """Raise the error that says which questions are open and what to do; nothing if none is."""
        where, stage = self.folder.path, self.stage
        if self.unwritten or (self.handled and self.folder.why_closed):
            raise NotJudged(
                f"stage {stage}: {pluralize(len(self.handled), 'question')} of {self.tally.total} "
                f"{'has' if len(self.handled) == 1 else 'have'} no answer in {where}, which {self.folder.why_closed}: "
                f"{names_of(self.unwritten, NAMED)}. Name another folder with --batch-files, or an endpoint."
            )
        if self.handled:
            new = len(self.handled) - self.waiting
            written = f"{new} written to {names_of(self.writer.names, NAMED)}" if new else ""
            former = f"{self.waiting} in files of former runs" if self.waiting else ""
            full = "; the budget allows no more" if self.over else ""
            raise AnswersAwaited(
                f"stage {stage}: {pluralize(len(self.handled), 'question')} of {self.tally.total} "
                f"{'waits' if len(self.handled) == 1 else 'wait'} for an answer in {where} "
                f"({', '.join(part for part in (written, former) if part)}{full}). Answer FILE.jsonl into "
                "FILE.output.jsonl beside it, then run the same command again"
            )
        if self.over is not None:
            raise self.over


class AnswerModel(msgspec.Struct):
    """The model that a completion names."""

    model: Any = None


def model_in(body: bytes) -> str | None:
    """The model that a completion names; None if it names none."""
    try:
        model = msgspec.json.decode(body, type=AnswerModel).model
    except ValueError:
        return None
    return model if isinstance(model, str) and model else None


def is_same_model(asked: str, named: str | None) -> bool:
    """True if a completion's model is the one that was asked, under its name with or without a folder and a version."""
    if named is None:
        return True
    names = sorted((name.lower().rpartition("/")[2] for name in (asked, named)), key=len)
    rest = names[1].removeprefix(names[0])
    return names[1].startswith(names[0]) and (not rest or VERSION.fullmatch(rest) is not None)


def differ(body: bytes, other: bytes) -> bool:
    """True if two completions say different things."""
    return body != other and text_in(body) != text_in(other)


def text_in(body: bytes) -> str | None:
    """The text of a completion; None if it is none."""
    try:
        return parse_completion(body).text
    except (Failed, ValueError, LookupError, RecursionError):
        return None


def notes_on(folder: BatchFolder, ledger: Path, judge: bytes, is_done: bool) -> list[str]:
    """What is to be said of a folder when a run that asked through it ends: lines that could not be used, answers that
    differ from what the ledger kept, and answers to no question. `judge`: digest under which its questions are settled.
    `is_done`: every stage was asked that was to be."""
    if not folder.stages:
        return []
    strays = []
    with reading(ledger) as connection:
        rows = connection.execute("select first, last, base from settled where judge = ?", (judge,))
        own = {key.hex() for row in rows for key in row if key is not None}
        for path, ids in folder.others(is_done):
            unknown = 0
            for id_ in ids:
                kept = read_stored_answer(connection, bytes.fromhex(id_)) if id_ in own else None
                if kept is None:
                    unknown += 1
                    continue
                for place in folder.places[id_]:
                    with suppress(ValueError):
                        answer = folder.answer_at(place)
                        if answer.status == 200 and differ(kept.response, answer.body):
                            folder.remark(place, ANOTHER)
            if unknown:
                belong = "belongs" if unknown == 1 else "belong"
                strays.append(
                    f"{path}: {pluralize(unknown, 'answer')} {belong} to no question of this run (other prompts, "
                    "packets, settings or another model) and are not used"
                )
    return [*folder.take_remarks(), *strays]
