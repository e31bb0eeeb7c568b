"""The budget: what a run may cost at most. Each request reserves its maximum cost before it is sent."""

import asyncio
from dataclasses import dataclass

from openclawbench.errors import BudgetReached
from openclawbench.rules.judge.asking import Estimate
from openclawbench.rules.judge.prices import Price
from openclawbench.rules.judge.request import RequestRules


@dataclass(frozen=True)
class Reservation:
    """The maximum that a request can cost."""

    usd: float
    tokens: int


class Budget:
    """Limits in USD and in tokens (null: no limit) over everything that the ledger holds.

    A request is sent only if this sum stays within both limits: what was spent, plus the maximum of every lost call
    that may have been paid for, plus the reservations of the requests in flight, plus its own maximum. So a run never
    exceeds its budget, even if it is killed and resumed. A higher limit continues the run.
    """

    def __init__(
        self,
        usd: float | None,
        tokens: int | None,
        price: Price,
        spent: tuple[float, int],
        estimate: Estimate,
        parameters: RequestRules,
    ) -> None:
        """`spent`: USD and tokens so far."""
        self.usd, self.tokens, self.price = usd, tokens, price
        self.bytes_per_token, self.answer_tokens = estimate.bytes_per_token_reserved, parameters.max_output_tokens
        self.spent_usd, self.spent_tokens = spent
        self.reserved_usd, self.reserved_tokens, self.reserved_calls = 0.0, 0, 0
        self.lost_usd, self.lost_tokens, self.lost_calls = 0.0, 0, 0
        self.changed = asyncio.Event()

    def maximum(self, request_bytes: int) -> Reservation:
        """The maximum that a request of this size can cost: short prompt tokens, and the longest answer."""
        prompt = int(request_bytes / self.bytes_per_token) + 1
        return Reservation(self.price.of(prompt, 0, self.answer_tokens), prompt + self.answer_tokens)

    async def reserve(self, request_bytes: int) -> Reservation:
        """Reserve the maximum of a request. Waits while only requests in flight prevent it; raises BudgetReached if it
        does not fit even with nothing in flight."""
        need = self.maximum(request_bytes)
        while not self.fits(need):
            if not self.reserved_calls:
                raise BudgetReached(self.sentence(need))
            self.changed.clear()
            await self.changed.wait()
        self.reserved_usd += need.usd
        self.reserved_tokens += need.tokens
        self.reserved_calls += 1
        return need

    def settle(self, reserved: Reservation, usd: float, tokens: int) -> None:
        """Replace a reservation by what the request did cost; zeros if it got no answer."""
        self.reserved_usd -= reserved.usd
        self.reserved_tokens -= reserved.tokens
        self.reserved_calls -= 1
        if not self.reserved_calls:
            self.reserved_usd, self.reserved_tokens = 0.0, 0  # no remainder of float arithmetic
        self.spent_usd += usd
        self.spent_tokens += tokens
        self.changed.set()

    def add_lost_call(self, request_bytes: int) -> None:
        """Count a call without an answer that may have been paid for, at its maximum."""
        need = self.maximum(request_bytes)
        self.lost_usd += need.usd
        self.lost_tokens += need.tokens
        self.lost_calls += 1

    def check_retry(self, request_bytes: int) -> None:
        """Raise BudgetReached if the reservations no longer fit beside the lost calls."""
        if not self.fits(Reservation(0.0, 0)):
            raise BudgetReached(self.sentence(self.maximum(request_bytes)))

    def fits(self, need: Reservation) -> bool:
        """True if the request stays within both limits even at its maximum."""
        usd = self.spent_usd + self.lost_usd + self.reserved_usd + need.usd
        tokens = self.spent_tokens + self.lost_tokens + self.reserved_tokens + need.tokens
        return (self.usd is None or usd <= self.usd) and (self.tokens is None or tokens <= self.tokens)

    def restart(self, spent: tuple[float, int]) -> None:
        """Drop all reservations: nothing is in flight, and this much is spent."""
        self.reserved_usd, self.reserved_tokens, self.reserved_calls = 0.0, 0, 0
        self.spent_usd, self.spent_tokens = spent

    def sentence(self, need: Reservation) -> str:
        """The message of BudgetReached: what was spent, what the next question could cost, how to continue."""
        limits = [f"{self.usd:g} USD"] if self.usd is not None else []
        limits += [f"{self.tokens} tokens"] if self.tokens is not None else []
        lost = ""
        if self.lost_calls:
            lost = (
                f", up to {self.lost_usd:.4f} USD and {self.lost_tokens} tokens for {self.lost_calls} calls without an "
                "answer that may have been paid for"
            )
        return (
            f"the budget of {' and '.join(limits)} is reached: {self.spent_usd:.4f} USD and {self.spent_tokens} tokens "
            f"are spent{lost}; the next question could cost up to {need.usd:.4f} USD and {need.tokens} tokens. Every "
            "answer is kept. Raise --budget-usd or --budget-tokens and run the same command again to continue."
        )
