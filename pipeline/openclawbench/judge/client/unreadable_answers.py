"""The breaker on answers: an endpoint whose answers cannot be read, one after the other, is not asked on."""

from openclawbench.errors import UnreadableAnswers
from openclawbench.judge.ledger.stored_answer import StoredAnswer
from openclawbench.judge.protocol import AnswerCheck

UNPAID = ("too_long", "content_filter", "refused")  # outcomes that say nothing of how the model writes
SHOWN = 160  # characters of an answer that a sentence shows


class UnreadableAnswerBreaker:
    """Counts questions in a row whose answers cannot be read; one that can sets it back."""

    def __init__(self, most: int) -> None:
        self.most, self.count, self.read = most, 0, 0

    def heard(self, heard: AnswerCheck, last: StoredAnswer) -> None:
        """Count a question that was asked in this run. Raises UnreadableAnswers where there were too many."""
        if heard.outcome in UNPAID:
            return
        if heard.complaint is None:
            self.count, self.read = 0, self.read + 1
            return
        self.count += 1
        if self.count >= self.most:
            which = f"the last {self.count}" if self.read else f"the first {self.count}"
            detail = " ".join(heard.complaint.detail.split())[:SHOWN]
            raise UnreadableAnswers(
                f"{which} answers are all unreadable (the last one: {heard.outcome}: {detail}). Nothing more is asked. "
                "`openclawbench ledger export` shows what the model writes; try another model or endpoint. Every "
                "answer is kept: run again to go on with the other questions, and with --ask-again "
                f"{heard.outcome} to ask these once more."
            )
