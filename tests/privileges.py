"""A superuser who may read what its modes say, like anybody else: without this, no test run by root meets a file that
may not be read. The user stays the same, so that a checkout that root alone may enter is still there."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
READS_EVERYTHING = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH


class Header(ctypes.Structure):
    """Whose capabilities: process 0 is this thread."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Capabilities(ctypes.Structure):
    """Bits of 32 capabilities."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def change(call: str, capabilities: "ctypes.Array[Capabilities]") -> None:
    """Carry out capget or capset. Skips the test, saying so, where the system has no capabilities."""
    function = getattr(ctypes.CDLL(None, use_errno=True), call, None)
    if function is None:
        pytest.skip(f"the superuser reads everything, and this system has no {call} to change that")
    if function(ctypes.byref(Header(VERSION_3, 0)), capabilities):
        pytest.skip(f"the superuser reads everything, and {call} fails: {os.strerror(ctypes.get_errno())}")


@contextmanager
def one_who_may_not_read_everything() -> Iterator[None]:
    """This thread is bound by the modes of files and folders, whoever runs it, for as long."""
    if os.geteuid() != 0:
        yield
        return
    held = (Capabilities * 2)()
    change("capget", held)
    former = held[0].effective
    held[0].effective = former & ~READS_EVERYTHING
    change("capset", held)
    try:
        yield
    finally:
        held[0].effective = former
        change("capset", held)
