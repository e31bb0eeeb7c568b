"""Adaptive concurrency: how many requests may be with the endpoint at once.

An overloaded endpoint gets fewer requests, and more again as it answers (additive increase, multiplicative decrease, as
in TCP; `[adapt]` of rules/judge/asking.toml, own choice of the numbers).
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from openclawbench.judge.transport.protocol import TransientError
from openclawbench.rules.judge.asking import Adapt


class AdaptiveConcurrency:
    """Slots for requests: `async with` holds a slot while a request is with the endpoint.

    A kill loses every answer that is not durable yet, and such a call is paid for twice. So an answer counts as
    unacknowledged beyond its slot until `acknowledge` is called, and at most `most + beside` calls are unacknowledged.
    """

    def __init__(self, most: int, beside: int, rules: Adapt, clock: Callable[[], float] = time.monotonic) -> None:
        """`most`: slots that are open at first, and never more."""
        self.most, self.rules, self.clock = most, rules, clock
        self.open = float(most)
        self.in_use = 0
        self.unacknowledged, self.most_unacknowledged = 0, most + beside
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.overloads = {f"status_{status}" for status in rules.statuses}
        self.reduced_at = -1.0

    async def __aenter__(self) -> None:
        if self.is_free() and not self.waiting:
            self.take()
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
                self.acknowledge()
            raise

    async def __aexit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Give a slot back."""
        self.in_use -= 1
        self.admit_waiting()

    def acknowledge(self) -> None:
        """Note that the answer of a call is durable, or that the call got no answer."""
        self.unacknowledged -= 1
        self.admit_waiting()

    def admit_waiting(self) -> None:
        """Give free slots to waiting requests, in order."""
        while self.waiting and self.is_free():
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self.take()

    def is_free(self) -> bool:
        """True if another request may be sent."""
        return self.in_use < int(self.open) and self.unacknowledged < self.most_unacknowledged

    def take(self) -> None:
        """Take a slot."""
        self.in_use += 1
        self.unacknowledged += 1

    def record_failure(self, failure: TransientError, sent_at: float) -> None:
        """Close slots if the endpoint is overloaded: once for all requests that were in flight together."""
        if failure.reason not in self.overloads or sent_at < self.reduced_at:
            return
        self.open = max(1.0, min(self.open, self.in_use) * self.rules.keep)
        self.reduced_at = self.clock()

    def record_success(self) -> None:
        """Open part of a slot: over one round of answers, `growth` of all slots, and at least one."""
        if self.open < self.most:
            self.open = min(self.most, self.open + max(1.0, self.rules.growth * self.most) / self.open)
            self.admit_waiting()
