"""Switches the cyclic garbage collector off, or makes it run less often, during work that creates few cycles."""

import contextlib
import gc
from collections.abc import Iterator

YOUNG = 20_000  # threshold of the first generation: allocations less deallocations (Python's default is 700)


@contextlib.contextmanager
def gc_disabled() -> Iterator[None]:
    """Switch the collector off while a shard is computed or the inputs are scanned. Rows are trees, which are freed
    without it; walking over them takes a fifth of the time of normalize."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def gc_reduced() -> Iterator[None]:
    """Collect less often, and only objects created meanwhile. By default the collector takes a tenth of the processor
    time of asking: most of what it scans is the loaded program, and calls create few cycles."""
    former = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()
