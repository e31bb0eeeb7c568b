"""Limits of requests and tokens a minute: spent evenly, never exceeded, and lowered if the endpoint says so."""

import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping

from openclawbench.rules.judge.asking import Limits

MINUTE = 60.0
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9.]+)(ms|s|m|h|d)")


class TokenBucket:
    """A limit a minute, spent evenly (the generic cell rate algorithm). Amounts taken in any 60 seconds never exceed
    `per_minute`, even if the endpoint sees them up to `margin_s - catch_up_s` late. A single amount may exceed it."""

    def __init__(self, per_minute: float, rules: Limits) -> None:
        self.per_minute, self.rules = per_minute, rules
        self.due = 0.0  # time at which everything taken so far is evenly spent

    def wait(self, amount: float, now: float) -> float:
        """Seconds until this amount may be taken; zero: it was taken now."""
        ready = self.due - self.rules.catch_up_s
        if now < ready:
            return ready - now
        self.take(amount, now)
        return 0.0

    def take(self, amount: float, now: float) -> None:
        """Take an amount, or give back a negative one."""
        interval = (MINUTE + self.rules.margin_s) / self.per_minute
        self.due = max(self.due, now) + amount * interval


class RateLimits:
    """Decides when a run may send a request. Nothing else waits for a rate limit."""

    def __init__(
        self,
        requests: float | None,
        tokens: float | None,
        rules: Limits,
        longest_pause_s: float,
        clock: Callable[[], float] = time.monotonic,
        runs: int = 1,
    ) -> None:
        """`runs` share what the endpoint's headers allow; `requests` and `tokens` are this run's own."""
        self.runs = runs
        self.rules, self.longest_pause_s, self.clock = rules, longest_pause_s, clock
        self.requests = None if requests is None else TokenBucket(requests, rules)
        self.tokens = None if tokens is None else TokenBucket(tokens, rules)
        self.paused_until = 0.0

    async def turn(self, tokens: int, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Wait until a request with this many tokens may be sent."""
        while (seconds := self.wait(tokens)) > 0.0:
            await sleep(seconds)

    def wait(self, tokens: int) -> float:
        """Seconds until the request may be sent; zero: it counts as sent."""
        if self.requests is None and self.tokens is None and not self.paused_until:
            return 0.0
        now = self.clock()
        if now < self.paused_until:
            return self.paused_until - now
        self.paused_until = 0.0
        if self.tokens is not None and self.tokens.due - self.rules.catch_up_s > now:
            return self.tokens.due - self.rules.catch_up_s - now
        if self.requests is not None and (seconds := self.requests.wait(1, now)) > 0.0:
            return seconds
        if self.tokens is not None:
            self.tokens.take(tokens, now)
        return 0.0

    def correct(self, estimated: int, used: int) -> None:
        """Correct the count of a request by the tokens that it really used."""
        if self.tokens is not None:
            self.tokens.take(used - estimated, self.clock())

    def pause(self, seconds: float) -> None:
        """Send nothing for a while: the endpoint asked for it."""
        self.paused_until = max(self.paused_until, self.clock() + min(seconds, self.longest_pause_s))

    def learn(self, headers: Mapping[str, str]) -> None:
        """Follow the endpoint's x-ratelimit-* headers: its limits where lower, a pause where nothing remains."""
        for name in ("requests", "tokens"):
            limit = number(headers.get(f"x-ratelimit-limit-{name}"))
            if limit:
                self.lower(name, limit / self.runs)
            if number(headers.get(f"x-ratelimit-remaining-{name}")) == 0.0:
                self.pause(duration(headers.get(f"x-ratelimit-reset-{name}", "")))

    def lower(self, name: str, limit: float) -> None:
        """Lower the limit a minute from now on."""
        pace: TokenBucket | None = getattr(self, name)
        if pace is None:
            setattr(self, name, TokenBucket(limit, self.rules))
        elif limit < pace.per_minute:
            pace.per_minute = limit


def number(text: str | None) -> float | None:
    """A finite number; None if the text is not one."""
    try:
        value = None if text is None else float(text)
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def duration(text: str) -> float:
    """Seconds of `6m0s`, `20ms`, `1.5s` or a plain number of seconds; zero if the text is empty or unknown."""
    plain = number(text)
    if plain is not None:
        return max(0.0, plain)
    return sum(float(value) * UNITS[unit] for value, unit in DURATION.findall(text) if value.strip("."))
