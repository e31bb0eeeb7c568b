"""Retries of failed requests, and the circuit breaker that stops a run whose endpoint is down.

Only transport is retried; `[retry]` of asking.toml says how often and how long. An answer that arrived is never
asked for again because of what it says.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from openclawbench.errors import EndpointFailing
from openclawbench.judge.transport.protocol import TransientError
from openclawbench.rules.judge.asking import Retry

Result = TypeVar("Result")
BUSY = "status_429"
UNREACHED = ("connection_refused", "name_not_found", "tls_failed", "proxy_failed", "no_connection")


class RetryPolicy:
    """When a request is sent again, and when it is given up (`[retry]` of asking.toml)."""

    def __init__(self, rules: Retry) -> None:
        self.rules = rules
        self.backoff = wait_random_exponential(multiplier=rules.first_wait_s, max=rules.longest_wait_s)

    async def retry(
        self,
        failure: TransientError,
        attempt: Callable[[], Awaitable[Result]],
        sleep: Callable[[float], Awaitable[None]],
    ) -> Result:
        """Repeat `attempt` after its first `failure` until it succeeds.

        Raises the last TransientError after `attempts` failures (429 does not count) or `patience_s` seconds, or at
        once if another attempt is of no use.
        """
        failures, first_failure = 0, [failure]
        started = time.monotonic()

        async def next_attempt() -> Result:
            if first_failure:
                raise first_failure.pop()
            return await attempt()

        def is_over(state: RetryCallState) -> bool:
            nonlocal failures
            failures += failure_in(state).reason != BUSY
            return failures >= self.rules.attempts or time.monotonic() - started > self.rules.patience_s

        attempts = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, TransientError) and error.again),
            wait=self.wait,
            stop=is_over,
            sleep=sleep,
            reraise=True,
        )
        return await attempts(next_attempt)

    def wait(self, state: RetryCallState) -> float:
        """Seconds before the next attempt: what the endpoint asked for (Retry-After, capped), plus a random part of an
        interval that doubles each time, so that requests that failed together do not return together."""
        retry_after = failure_in(state).retry_after or 0.0
        return min(retry_after, self.rules.longest_retry_after_s) + self.backoff(state)


def failure_in(state: RetryCallState) -> TransientError:
    """The failure that an attempt ended in."""
    failure = state.outcome.exception() if state.outcome else None
    assert isinstance(failure, TransientError)
    return failure


class CircuitBreaker:
    """Stops the run after too many failures in a row, counted over all requests. An answer resets the count.

    429 does not count: an endpoint that says so is up. Until anything was received from the endpoint, fewer failures
    are enough (`breaker_unreached`).
    """

    def __init__(self, concurrency: int, rules: Retry) -> None:
        self.rules = rules
        self.threshold = max(rules.breaker_least, rules.breaker_per_slot * concurrency)
        self.failures = 0
        self.was_reached = False

    def record_success(self) -> None:
        """Reset the count."""
        self.failures = 0
        self.was_reached = True

    def record_failure(self, failure: TransientError) -> None:
        """Count a failure. Raises EndpointFailing if there are too many, or if the endpoint asks for a longer wait than
        `longest_retry_after_s`."""
        if failure.retry_after is not None and failure.retry_after > self.rules.longest_retry_after_s:
            raise EndpointFailing(
                f"the endpoint asks to wait {failure.retry_after:.0f} s ({failure.reason}). Every answer is kept. Run "
                "the same command again after that time to continue."
            )
        self.was_reached = self.was_reached or failure.reason not in UNREACHED
        self.failures += failure.reason != BUSY
        threshold = self.threshold if self.was_reached else min(self.threshold, self.rules.breaker_unreached)
        if self.failures >= threshold:
            raise EndpointFailing(
                f"the endpoint failed {self.failures} times in a row (last: {failure.sentence}). Every answer is kept. "
                "Run the same command again when the endpoint works."
            )
