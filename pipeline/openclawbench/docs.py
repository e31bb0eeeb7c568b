"""The table of stages in the README, computed from flow.py (python -m openclawbench.docs; --check compares)."""

import sys
from collections.abc import Iterable
from pathlib import Path

from openclawbench.flow import FLOW
from openclawbench.runtime.stage import Stage

README = Path(__file__).parents[2] / "README.md"
START, END = "<!-- flow:start -->", "<!-- flow:end -->"
COLUMNS = ("stage", "scope", "reads", "rules", "writes")


def flow_table() -> str:
    """A markdown table, one row a stage, in order; what no stage writes comes from the inputs."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(row, FLOW)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def row(stage: Stage) -> tuple[str, ...]:
    """What a stage's signature says."""
    rules = [kind.FILE for kind in stage.rules.values()] + (["the judge"] if stage.judge else [])
    reads, writes = ([record.__name__ for record in records] for records in (stage.reads.values(), stage.writes))
    return f"`{stage.name}`", stage.scope, listed(reads), listed(rules), listed(writes)


def listed(names: Iterable[str]) -> str:
    """Names in one cell; a dash for none."""
    return ", ".join(names).replace("*", "\\*") or "-"


def with_flow(text: str) -> str:
    """The text with the table of stages between the markers. Raises ValueError where a marker is missing."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{README.name}: the markers {START} and {END} are not both there")
    return f"{before}{START}\n{flow_table()}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Write the table into the README, or with --check say whether it is stale (exit 1)."""
    text = README.read_text(encoding="utf-8")
    fresh = with_flow(text)
    if "--check" in arguments:
        print("README.md is up to date" if fresh == text else "README.md is stale: run `python -m openclawbench.docs`")
        return int(fresh != text)
    README.write_text(fresh, encoding="utf-8")
    print(f"the table of {len(FLOW)} stages is written to {README.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
