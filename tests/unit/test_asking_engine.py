"""The asking engine over a transport that answers at once."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from benchmarks.fixed_latency import response
from benchmarks.judge_measures import Reader, judge_of, shards
from openclawbench.base.gc_control import YOUNG
from openclawbench.judge.client.client_options import ClientOptions
from openclawbench.judge.protocol import AnswerCheck, AnswerProblem, Question
from openclawbench.judge.settings import AskingSettings
from openclawbench.judge.transport.protocol import HttpResponse
from openclawbench.judge.transport.responses import check_response
from openclawbench.rules.judge.asking import AskingRules
from openclawbench.workspace.judges import make_asking

BODY = response().partition(b"\r\n\r\n")[2]


class AtOnce:
    """A transport that answers at once, and looks around before."""

    def __init__(self, look: Callable[[], None]) -> None:
        self.look = look

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None: ...

    async def send(self, body: bytes) -> HttpResponse:
        """The answer."""
        self.look()
        return check_response(200, {}, BODY, AskingRules.load())


def asking(look: Callable[[], None]) -> ClientOptions:
    """How the questions are asked, over that transport."""
    settings = AskingSettings.of({"base_url": "http://127.0.0.1:1/v1", "price_in": 1, "price_out": 1})
    client_options = make_asking("bench", settings, AskingRules.load(), lambda _: None)
    return ClientOptions(**{**vars(client_options), "transport": lambda *_: AtOnce(look)})


def test_garbage_is_collected_seldom_while_questions_are_asked(tmp_path: Path) -> None:
    thresholds: set[int] = set()
    before = gc.get_threshold()
    judge_of(tmp_path, asking(lambda: thresholds.add(gc.get_threshold()[0]))).prepare("a", shards(3), 3)
    assert thresholds == {YOUNG}, "the collector takes a tenth of the processor time"
    assert gc.get_threshold() == before and gc.get_freeze_count() == 0


def test_an_answer_is_read_once_and_a_second_one_only_where_the_first_cannot_be_used(tmp_path: Path) -> None:
    read: list[str] = []

    class Doubting(Reader):
        def read(self, question: Question, finish: str, text: str) -> AnswerCheck:
            first = question.trajectory_id not in read
            read.append(question.trajectory_id)
            odd = int(question.trajectory_id, 16) % 2
            return (
                AnswerCheck(AnswerProblem("schema", "say it otherwise"), "schema")
                if odd and first
                else AnswerCheck(None, "accept")
            )

    sent: list[Any] = []
    judge = judge_of(tmp_path, asking(lambda: sent.append(1)))
    judge.reader = Doubting()
    judge.prepare("a", shards(4), 4)
    assert len(sent) == 6 and len(read) == 6
