"""Slots: how many requests may be with the endpoint at once. Fewer where it says that it is overloaded, more again as
it answers (additive increase, multiplicative decrease, as TCP does; own choice of the numbers in rules/asking.toml).
A request leaves its slot when its answer is there; until that is durable it is counted beside the slots, because a kill
pays it again."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from openclawbench.judge.transport.protocol import TransientError
from openclawbench.rules.asking import Adapt


class AdaptiveConcurrency:
    """Use `async with` around what a slot is needed for, and call `acknowledged` when nothing of it can be lost any
    more. `most` are open at first, and never more; `most + beside` may be without acknowledgement."""

    def __init__(self, most: int, beside: int, rules: Adapt, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.rules, self.clock = most, rules, clock
        self.open = float(most)
        self.taken = 0
        self.unacknowledged, self.most_unacknowledged = 0, most + beside
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.overloads = {f"status_{status}" for status in rules.statuses}
        self.closed_at = -1.0  # when slots were last closed

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
                self.leave()
                self.acknowledged()
            raise

    async def __aexit__(self, *error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Give a slot back."""
        self.taken -= 1
        self.let_in()

    def let_in(self) -> None:
        """Those who wait, as far as slots are open."""
        while self.waiting and self.is_free():
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self.take()

    def is_free(self) -> bool:
        """True where another request may be sent."""
        return self.taken < int(self.open) and self.unacknowledged < self.most_unacknowledged

    def take(self) -> None:
        """Give away a slot."""
        self.taken += 1
        self.unacknowledged += 1

    def acknowledged(self) -> None:
        """Of one that left its slot nothing can be lost any more."""
        self.unacknowledged -= 1
        self.let_in()

    def failed(self, failure: TransientError, sent_at: float) -> None:
        """Close slots where the endpoint is overloaded: once for all requests that were under way together."""
        if failure.reason not in self.overloads or sent_at < self.closed_at:
            return
        self.open = max(1.0, min(self.open, self.taken) * self.rules.keep)
        self.closed_at = self.clock()

    def answered(self) -> None:
        """Open a share of a slot: in the time of one round of answers `growth` of all, and at least one."""
        if self.open < self.most:
            self.open = min(self.most, self.open + max(1.0, self.rules.growth * self.most) / self.open)
            self.let_in()
