"""How a command ends: an error is one sentence and an exit status, a traceback only with --debug."""

import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType

import polars as pl

from openclawbench.base.terminal import errors, sentence
from openclawbench.errors import Interrupted, OpenClawBenchError
from openclawbench.storage.parquet_check import cause_in_what_was_read

WRONG_USE = 2
LOUD = "red"  # on a terminal, and where NO_COLOR is not set


def stop(_signal: int, _frame: FrameType | None) -> None:
    """What Ctrl-C does."""
    raise Interrupted("stopped; everything done so far is kept, run again to go on")


def carried_out(command: Callable[[], None], debug: bool = False) -> None:
    """Run a command and exit: with the status of its error, or 3 when it is interrupted. `debug` shows tracebacks."""
    signal.signal(signal.SIGINT, stop)
    try:
        command()
    except OpenClawBenchError as error:
        refused(error, debug)
    except Interrupted as stopped:
        errors().print(str(stopped))
        sys.exit(stopped.exit_status)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if debug:
            raise
        errors().print(f"error: {sentence(error)}. Make room or give access, and run again.", style=LOUD)
        sys.exit(WRONG_USE)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if (damage := cause_in_what_was_read()) is None:
            raise
        refused(damage, debug)


def refused(error: OpenClawBenchError, debug: bool) -> None:
    """Print the error, with its traceback if `debug`, and exit with its status."""
    if debug:
        traceback.print_exc()
    errors().print(f"error: {sentence(error)}", style=LOUD)
    sys.exit(error.exit_status)
