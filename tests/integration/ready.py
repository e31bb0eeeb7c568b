"""A process that has the program loaded and forks one child for each call, which saves each call seconds of work that
is the same every time. What is done once here, and where it is done for real:

- libraries are imported that the program imports where it needs them (it starts without: tests/unit/test_house.py);
- the program's modules are parsed for their digests (tests/unit/test_code_digest.py);
- a picture is drawn by the first call that has such a table, and kept for the others in the folder named on the
  command line (drawn_once.py);
- nothing waits for the disk (that everything is on it before it counts: tests/unit/test_durable.py). A process that
  is killed leaves what it wrote either way.

Reads requests from stdin, a JSON object a line {arguments, cwd, env, out, err}; answers each with two lines: the
child's process id, and when it has ended its exit status.
"""

import gc
import importlib
import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds, after which a call that hangs is ended
HEAVY = [
    "aiohttp",
    "datasketch",
    "detect_secrets",
    "jsonschema",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "numpy",
    "pyarrow.json",
    "pyarrow.parquet",
    "s3fs",
    "scipy.stats",
    "sklearn.metrics",
]


def prepare() -> None:
    """What every call would do anew. The program is imported here, not above: a worker process of the program imports
    this file too, and nothing of it."""
    for name in HEAVY:
        importlib.import_module(name)
    from drawn_once import kept_in

    from openclawbench import api
    from openclawbench.base.code_digest import module_source
    from openclawbench.reports import plots

    for name in api.__all__:
        getattr(api, name)  # is loaded on first use
    for path in sorted(ROOT.glob("pipeline/**/*.py")):
        module = ".".join(path.relative_to(ROOT / "pipeline").with_suffix("").parts).removesuffix(".__init__")
        module_source(module)
        if path.name != "__main__.py":
            with suppress(ImportError):  # what needs an extra that is not installed
                importlib.import_module(module)
    plots.pictures = kept_in(Path(sys.argv[1]))
    os.fsync = lambda _: None
    gc.collect()
    gc.freeze()  # a child need not copy what it does not change


def carry_out(request: dict[str, Any]) -> int:
    """Be the command: its arguments, its surroundings, its files for stdin, stdout and stderr."""
    signal.alarm(PATIENCE)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["openclawbench", *request["arguments"]]
    from openclawbench.cli.app import main as openclawbench

    for number, name in enumerate((os.devnull, request["out"], request["err"])):
        handle = os.open(name, os.O_RDWR)
        os.dup2(handle, number)
        os.close(handle)
    try:
        openclawbench()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 (what the interpreter does with what nobody caught)
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    prepare()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = carry_out(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        print(child, flush=True)
        _, ended = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
