"""`python -m tools.same_release A B`: compare releases; `--make FOLDER` makes the releases that a change is tried on.

    python -m tools.same_release --make /tmp/before --python ../before/.venv/bin/python
    python -m tools.same_release --make /tmp/after
    python -m tools.same_release /tmp/before /tmp/after

A and B are release folders, data folders, or folders of data folders (as --make writes them). Exit status: 0 the same,
1 not the same.
"""

import argparse
import sys
from pathlib import Path

from tools.same_release.compare import different_releases
from tools.same_release.make import GROUPS, make_releases


def main() -> int:
    """Compare, or make; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.same_release", description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="A B", help="release, data or folder of data folders")
    parser.add_argument(
        "--but", nargs="*", default=[], metavar="FIELD", help="fields, as name or dotted path, left out"
    )
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="make the releases here, and compare nothing")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="of the checkout whose program runs")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help=f"{', '.join(GROUPS)} or golden cases")
    chosen = parser.parse_args()
    if chosen.make is not None:
        return make_releases(chosen.make, chosen.python, frozenset(chosen.only))
    if len(chosen.folders) != 2:
        parser.error("name two folders")
    lines = different_releases(chosen.folders[0], chosen.folders[1], frozenset(chosen.but))
    print("\n".join(lines) if lines else "the same")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
