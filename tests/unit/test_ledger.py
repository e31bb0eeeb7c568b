"""The ledger: what was acknowledged is there, what was begun is listed, who comes second is refused."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fixed_latency import response
from openclawbench.errors import LedgerError, LedgerLocked, UnreadableInput
from openclawbench.judge.ledger.ledger import ADD_ANSWER, END_INTENT, Ledger
from openclawbench.judge.ledger.merge_shards import copy_known_answers
from openclawbench.judge.ledger.report import compact, export_answers, faults, stats
from openclawbench.judge.ledger.sqlite_file import NAME, reading
from openclawbench.judge.ledger.stored_answer import now
from openclawbench.rules.judge.asking import AskingRules

RULES = AskingRules.load().commit.model_copy(update={"ballast_bytes": 1000})
BODY = response().partition(b"\r\n\r\n")[2]
SHA256 = hashlib.sha256(BODY).digest()


def row(number: int) -> tuple[Any, ...]:
    """An answer's row."""
    tokens = (1500, 0, 300, 0.002, 6000, 1, 0.2, now())
    return (
        key(number),
        "a",
        "m",
        f"t{number}",
        "p",
        "complete",
        BODY,
        f"r{number}",
        *tokens,
        "{}",
        None,
        SHA256,
        8192,
        0,
    )


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def within(folder: Path, work: Callable[[Ledger], Coroutine[Any, Any, Any]]) -> Any:
    """Do something with the ledger of a folder."""

    async def all_of_it() -> Any:
        with Ledger(folder, RULES) as ledger:
            return await work(ledger)

    return asyncio.run(all_of_it())


async def add(ledger: Ledger, count: int) -> None:
    """Intents and answers."""
    await asyncio.gather(*(ledger.intend(key(n), "a", f"t{n}") for n in range(count)))
    await asyncio.gather(*(ledger.put((ADD_ANSWER, row(n)), (END_INTENT, (key(n),))) for n in range(count)))


