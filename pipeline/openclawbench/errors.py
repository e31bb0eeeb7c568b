"""One error type per cause, each with the sentence the user reads."""


class OpenClawBenchError(Exception):
    """Something a person must see. `exit_status` as in the command line's contract."""

    exit_status = 2


class Interrupted(BaseException):
    """Ctrl-C. Not an OpenClawBenchError nor a KeyboardInterrupt, so that no library on the way takes it for its own."""

    exit_status = 3


class UnreadableInput(OpenClawBenchError):
    """A file or folder that the run cannot do without can't be read."""


class DamagedPart(UnreadableInput):
    """A part of a work table is there and cannot be read."""


class StorageError(OpenClawBenchError):
    """Object storage cannot be reached, or refuses."""


class MissingExtra(OpenClawBenchError):
    """A package that only some need is not installed."""


class UsageError(OpenClawBenchError):
    """The command was called in a way that cannot be carried out."""


class InvalidRules(OpenClawBenchError):
    """A rule file or a prompt is not what its loader expects."""


class NotFound(OpenClawBenchError):
    """Nothing in the data folder has this id."""


class DataFolderLocked(OpenClawBenchError):
    """Another run is writing to this data folder."""


class StageFailed(OpenClawBenchError):
    """A stage function raised: a defect of this program, not of the input."""

    exit_status = 1


class WorkersFailed(OpenClawBenchError):
    """Processes that were to do the work cannot be started."""

    exit_status = 1


class InconsistentFigures(OpenClawBenchError):
    """Figures of a release do not fit each other: a defect of this program, not of the input."""

    exit_status = 1


class JudgeUnavailable(OpenClawBenchError):
    """The judge asked for cannot be used."""


class EndpointRefused(OpenClawBenchError):
    """The endpoint refuses the run as a whole: key, model, address or request are wrong."""


class EndpointFailing(OpenClawBenchError):
    """The endpoint failed too often. Nothing is lost, and the same command goes on."""

    exit_status = 3


class UnreadableAnswers(OpenClawBenchError):
    """The endpoint answers, and none of its answers can be read. Every answer is kept."""

    exit_status = 3


class BudgetReached(OpenClawBenchError):
    """The next question would not fit into the budget."""

    exit_status = 3


class JudgingInterrupted(OpenClawBenchError):
    """Ctrl-C while calls were in flight; they were waited for."""

    exit_status = 3


class LedgerLocked(OpenClawBenchError):
    """Another process is writing to the ledger."""


class LeaseHeld(OpenClawBenchError):
    """Another run is asking about the same share."""


class LeaseLost(OpenClawBenchError):
    """Another run has taken over the share that this one was asking about."""

    exit_status = 3


class LedgerError(OpenClawBenchError):
    """The ledger cannot be written or read: the disk is full, or the file is damaged."""


class MissingAnswer(OpenClawBenchError):
    """A stage reads an answer that the ledger does not hold."""

    exit_status = 1


class ReleaseBlocked(OpenClawBenchError):
    """Text that was to be released holds what looks like a secret; the release that stood still stands."""

    exit_status = 1


class HubRefused(OpenClawBenchError):
    """The Hub refuses a release, or cannot be reached."""
