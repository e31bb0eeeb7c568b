"""How far the questions of a stage are."""

import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class JudgeProgress:
    """Counts of one stage, for display."""

    stage: str
    total: int
    done: int = 0  # questions with an answer, those of earlier runs included
    calls: int = 0  # answers received in this run
    asked_again: int = 0  # corrective questions among them
    endpoint: str = ""  # address that is asked
    failures: int = 0  # failed attempts to send a request
    last_failure: str = ""  # reason of the last one
    unanswered: int = 0  # questions that were given up
    gists: Counter[str] = field(default_factory=Counter)  # what the answers of this run say -> how many
    too_long: int = 0  # questions that are not sent because their packets are too long
    usd: float = 0.0
    tokens: int = 0
    cached_tokens: int = 0
    estimated: int = 0  # answers whose usage is estimated, because the endpoint did not state a possible one
    started: float = field(default_factory=time.monotonic)

    def count_question(self, gist: str) -> None:
        """Count a question that has its answer."""
        self.done += 1
        self.gists[gist] += 1

    def count_answer(self, usd: float, tokens: int, cached_tokens: int, is_estimated: bool = False) -> None:
        """Count an answer that was received."""
        self.calls += 1
        self.estimated += is_estimated
        self.usd += usd
        self.tokens += tokens
        self.cached_tokens += cached_tokens
