"""Ctrl-C while a judge is asked: the first one stops the run in order, a second one stops it at once."""

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any

from openclawbench.errors import JudgingInterrupted, OpenClawBenchError


class InterruptHandler:
    """Stops asking at Ctrl-C: nothing new is sent, and calls in flight are awaited; a second Ctrl-C does not wait."""

    def __init__(self, halt: Callable[[OpenClawBenchError], None]) -> None:
        self.halt = halt
        self.former: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self.former = signal.getsignal(signal.SIGINT)
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self.stop)

    def stop(self) -> None:
        """The first Ctrl-C."""
        self.halt(
            JudgingInterrupted("stopped; the calls in flight were waited for, every answer is kept; run again to go on")
        )
        self.restore()

    def restore(self) -> None:
        """Restore the former handler of Ctrl-C."""
        if self.former is not None:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGINT, self.former)
            self.former = None

    def __exit__(self, *error: object) -> None:
        self.restore()
