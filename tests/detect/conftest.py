"""The scripted endpoint, as the tests of the judge use it, and their ways to make evidence."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from asking import Endpoint

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("integration", "unit")]


@pytest.fixture(scope="module")
def endpoint() -> "Iterator[Endpoint]":
    """An endpoint that answers as a detector, in a process of its own."""
    from asking import endpoint_process

    with endpoint_process("detector_endpoint.py") as result:
        yield result
