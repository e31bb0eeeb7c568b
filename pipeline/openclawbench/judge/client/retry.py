"""Trying again: transport only, never judgement. And the breaker that stops a run whose endpoint is down."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from openclawbench.errors import EndpointFailing
from openclawbench.judge.transport.protocol import TransientError
from openclawbench.rules.asking import Retry

Result = TypeVar("Result")
BUSY = "status_429"
UNREACHED = ("connection_refused", "name_not_found", "tls_failed", "proxy_failed", "no_connection")


class RetryPolicy:
    """When one request is tried again and when it is given up."""

    def __init__(self, rules: Retry) -> None:
        self.rules = rules
        self.backoff = wait_random_exponential(multiplier=rules.first_wait_s, max=rules.longest_wait_s)

    async def again(
        self,
        failure: TransientError,
        attempt: Callable[[], Awaitable[Result]],
        sleep: Callable[[float], Awaitable[None]],
    ) -> Result:
        """Go on after a first failure until an attempt succeeds. Raises the last TransientError when patience ends."""
        failures, first = 0, [failure]
        started = time.monotonic()

        async def next_one() -> Result:
            if first:
                raise first.pop()
            return await attempt()

        def is_over(state: RetryCallState) -> bool:
            nonlocal failures
            failures += reason_of(state).reason != BUSY
            return failures >= self.rules.attempts or time.monotonic() - started > self.rules.patience_s

        trying = AsyncRetrying(
            retry=retry_if_exception(passes), wait=self.wait, stop=is_over, sleep=sleep, reraise=True
        )
        return await trying(next_one)

    def wait(self, state: RetryCallState) -> float:
        """Seconds: what the endpoint asked for and a random share of what doubles each time, so that requests that
        failed together do not come back together."""
        asked = reason_of(state).retry_after
        return min(asked or 0.0, self.rules.longest_retry_after_s) + self.backoff(state)


def passes(failure: BaseException) -> bool:
    """True where another attempt may end otherwise."""
    return isinstance(failure, TransientError) and failure.again


def reason_of(state: RetryCallState) -> TransientError:
    """The failure that an attempt ended in."""
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, TransientError)
    return failure


class CircuitBreaker:
    """Counts failures in a row over all requests; answers set it back. 429 does not count: such an endpoint is well.
    While nothing at all was heard of the endpoint, few failures are enough."""

    def __init__(self, concurrency: int, rules: Retry) -> None:
        self.rules = rules
        self.streak = max(rules.breaker_least, rules.breaker_per_slot * concurrency)
        self.failures = 0
        self.is_heard = False

    def answered(self) -> None:
        """The endpoint is well."""
        self.failures = 0
        self.is_heard = True

    def failed(self, failure: TransientError) -> None:
        """Raises EndpointFailing where the streak is reached, or the endpoint wants a longer wait than the run has."""
        if failure.retry_after is not None and failure.retry_after > self.rules.longest_retry_after_s:
            raise EndpointFailing(
                f"the endpoint asks to wait {failure.retry_after:.0f} s ({failure.reason}). Every answer is kept; run "
                "again after that to go on."
            )
        self.is_heard = self.is_heard or failure.reason not in UNREACHED
        self.failures += failure.reason != BUSY
        streak = self.streak if self.is_heard else min(self.streak, self.rules.breaker_unreached)
        if self.failures >= streak:
            raise EndpointFailing(
                f"the endpoint failed {self.failures} times in a row (last: {failure.sentence}). Every answer is kept; "
                "run again to go on when it is well."
            )