def test_what_is_acknowledged_is_there_for_others_at_once(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await add(ledger, 200)
        with reading(tmp_path) as other:
            assert other.execute("select count(*) from answers").fetchone() == (200,)
            assert other.execute("select count(*) from intents").fetchone() == (0,)
        stored_answer = ledger.answer(key(7))
        assert stored_answer is not None and stored_answer.response == BODY and stored_answer.request_id == "r7"
        assert ledger.answer(key(200)) is None
        assert ledger.answered([key(n) for n in range(190, 210)]) == {key(n) for n in range(190, 200)}
        assert ledger.spent() == (pytest.approx(0.4), 200 * 1800)

    within(tmp_path, work)


def test_an_answer_is_never_changed(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await ledger.put((ADD_ANSWER, row(1)))
        await ledger.put((ADD_ANSWER, (*row(1)[:6], b"another", *row(1)[7:])))
        assert ledger.answer(key(1)).response == BODY  # type: ignore[union-attr]

    within(tmp_path, work)


def test_calls_that_were_in_flight_are_listed_and_found_again_when_answered(tmp_path: Path) -> None:
    async def begin(ledger: Ledger) -> None:
        await add(ledger, 3)
        await asyncio.gather(*(ledger.intend(key(n), "b1", f"t{n}") for n in (10, 11)))

    async def go_on(ledger: Ledger) -> int:
        await ledger.put((ADD_ANSWER, row(10)))
        return ledger.found_in_flight

    within(tmp_path, begin)
    with reading(tmp_path) as connection:
        assert [entry["trajectory_id"] for entry in stats(connection)["in_flight"]] == ["t10", "t11"]
    assert within(tmp_path, go_on) == 2
    with reading(tmp_path) as connection:
        actual_stats = stats(connection)
    listed = [
        (entry["trajectory_id"], entry["stage"], entry["reason"], entry["asked_again"])
        for entry in actual_stats["maybe_paid_without_answer"]
    ]
    assert listed == [("t10", "b1", "killed", 1), ("t11", "b1", "killed", 0)]
    assert actual_stats["in_flight"] == [] and actual_stats["answers"][0]["answers"] == 4


def test_a_question_is_settled_by_the_end_and_known_by_the_next_run(tmp_path: Path) -> None:
    async def settle(ledger: Ledger) -> None:
        await add(ledger, 2)
        for number in range(2):
            ledger.settle(key(100 + number), key(number), key(number), "read")

    async def look(ledger: Ledger) -> set[bytes]:
        return ledger.settled([key(100), key(101), key(102)])

    within(tmp_path, settle)
    assert within(tmp_path, look) == {key(100), key(101)}


def test_the_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    async def work(_: Ledger) -> None:
        with pytest.raises(LedgerLocked, match="Wait for it to end"), Ledger(tmp_path, RULES):
            pass
        with pytest.raises(LedgerLocked):
            compact(tmp_path)
        with reading(tmp_path) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("delete from answers")

    within(tmp_path, work)


def test_a_write_that_fails_is_told_to_everyone_and_nothing_is_written_after_it(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await add(ledger, 2)
        pages = ledger.connection.execute("pragma page_count").fetchone()[0]
        ledger.connection.execute(f"pragma max_page_count={pages}")  # as a full disk
        (tmp_path / ".ballast").unlink()  # which has been given up already
        with pytest.raises(LedgerError, match="the disk is full"):
            await add(ledger, 500)
        with pytest.raises(LedgerError):
            await ledger.put((ADD_ANSWER, row(1000)))

    with pytest.raises(LedgerError):  # once more at the end: what nobody waited for may be lost too
        within(tmp_path, work)
    with reading(tmp_path) as connection:
        assert stats(connection)["answers"][0]["answers"] == 2


def test_the_ballast_makes_room_once_and_rings_the_alarm(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        pages = ledger.connection.execute("pragma page_count").fetchone()[0]
        ledger.connection.execute(f"pragma max_page_count={pages}")
        drop = ledger.drop_ballast
        ledger.drop_ballast = lambda: (ledger.connection.execute("pragma max_page_count=100000"), drop())[1]  # type: ignore[method-assign]
        await add(ledger, 100)
        assert ledger.alarm is not None and ledger.broken is None

    within(tmp_path, work)
    assert not (tmp_path / ".ballast").exists()


def test_verify_names_every_kind_of_damage(tmp_path: Path) -> None:
    async def work(ledger: Ledger) -> None:
        await add(ledger, 4)
        ledger.settle(key(100), key(0), key(99), "read")
        await ledger.put((ADD_ANSWER, (*row(20)[:6], b"{", *row(20)[7:-3], hashlib.sha256(b"{").digest(), 8192, 0)))
        await ledger.put((ADD_ANSWER, (*row(21)[:8], 1, *row(21)[9:])))
        await ledger.put((ADD_ANSWER, (*row(22)[:6], BODY.replace(b"accept", b"reject"), *row(22)[7:])))

    within(tmp_path, work)
    with reading(tmp_path) as connection:
        sentences = list(faults(connection))
    assert len(sentences) == 4
    assert "stands for it is missing" in sentences[0]
    assert "cannot be read" in sentences[1] and key(20).hex() in sentences[1]
    assert "columns differ" in sentences[2] and key(21).hex() in sentences[2]
    assert "its digest is another" in sentences[3] and key(22).hex() in sentences[3]


def test_export_holds_everything_and_compact_keeps_it(tmp_path: Path) -> None:
    within(tmp_path, lambda ledger: add(ledger, 50))
    with reading(tmp_path) as connection:
        before = list(export_answers(connection))
    assert len(before) == 50 and before[0]["response"] == BODY.decode()
    compact(tmp_path)
    with reading(tmp_path) as connection:
        assert list(export_answers(connection)) == before and list(faults(connection)) == []


def test_no_ledger_a_foreign_file_and_another_version(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="no ledger"), reading(tmp_path):
        pass
    (tmp_path / NAME).write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(LedgerError), reading(tmp_path):
        pass
    (tmp_path / NAME).unlink()
    with sqlite3.connect(tmp_path / NAME) as connection:
        connection.execute("pragma user_version=9")
    with pytest.raises(LedgerError, match="another version"):
        within(tmp_path, lambda ledger: add(ledger, 1))


def former_version(folder: Path) -> None:
    """Make a ledger one of the version in which answers had no digest."""
    with sqlite3.connect(folder / NAME) as connection:
        for table, column in [
            ("answers", "response_sha256"),
            ("answers", "answer_limit"),
            ("answers", "usage_estimated"),
            ("settled", "judge"),
            ("settled", "base"),
        ]:
            connection.execute(f"alter table {table} drop column {column}")
        connection.executescript("drop table rounds; drop table unread; pragma user_version=1")


def test_a_ledger_without_digests_is_read_and_brought_up_to_date(tmp_path: Path) -> None:
    within(tmp_path, lambda ledger: add(ledger, 3))
    former_version(tmp_path)
    with reading(tmp_path) as connection:
        assert list(faults(connection)) == []
        assert [record["response_sha256"] for record in export_answers(connection)] == [None] * 3
    within(tmp_path, lambda ledger: add(ledger, 5))
    with reading(tmp_path) as connection:
        assert list(faults(connection)) == []
        digests = [record["response_sha256"] for record in export_answers(connection)]
    assert digests == [None] * 3 + [SHA256.hex()] * 2, "what was there is not vouched for, and not asked again"


def test_a_share_takes_over_from_a_ledger_without_digests(tmp_path: Path) -> None:
    former, share = tmp_path / "former", tmp_path / "share"
    within(former, lambda ledger: add(ledger, 3))
    former_version(former)
    copy_known_answers(former, share, [key(100)])
    with reading(share) as connection:
        assert connection.execute("select count(*) from answers").fetchone() == (3,)
