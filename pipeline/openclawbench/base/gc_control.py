"""The collector of cyclic garbage, kept from work that makes none or little."""

import contextlib
import gc
from collections.abc import Iterator

YOUNG = 20_000  # objects more than were freed before a collection; by default 700, many times a second


@contextlib.contextmanager
def gc_disabled() -> Iterator[None]:
    """No cyclic garbage collection while a shard is computed, or the inputs are scanned: rows are trees, freed without
    it, and walking over them again and again costs a fifth of normalize."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def gc_reduced() -> Iterator[None]:
    """Collect seldom, and only what is made meanwhile. By default it takes a tenth of the processor time of asking:
    nearly all that it looks at is the loaded program, and nearly nothing of a call is a cycle."""
    former = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()
