"""Slots: fewer requests in flight where an endpoint is overloaded, more again as it answers."""

import asyncio

from openclawbench.judge.client.concurrency import AdaptiveConcurrency
from openclawbench.judge.transport.protocol import TransientError
from openclawbench.rules.judge.asking import AskingRules


def test_slots_are_halved_once_for_a_round_and_opened_again_by_answers() -> None:
    async def run() -> list[float]:
        clock, open_slots = [0.0], []
        slots = AdaptiveConcurrency(8, 8, AskingRules.load().adapt, lambda: clock[0])
        for _ in range(8):
            await slots.__aenter__()
        waiting = [asyncio.create_task(slots.__aenter__()) for _ in range(3)]
        clock[0] = 1.0
        for _ in range(8):
            slots.record_failure(TransientError("status_429"), 0.5)
            open_slots.append(slots.open)
        slots.record_failure(TransientError("status_500"), 2.0)
        slots.record_failure(TransientError("timeout"), 2.0)
        open_slots.append(slots.open)
        for _ in range(4):
            await slots.__aexit__()
            await asyncio.sleep(0)
        assert slots.in_use == 4 and not any(entry.done() for entry in waiting), "let in though slots were closed"
        await slots.__aexit__()
        await asyncio.sleep(0)
        assert [entry.done() for entry in waiting] == [True, False, False]
        waiting[1].cancel()
        for _ in range(5):
            slots.record_success()
        await asyncio.sleep(0)
        assert 5.0 < slots.open < 5.2 and waiting[2].done() and slots.in_use == 5
        for _ in range(100):
            slots.record_success()
        open_slots.append(slots.open)
        return open_slots

    assert asyncio.run(run()) == [4.0] * 9 + [8.0]


def test_answers_that_wait_for_their_commit_keep_others_from_being_sent() -> None:
    async def run() -> None:
        slots = AdaptiveConcurrency(4, 1, AskingRules.load().adapt)
        for _ in range(4):
            await slots.__aenter__()
        waiting = [asyncio.create_task(slots.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        for _ in range(2):
            await slots.__aexit__()
        await asyncio.sleep(0)
        assert [item.done() for item in waiting] == [True, False, False], "more unacknowledged than 4 and 1 beside"
        slots.acknowledge()
        await asyncio.sleep(0)
        assert [item.done() for item in waiting] == [True, True, False]
        for entry in waiting:
            entry.cancel()

    asyncio.run(run())
