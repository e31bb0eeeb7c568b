"""One error type per cause. The message is the sentence that the user reads: file, line, cause, what to do.

`exit_status` is the exit status of the command.
"""

NEEDS_A_PERSON = 1  # the command did its work and a person must look at something; or a defect of this program
USAGE_STATUS = 2  # something that the user has to correct
STOPPED_EARLY = 3  # everything done is kept, and the same command goes on


class OpenClawBenchError(Exception):
    """The base of every error that a user can cause or has to know of."""

    exit_status = USAGE_STATUS


class Interrupted(BaseException):
    """Ctrl-C. Neither an OpenClawBenchError nor a KeyboardInterrupt, so that no library handles it as its own."""

    exit_status = STOPPED_EARLY


# Input and use


class UsageError(OpenClawBenchError):
    """A command, option or argument cannot be carried out as given."""


class InvalidRules(OpenClawBenchError):
    """A rule file or a prompt does not have the content that its loader expects."""


class InvalidFamily(OpenClawBenchError):
    """A family of the exam has a wrong key, a slot or step that does not exist, or twins that differ elsewhere."""


class UnreadableInput(OpenClawBenchError):
    """A file or folder that the run needs is missing or cannot be read."""


class NotFound(OpenClawBenchError):
    """The data folder holds nothing with this id."""


class MissingExtra(OpenClawBenchError):
    """A package of an optional extra is not installed."""


# The data folder and its storage


class DamagedPart(UnreadableInput):
    """A part of a work table exists but cannot be read."""


class DataFolderLocked(OpenClawBenchError):
    """Another run is writing to this data folder."""


class StorageError(OpenClawBenchError):
    """The object store cannot be reached, or refuses a request."""


# Running stages


class StageFailed(OpenClawBenchError):
    """A stage function raised: a defect of this program, not of the input."""

    exit_status = NEEDS_A_PERSON


class WorkersFailed(OpenClawBenchError):
    """The worker processes cannot be started."""

    exit_status = NEEDS_A_PERSON


# Asking a judge


class EndpointRefused(OpenClawBenchError):
    """The endpoint refuses every request of the run: the key, model, address or request is wrong."""


class EndpointFailing(OpenClawBenchError):
    """The endpoint failed too often."""

    exit_status = STOPPED_EARLY


class UnreadableAnswers(OpenClawBenchError):
    """The endpoint answers, but none of its answers can be parsed. Every answer is kept."""

    exit_status = STOPPED_EARLY


class BudgetReached(OpenClawBenchError):
    """The next question would exceed the budget."""

    exit_status = STOPPED_EARLY


class AnswersAwaited(OpenClawBenchError):
    """Questions wait in batch files for whoever answers them. The same command takes the answers in."""

    exit_status = STOPPED_EARLY


class JudgingInterrupted(OpenClawBenchError):
    """Ctrl-C while requests were in flight. Their answers are kept."""

    exit_status = STOPPED_EARLY


class MissingAnswer(OpenClawBenchError):
    """A stage reads an answer that the ledger does not hold."""

    exit_status = NEEDS_A_PERSON


class NotJudged(OpenClawBenchError):
    """A run that asks nobody comes to questions that the ledger has no answer to."""

    exit_status = NEEDS_A_PERSON


class CollectionStopped(OpenClawBenchError):
    """Sessions are ended by the infrastructure, one after the other. What was collected is kept."""

    exit_status = STOPPED_EARLY


# Training detectors


class TrainingRefused(OpenClawBenchError):
    """Training would learn nothing, or something other than the labels: a label is cut off, or there is no loss."""

    exit_status = NEEDS_A_PERSON


# The ledger of answers


class LedgerError(OpenClawBenchError):
    """The ledger cannot be read or written: the disk is full, or the file is damaged."""


class LedgerLocked(OpenClawBenchError):
    """Another process is writing to the ledger."""


class LeaseHeld(OpenClawBenchError):
    """Another run is judging the same share of the shards."""


class LeaseLost(OpenClawBenchError):
    """Another run has taken over the share of the shards that this run was judging."""

    exit_status = STOPPED_EARLY


# Releases


class InvalidRelease(OpenClawBenchError):
    """`validate` would refuse a new release: a defect of this program, not of the input. It is not published."""

    exit_status = NEEDS_A_PERSON


class ReleaseBlocked(OpenClawBenchError):
    """A text to be released contains what looks like a secret. The previous release stays in place."""

    exit_status = NEEDS_A_PERSON


class HubRefused(OpenClawBenchError):
    """The Hub refuses a release, or cannot be reached."""
