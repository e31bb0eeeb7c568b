"""The circuit breaker on answers: stops a run whose answers, one after the other, cannot be read."""

from openclawbench.errors import UnreadableAnswers
from openclawbench.judge.protocol import AnswerCheck

NOT_WRITTEN = ("too_long", "content_filter", "refused")  # outcomes that say nothing about how the model writes
DETAIL_CHARACTERS = 160


class UnreadableAnswerBreaker:
    """Counts questions in a row whose answers cannot be read. A readable answer resets the count."""

    def __init__(self, most: int) -> None:
        self.most, self.count, self.readable = most, 0, 0

    def record(self, check: AnswerCheck) -> None:
        """Count a question that was asked in this run. Raises UnreadableAnswers if there are too many."""
        if check.settled_as in NOT_WRITTEN:
            return
        if check.complaint is None:
            self.count, self.readable = 0, self.readable + 1
            return
        self.count += 1
        if self.count >= self.most:
            which = f"the last {self.count}" if self.readable else f"the first {self.count}"
            detail = " ".join(check.complaint.detail.split())[:DETAIL_CHARACTERS]
            raise UnreadableAnswers(
                f"{which} answers are all unreadable (the last one: {check.settled_as}: {detail}). "
                "Nothing more is asked. `openclawbench ledger export` shows what the model writes; try another model "
                "or endpoint. Every answer is kept: run the same command again to ask the other questions, with "
                f"--ask-again {check.settled_as} to ask these questions again."
            )
