"""What the privacy rules find in raw files that nobody planted anything in: the number of false alarms to expect."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from openclawbench.base.terminal import safe
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.rules import PrivacyRules
from openclawbench.release.privacy.scan import excerpt, texts_of

SUFFIXES = (".json", ".jsonl")


class Alarm(NamedTuple):
    """One find, masked."""

    group: str
    kind: str
    file: str
    excerpt: str


def alarms(folder: Path, detector: PrivacyFinder) -> Iterator[Alarm]:
    """Every find in the texts of the JSON and JSONL files below a folder. Lines that are not valid JSON are searched as
    they are."""
    for path in sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES and file.is_file()):
        for text in texts(path):
            for number, hit in enumerate(hits := detector.hits(text)):
                file = path.relative_to(folder).as_posix()
                yield Alarm(hit.group, hit.kind, file, excerpt(text, hits, number))


def texts(path: Path) -> Iterator[str]:
    """Every text in a file of JSON, or in each line of a file of lines."""
    content = path.read_bytes().decode("utf-8", "replace")
    for line in content.split("\n") if path.suffix == ".jsonl" else [content]:
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            value = line
        for _, _, text in texts_of(value):
            yield text


def print_alarms(console: Console, folder: Path, shown: int) -> None:
    """A row a kind: group, kind, finds, distinct excerpts, files; then the first distinct excerpts of each."""
    all_alarms = list(alarms(folder, PrivacyFinder(PrivacyRules.load())))
    table = Table("group", "kind", "finds", "distinct", "files", title=safe(str(folder)))
    for (group, kind), finds in sorted(Counter((alarm.group, alarm.kind) for alarm in all_alarms).items()):
        own = [alarm for alarm in all_alarms if (alarm.group, alarm.kind) == (group, kind)]
        distinct = len({alarm.excerpt for alarm in own})
        table.add_row(group, kind, str(finds), str(distinct), str(len({alarm.file for alarm in own})))
    console.print(table)
    for kind in sorted({alarm.kind for alarm in all_alarms}) if shown else ():
        for text in sorted({alarm.excerpt for alarm in all_alarms if alarm.kind == kind})[:shown]:
            console.print(f"{kind}: {safe(text)}", markup=False, highlight=False)
