"""The scripted endpoint, as the tests of the judge use it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

from asking import Endpoint, endpoint_process


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that answers as a detector, in a process of its own."""
    with endpoint_process("detector_endpoint.py") as found:
        yield found
