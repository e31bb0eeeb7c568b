"""The same picture of the same numbers is drawn once for all tests, not for every release and every look at one.

A picture says in its metadata what it was drawn from; that decides whether it is the same. Drawn by a process for
itself, and compared with what is kept here: test_rebuild.py (a release), test_validate.py (a look at one).
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openclawbench.reports import plots

DRAW = plots.pictures


def kept_in(folder: Path) -> Callable[..., dict[str, bytes]]:
    """plots.pictures, but what was drawn once of the same numbers is read from the folder."""

    def pictures(draw: Callable[[], Any], kinds: Sequence[str], about: str | None = None) -> dict[str, bytes]:
        if about is None:
            return DRAW(draw, kinds)
        place = folder / hashlib.sha256(json.dumps([about, *kinds]).encode()).hexdigest()
        if not place.is_dir():
            new = folder / f"{place.name}-{os.getpid()}"
            new.mkdir(parents=True)
            for kind, content in DRAW(draw, kinds, about).items():
                (new / kind).write_bytes(content)
            with contextlib.suppress(OSError):  # another process was faster
                new.rename(place)
        return {kind: (place / kind).read_bytes() for kind in kinds}

    return pictures
