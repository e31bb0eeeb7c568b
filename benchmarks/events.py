"""How often the event descriptors are what a careful reader says: `python -m benchmarks.events`.

Runs normalize, describe and align over the labelled cases of tests/golden/events and compares field by field. Prints
the tables and the misses of the part that rules may be improved on; of the part set aside only the tables. `--write`
puts the tables into docs/why/evidence.md, `--check` says whether they are stale there (exit 1), `--misses` prints the
misses alone, one JSON object a line.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from benchmarks import ROOT
from benchmarks.labelled import ANY, Case, read_cases, session
from openclawbench.construct.align import align
from openclawbench.construct.describe.describe import describe
from openclawbench.construct.normalize.normalize import normalize
from openclawbench.records.evidence import AlignedDescriptor, Descriptor
from openclawbench.records.session import FileOutcome, RunManifestRow, SourceFile, Step
from openclawbench.records.vocabulary import AutoFlag, EventType
from openclawbench.rules.construct.align import AlignRules
from openclawbench.rules.construct.describe import DescribeRules
from openclawbench.rules.construct.flags import FlagRules
from openclawbench.rules.construct.language import LanguageRules
from openclawbench.rules.construct.shell import ShellRules
from openclawbench.rules.intake.normalize import NormalizeRules
from openclawbench.sources.identification import identify
from openclawbench.tables.schema import conform, from_records

FOLDER = ROOT / "tests" / "golden" / "events"
DOCUMENT = ROOT / "docs" / "why" / "evidence.md"
START, END = "<!-- events:start -->", "<!-- events:end -->"
PARTS = {"tune": "part for tuning", "held_out": "part set aside"}
FIELDS = ("event_type", "side_effect", "tool_status", "artifact_target", "state_write_target", "auto_flags")
Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """A field that is not as labelled."""

    field: str
    expected: Any
    actual: Any


@dataclass(frozen=True)
class Outcome:
    """A case beside what the stages say of it."""

    case: Case
    row: Row
    differences: list[Difference] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """All compared fields are as labelled."""
        return not self.differences

    def right_in(self, name: str) -> bool:
        """One field is as labelled."""
        return all(difference.field != name for difference in self.differences)


def measure(cases: list[Case]) -> list[Outcome]:
    """Each case with its differences, in order."""
    described = descriptors(cases)
    return [Outcome(case, described[case.id], list(differences(case, described[case.id]))) for case in cases]


def source_file(case: Case) -> Row:
    """The case's session as a row of SourceFile."""
    content = session(case)
    form = identify(content)
    assert form.source is not None
    place = {"source_model": "m", "path": f"m/{case.id}.jsonl", "base_line": 1, "base_offset": 0}
    known = {"adapter": form.source.name, "identity": form.identity, "content": [content]}
    return dict.fromkeys(SourceFile.model_fields) | place | known


def descriptors(cases: list[Case]) -> dict[str, Row]:
    """Case id -> aligned descriptor of its last step, by the real stages; each case is a session of its own."""
    rows = [source_file(case) for case in cases]
    manifest = from_records([], RunManifestRow).lazy()
    tables = normalize(from_records(rows, SourceFile).lazy(), manifest, NormalizeRules.load())
    written = dict(zip(normalize.writes, tables, strict=True))
    steps = written[Step]
    described = conform(
        describe(steps, DescribeRules.load(), ShellRules.load(), FlagRules.load(), LanguageRules.load()).collect(),
        Descriptor,
    )
    aligned = conform(align(described.lazy(), steps, AlignRules.load()).collect(), AlignedDescriptor)
    last: dict[str, Row] = {}
    for row in aligned.sort("trajectory_id", "step_id").iter_rows(named=True):
        last[row["trajectory_id"]] = row
    counted = Counter(aligned["trajectory_id"].to_list())
    by_path = {row["path"]: row["trajectory_id"] for row in written[FileOutcome].collect().to_dicts()}
    result: dict[str, Row] = {}
    for case in cases:
        name = by_path[f"m/{case.id}.jsonl"]
        if counted[name] != len(case.before) + 1:
            raise ValueError(f"{case.id}: {counted[name]} steps, the case has {len(case.before) + 1}")
        result[case.id] = last[name]
    return result


def differences(case: Case, row: Row) -> Iterator[Difference]:
    """Fields in which the descriptor is not as labelled."""
    expected = case.expected
    types = [expected.event_type, *expected.also]
    if row["event_type"] not in types:
        yield Difference("event_type", types, row["event_type"])
    for name in FIELDS[1:-1]:
        if compared(case, name) and not agrees(getattr(expected, name), row[name]):
            yield Difference(name, getattr(expected, name), row[name])
    flags = set(row["auto_flags"])
    must, may = set(expected.auto_flags), set(expected.flags_optional)
    if not must <= flags <= must | may:
        yield Difference("auto_flags", sorted(must), sorted(flags - may | flags & must))


def compared(case: Case, name: str) -> bool:
    """Whether the label says anything about a field."""
    return name in case.expected.model_fields_set or name in ("event_type", "auto_flags")


