"""How a command ends: an error is one sentence and an exit status, a traceback only with --debug."""

import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from openclawbench.base.terminal import errors, one_line, safe, sentence
from openclawbench.errors import USAGE_STATUS, AnswersAwaited, Interrupted, OpenClawBenchError

OUTPUT_CLOSED_STATUS = 128 + 13  # as of a program that SIGPIPE ends
OUT_OF_ROOM = ("No space left", "os error 28", "Disk quota exceeded", "File too large")  # as polars says it
ERROR_STYLE = "red"  # on a terminal where NO_COLOR is not set


class OutputClosed(Exception):
    """The reader of the output has gone, as in `… | head`."""


def run_program(program: Callable[[], None], debug: bool = False) -> None:
    """Run the program and exit: with the status of its error, 3 when interrupted, or 141 when nobody reads its output.
    `debug` shows tracebacks."""
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, as_interrupt)
    try:
        program()
    except OpenClawBenchError as error:
        exit_with(error, debug)
    except Interrupted as interrupted:
        errors().print(str(interrupted))
        sys.exit(interrupted.exit_status)
    except (OutputClosed, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at the end
        sys.exit(OUTPUT_CLOSED_STATUS)
    except OSError as error:
        end_for_storage(str(error), debug)
    except sqlite_errors() as error:
        end_for_storage(f"a database is damaged, or has no room: {error}", debug)
    except polars_errors() as error:
        from openclawbench.storage.parquet_check import cause_in_what_was_read

        if (damage := cause_in_what_was_read()) is not None:
            exit_with(damage, debug)
        if not any(text in str(error) for text in OUT_OF_ROOM):
            raise
        end_for_storage(str(error), debug)


def end_for_storage(reason: str, debug: bool) -> NoReturn:
    """Print what a disk, file or database refuses, and exit. Called while its error is handled."""
    if debug:
        raise  # noqa: PLE0704
    message = one_line(reason).rstrip(".")
    errors().print(f"error: {message}. Make room or give access, and run again.", style=ERROR_STYLE)
    sys.exit(USAGE_STATUS)


def sqlite_errors() -> tuple[type[BaseException], ...]:
    """What a database raises; nothing where none was opened."""
    return (sys.modules["sqlite3"].Error,) if "sqlite3" in sys.modules else ()


def polars_errors() -> tuple[type[BaseException], ...]:
    """What polars raises; nothing where it is not loaded."""
    if "polars" not in sys.modules:
        return ()
    from polars.exceptions import PanicException, PolarsError

    return (PolarsError, PanicException)


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    """The handler of Ctrl-C."""
    raise Interrupted("stopped; everything done so far is kept, run again to go on")


def as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    """The handler of SIGTERM, which batch systems and containers send: as Ctrl-C, whatever handles that now."""
    os.kill(os.getpid(), signal.SIGINT)


def exit_with(error: OpenClawBenchError, debug: bool) -> None:
    """Print what is wrong, and exit."""
    if debug:
        traceback.print_exc()
    with suppress(BrokenPipeError):
        if isinstance(error, AnswersAwaited):
            errors().print(f"{sentence(error)}: {safe(typed_command())}", highlight=False)
        else:
            errors().print(f"error: {sentence(error)}", style=ERROR_STYLE)
    sys.exit(error.exit_status)


def typed_command() -> str:
    """The command of this process, as it can be typed again."""
    return shlex.join(["openclawbench", *sys.argv[1:]])
