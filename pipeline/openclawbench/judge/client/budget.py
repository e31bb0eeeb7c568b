"""Budget: what a run may cost at most, reserved before each request and settled when its usage is known."""

import asyncio
from dataclasses import dataclass

from openclawbench.errors import BudgetReached
from openclawbench.rules.asking import Estimate
from openclawbench.rules.prices import Price
from openclawbench.rules.request import RequestRules


@dataclass(frozen=True)
class Reservation:
    """The most that a request can come to."""

    usd: float
    tokens: int


class Budget:
    """Caps in USD and in tokens (null: none) over everything that the ledger holds; they can be raised and the run
    gone on with. What may be spent = what was spent + what calls that were lost can have come to + what is reserved,
    and never more than the caps."""

    def __init__(
        self,
        usd: float | None,
        tokens: int | None,
        price: Price,
        spent: tuple[float, int],
        estimate: Estimate,
        parameters: RequestRules,
    ) -> None:
        self.usd, self.tokens, self.price = usd, tokens, price
        self.bytes_per_token, self.answer_tokens = estimate.bytes_per_token_reserved, parameters.max_output_tokens
        self.spent_usd, self.spent_tokens = spent
        self.held_usd, self.held_tokens, self.held = 0.0, 0, 0
        self.lost_usd, self.lost_tokens, self.lost = 0.0, 0, 0
        self.changed = asyncio.Event()

    def most(self, request_bytes: int) -> Reservation:
        """The most that a request of this size can come to: short prompt tokens, the longest answer."""
        prompt = int(request_bytes / self.bytes_per_token) + 1
        return Reservation(self.price.of(prompt, 0, self.answer_tokens), prompt + self.answer_tokens)

    async def reserve(self, request_bytes: int) -> Reservation:
        """Set aside what a request can come to, waiting for those in flight where it does not fit beside them. Raises
        BudgetReached where it does not fit though nothing is in flight."""
        need = self.most(request_bytes)
        while not self.fits(need):
            if not self.held:
                raise BudgetReached(self.sentence(need))
            self.changed.clear()
            await self.changed.wait()
        self.held_usd += need.usd
        self.held_tokens += need.tokens
        self.held += 1
        return need

    def lose(self, request_bytes: int) -> None:
        """A call was lost that may have been paid for: it counts as the most that it can have come to."""
        need = self.most(request_bytes)
        self.lost_usd += need.usd
        self.lost_tokens += need.tokens
        self.lost += 1

    def refuse_another(self, request_bytes: int) -> None:
        """BudgetReached where what is reserved does not fit any more beside what was lost."""
        if not self.fits(Reservation(0.0, 0)):
            raise BudgetReached(self.sentence(self.most(request_bytes)))

    def fits(self, need: Reservation) -> bool:
        """True where the request stays below both caps even if it comes to the most that it can."""
        usd = self.spent_usd + self.lost_usd + self.held_usd + need.usd
        tokens = self.spent_tokens + self.lost_tokens + self.held_tokens + need.tokens
        return (self.usd is None or usd <= self.usd) and (self.tokens is None or tokens <= self.tokens)

    def settle(self, reserved: Reservation, usd: float, tokens: int) -> None:
        """What the request came to; zeros where there was none."""
        self.held_usd -= reserved.usd
        self.held_tokens -= reserved.tokens
        self.held -= 1
        if not self.held:
            self.held_usd, self.held_tokens = 0.0, 0  # what is left of floats
        self.spent_usd += usd
        self.spent_tokens += tokens
        self.changed.set()

    def forget(self) -> None:
        """Nothing is in flight any more."""
        self.held_usd, self.held_tokens, self.held = 0.0, 0, 0

    def sentence(self, need: Reservation) -> str:
        """What was spent, what the next question could cost, how to go on."""
        caps = [f"{self.usd:g} USD"] if self.usd is not None else []
        caps += [f"{self.tokens} tokens"] if self.tokens is not None else []
        lost = (
            f" and up to {self.lost_usd:.4f} USD and {self.lost_tokens} tokens for calls that were lost ({self.lost})"
            if self.lost
            else ""
        )
        return (
            f"the budget of {' and '.join(caps)} is reached: {self.spent_usd:.4f} USD and {self.spent_tokens} tokens "
            f"are spent{lost}, the next question could cost up to {need.usd:.4f} USD and {need.tokens} tokens. Every "
            "answer is kept; raise --budget-usd or --budget-tokens and run again to go on."
        )
