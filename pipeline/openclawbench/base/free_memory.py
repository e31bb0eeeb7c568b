"""Freed memory, given back to the system between the steps of long work: the C library keeps it otherwise, where other
libraries' allocators do not use it."""

import ctypes
import sys


def give_back_memory() -> None:
    """Give back what is free. Does nothing where the C library cannot (only glibc has `malloc_trim`)."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
