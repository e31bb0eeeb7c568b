"""Loader of asking.toml: how a language model is asked."""

import re
from typing import Annotated, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from openclawbench.records.vocabulary import Stage
from openclawbench.rules.loading.numbers import Amount, AtLeastOne, Count, HttpStatus, MoreThanNothing
from openclawbench.rules.loading.patterns import PythonPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.validation import one_of

StageName = Annotated[str, one_of(*get_args(Stage))]


class Part(BaseModel):
    """A table of the file: closed, so that a misspelt setting is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Connection(Part):
    """Connections and their limits."""

    concurrency: AtLeastOne
    connect_s: Amount
    answer_s: Amount
    largest_answer_bytes: AtLeastOne
    default_base_url: str


class Retry(Part):
    """What is tried again, and how long."""

    statuses: list[HttpStatus]
    attempts: AtLeastOne
    patience_s: Amount
    first_wait_s: Amount
    longest_wait_s: Amount
    longest_retry_after_s: Amount
    breaker_per_slot: AtLeastOne
    breaker_least: AtLeastOne
    breaker_unreached: AtLeastOne
    unreadable_in_a_row: AtLeastOne
    refused_in_a_row: AtLeastOne


class Limits(Part):
    """How a rate is spread."""

    margin_s: Amount
    catch_up_s: Amount


class Adapt(Part):
    """How many requests are in flight where an endpoint is overloaded."""

    statuses: list[HttpStatus]
    keep: Annotated[float, Field(gt=0.0, le=1.0)]
    growth: Annotated[float, Field(ge=0.0, le=1.0)]


class LeaseTimes(Part):
    """Of the lease of a share."""

    beat_s: Amount
    stale_s: Amount


class Commit(Part):
    """Group commit of the ledger."""

    window_ms: Amount
    rows: AtLeastOne
    ballast_bytes: Count


class Pattern(Part):
    """Something to be recognized in an endpoint's message."""

    pattern: PythonPattern

    def fits(self, message: str) -> bool:
        """True if the pattern occurs in the message."""
        return re.search(self.pattern, message, re.IGNORECASE) is not None


class Adaptation(Pattern):
    """Something that an endpoint may refuse and that is then left out."""

    id: Annotated[str, one_of("structured_output", "temperature", "seed", "max_completion_tokens", "logprobs")]


class QuestionFault(Pattern):
    """A refusal of one question."""

    outcome: Annotated[str, one_of("too_long", "content_filter")]


class NamedError(Pattern):
    """An error under status 200, and the status that it stands for."""

    status: Annotated[int, Field(ge=400, le=599)]


class SecretRules(Part):
    """Which keys cannot be in a text by chance."""

    least_characters: AtLeastOne
    least_different: AtLeastOne


class UsageRules(Part):
    """Which usage is believed."""

    largest_tokens: AtLeastOne


class Estimate(Part):
    """Assumptions of a plan."""

    bytes_per_token: MoreThanNothing
    bytes_per_token_reserved: MoreThanNothing
    followed_at_most: Annotated[int, Field(ge=1)]
    completion_tokens: dict[StageName, Count]  # reasoning included
    reasoning_tokens: dict[StageName, Count]


class Batch(Part):
    """Batch mode."""

    requests: AtLeastOne
    bytes: AtLeastOne
    largest_file_bytes: AtLeastOne
    poll_s: Amount
    completion_window: str


class AskingRules(Rules):
    """How a language model is asked. Nothing of it decides an answer."""

    FILE: ClassVar[str] = "asking.toml"
    connection: Connection
    retry: Retry
    limits: Limits
    adapt: Adapt
    commit: Commit
    lease: LeaseTimes
    adaptation: list[Adaptation]
    question_fault: list[QuestionFault]
    fatal: list[Pattern]
    named_error: list[NamedError]
    secret: SecretRules
    usage: UsageRules
    estimate: Estimate
    batch: Batch

    def adaptation_for(self, message: str) -> str | None:
        """What the endpoint refuses, by its message; None if it is nothing that can be left out."""
        return next((rule.id for rule in self.adaptation if rule.fits(message)), None)

    def question_fault_in(self, message: str) -> str | None:
        """The outcome of a question that the endpoint refuses for itself alone; None if it is another refusal."""
        return next((rule.outcome for rule in self.question_fault if rule.fits(message)), None)

    def status_named_in(self, message: str) -> int | None:
        """The status that an error under status 200 stands for, by its words; None if they say nothing known."""
        return next((rule.status for rule in self.named_error if rule.fits(message)), None)

    def is_fatal(self, message: str) -> bool:
        """True if trying again would not help, whatever the status says."""
        return any(rule.fits(message) for rule in self.fatal)
