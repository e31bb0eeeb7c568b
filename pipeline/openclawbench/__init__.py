"""OpenClawBench: raw agent sessions in, process-anomaly labels with their evidence out.

    import openclawbench

    result = openclawbench.run("data/mine", raw="sessions", oracle="outcomes.jsonl")
    release = openclawbench.open_release(result.release)

The names of `__all__` are the library. They are loaded on first use, so that the import itself costs nothing. What
cannot be done is raised as `OpenClawBenchError`, whose text says what to do.
"""

import os
import sys

# `python -m openclawbench` puts the current folder before every other. Its files are data, no modules of this program.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path and not __file__.startswith(f"{sys.path[0]}{os.sep}"):
    del sys.path[0]

from typing import TYPE_CHECKING, Any

from openclawbench import api
from openclawbench.version import __version__

if TYPE_CHECKING:
    from openclawbench.api import *  # noqa: F403

__all__ = ["__version__"]
__all__ += api.__all__

# Polars' allocator returns memory half a second after its last use, and a shard takes two seconds. Holding it for five
# saves a twentieth of the time of the stages after normalize, for a tenth more memory. Polars reads this when it is
# loaded. A value that is set already stays.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:5000,muzzy_decay_ms:5000")


def __getattr__(name: str) -> Any:
    """Load a name of the library on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
