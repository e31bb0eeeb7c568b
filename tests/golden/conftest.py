"""Golden cases look at records: the pictures of a release are laid out from a case's numbers, and not rendered."""

from collections.abc import Iterator

import pytest

from openclawbench.reports import plots


@pytest.fixture(scope="module", autouse=True)
def nothing_is_rendered() -> Iterator[None]:
    """Rendering takes as long as all the rest of a case; it is the same for every case (tests/fuzz, integration)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "encoded", lambda figure, kind, about=None: f"a {kind} of {figure}, {about}".encode())
        yield
