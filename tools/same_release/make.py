"""Make the releases that a change of code is tried on: the example, the collection, and every golden case."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "golden" / "cases"
EXAMPLE, COLLECTED, GOLDEN = GROUPS = ("example", "collected", "golden")

SAID = "said.txt"  # what the program said on stderr
RUNNER = """
import json, sys
from openclawbench.__main__ import main
for arguments in json.loads(sys.stdin.read()):
    sys.argv = ["openclawbench", *arguments]
    try:
        main()
    except SystemExit:
        pass  # 1 where a session is quarantined
"""
# Drawing takes as long as all the rest of a golden case; the example has its pictures drawn.
WITHOUT_PICTURES = """
from matplotlib.figure import Figure
Figure.savefig = lambda figure, file, **options: file.write(b"a picture")
"""


def make_releases(folder: Path, python: Path, only: frozenset[str] = frozenset()) -> int:
    """Make the releases, each with its data folder in `folder`, with the program of a checkout's `python`; the inputs
    are those of this checkout. `only` names some of GROUPS or of the golden cases. Returns an exit status: 1 where one
    is not there afterwards."""
    cases = [path.name for path in sorted(CASES.iterdir()) if path.is_dir()]
    if unknown := only - {*GROUPS, *cases}:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join([*GROUPS, *cases])}")
    folder.mkdir(parents=True, exist_ok=True)
    commands = []
    if not only or EXAMPLE in only:
        example = ROOT / "data" / "example"
        commands += [release(folder / EXAMPLE, example / "raw", example / "oracle")]
    if not only or COLLECTED in only:
        data = folder / COLLECTED
        shutil.copytree(ROOT / "data" / "collected", data, dirs_exist_ok=True)
        commands += [["collect", "convert", "--data", str(data)], release(data)]
    carry_out(folder, python, commands)
    chosen = [case for case in cases if not only or GOLDEN in only or case in only]
    golden = [
        [*release(folder / case, CASES / case / "raw", CASES / case / "oracle"), "--workers", "1"] for case in chosen
    ]
    carry_out(folder, python, golden, WITHOUT_PICTURES + RUNNER)
    made = [*(only - {GOLDEN} or [EXAMPLE, COLLECTED]), *chosen]
    missing = sorted(name for name in made if not (folder / name / "release" / "CHECKSUMS.sha256").is_file())
    if missing:
        print(f"no release of {', '.join(missing)}: see {folder / SAID}", file=sys.stderr)
    return 1 if missing else 0


def release(data: Path, raw: Path | None = None, oracle: Path | None = None) -> list[str]:
    """The command line that makes a release."""
    inputs = [*(["--raw", str(raw)] if raw else []), *(["--oracle", str(oracle)] if oracle and oracle.is_dir() else [])]
    return ["release", "--judge", "rules", "--data", str(data), *inputs]


def carry_out(folder: Path, python: Path, commands: list[list[str]], program: str = RUNNER) -> None:
    """Carry out some command lines in one process; what it writes to stderr is kept in the file SAID."""
    with (folder / SAID).open("a") as said:
        subprocess.run(
            [python, "-P", "-c", program],
            input=json.dumps(commands),
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