def agrees(expected: Any, actual: Any) -> bool:
    """Whether a value is one of those that are right; of two paths one may be the tail of the other."""
    if isinstance(expected, list):
        return any(agrees(value, actual) for value in expected)
    if expected == ANY:
        return actual is not None
    if isinstance(expected, str) and isinstance(actual, str):
        wanted_path, actual_path = tidy(expected), tidy(actual)
        return (
            wanted_path == actual_path
            or wanted_path.endswith(f"/{actual_path}")
            or actual_path.endswith(f"/{wanted_path}")
        )
    return bool(expected == actual)


def tidy(path: str) -> str:
    """A path without what says nothing."""
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def share(right: int, total: int) -> str:
    """`right/total (percent)`."""
    return f"{right}/{total} ({100 * right / total:.1f} %)" if total else "-"


def category_table(parts: dict[str, list[Outcome]]) -> list[tuple[str, ...]]:
    """Per labelled category and part: event type right, every compared field right."""
    rows: list[tuple[str, ...]] = []
    for name in (*get_args(EventType), "all"):
        cells = [name]
        for outcomes in parts.values():
            chosen = [outcome for outcome in outcomes if name in (outcome.case.expected.event_type, "all")]
            cells.append(share(sum(case.right_in("event_type") for case in chosen), len(chosen)))
            cells.append(share(sum(case.right for case in chosen), len(chosen)))
        rows.append(tuple(cells))
    return rows


def field_table(parts: dict[str, list[Outcome]]) -> list[tuple[str, ...]]:
    """Per field and part: right among the cases whose label says something about it."""
    rows: list[tuple[str, ...]] = []
    for name in FIELDS:
        cells = [name]
        for outcomes in parts.values():
            chosen = [outcome for outcome in outcomes if compared(outcome.case, name)]
            cells.append(share(sum(case.right_in(name) for case in chosen), len(chosen)))
        rows.append(tuple(cells))
    return rows


def flag_table(parts: dict[str, list[Outcome]]) -> list[tuple[str, ...]]:
    """Per flag and part: found of those that must be there, and false alarms."""
    rows: list[tuple[str, ...]] = []
    for flag in get_args(AutoFlag):
        cells = [flag]
        for outcomes in parts.values():
            must = [outcome for outcome in outcomes if flag in outcome.case.expected.auto_flags]
            allowed = [outcome for outcome in outcomes if flag in outcome.case.expected.flags_optional]
            fired = sum(flag in outcome.row["auto_flags"] for outcome in outcomes)
            hits = sum(flag in case.row["auto_flags"] for case in must)
            cells.append(share(hits, len(must)))
            cells.append(str(fired - hits - sum(flag in case.row["auto_flags"] for case in allowed)))
        rows.append(tuple(cells))
    return rows


def tables(parts: dict[str, list[Outcome]]) -> str:
    """The three tables in markdown."""
    names = [PARTS[part] for part in parts]
    twice = [f"{what}, {name}" for name in names for what in ("event type", "all fields")]
    flags = [f"{what}, {name}" for name in names for what in ("found", "false alarms")]
    return "\n\n".join(
        markdown([header, *rows])
        for header, rows in (
            (("category", *twice), category_table(parts)),
            (("field", *names), field_table(parts)),
            (("flag", *flags), flag_table(parts)),
        )
    )


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Rows as a table, the first one its head."""
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join([lines[0], "| " + " | ".join("---" for _ in rows[0]) + " |", *lines[1:]])


def with_tables(text: str, fresh: str) -> str:
    """The document with the tables between its markers. Raises ValueError where a marker is missing."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"{DOCUMENT.name}: the markers {START} and {END} are not both there")
    return f"{before}{START}\n{fresh}\n{END}{after}"


def measure_parts(folder: Path = FOLDER) -> dict[str, list[Outcome]]:
    """Both parts of the labelled set, measured."""
    return {part: measure(read_cases(folder / f"{part}.jsonl")) for part in PARTS}


def misses(outcomes: list[Outcome]) -> list[Row]:
    """The cases that differ, with what differs."""
    return [
        {"id": outcome.case.id, "why": outcome.case.why}
        | {
            difference.field: {"expected": difference.expected, "got": difference.actual}
            for difference in outcome.differences
        }
        for outcome in outcomes
        if not outcome.right
    ]


def main(arguments: list[str]) -> int:
    """Measure and print, or write the tables into the document, or compare them with it."""
    parts = measure_parts()
    fresh = tables(parts)
    if "--write" in arguments or "--check" in arguments:
        text = DOCUMENT.read_text(encoding="utf-8")
        expected = with_tables(text, fresh)
        if "--check" in arguments:
            stale = expected != text
            print(f"{DOCUMENT.name} is " + ("stale: run `python -m benchmarks.events --write`" if stale else "fresh"))
            return int(stale)
        DOCUMENT.write_text(expected, encoding="utf-8")
        print(f"the tables are written to {DOCUMENT.name}")
        return 0
    if "--misses" not in arguments:
        print(fresh)
    for difference in misses(parts["tune"]):
        print(json.dumps(difference, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
