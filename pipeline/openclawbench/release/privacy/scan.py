"""The scan of released text: every line of the master tables and of the raw answers, each line once."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import polars as pl

from openclawbench.records.datapackage import INPUTS_FILE
from openclawbench.release.files.names import MASTER_FILE, STAGES, stage_raw_file
from openclawbench.release.privacy.finder import Hit, PrivacyFinder, RuleFinder
from openclawbench.release.record_key import Key, key_of

SCANNED = (MASTER_FILE, *(stage_raw_file(stage, number) for number in (1, 2) for stage in STAGES))
KEPT = 10_000  # finds of a group that are kept whole; the others are counted
Kind = tuple[str, str]  # group and kind of a find
Where = tuple[str, int | None, str, str, int | None, str]  # the fields of TextFind up to `place`
WITH_TEXTS = (str, dict, list)  # kinds of plain data that texts are, or are in
LINES_AT_ONCE = 512  # that are read together: fewer search the patterns too often, more need memory
BYTES_AT_ONCE = 8_000_000  # of long lines, about: texts, plain data and columns take several times as much
PLAIN_NAME = re.compile("[a-z_]{1,48}[0-9]?")  # of a field: no key has so few digits
UNKNOWN_NAME = "…"  # in a place, of a value under a name that is no field
AROUND = 24  # characters shown before and after a find
# Fields of a released line, at any depth, that join records with one another and with their inputs.
NAMES = (
    "source_model",
    "trajectory_id",
    "parent_trajectory_id",
    "continues_trajectory_id",
    "session_id",
    "subset",
    "task_id",
    "native_session_basename",
)


class TextFind(NamedTuple):
    """One find, masked."""

    file: str  # from the release folder
    line: int | None  # from 1; None before there are files
    source_model: str
    trajectory_id: str
    step_id: int | None
    place: str  # in the line: steps[3].action_text
    group: str  # of the rules: key, suspected_key, account, email, phone, user_name, redacted
    kind: str
    excerpt: str  # masked

    @property
    def in_name(self) -> bool:
        """True if it is in a name; names are never redacted."""
        return self.file == INPUTS_FILE or self.place.rpartition(".")[2] in NAMES

    def masked(self, privacy_finder: PrivacyFinder) -> "TextFind":
        """The same, with every find in the names of its record masked too."""
        model, name = (mask_name(text, privacy_finder) for text in (self.source_model, self.trajectory_id))
        return self._replace(source_model=model, trajectory_id=name)


@dataclass
class KindCounts:
    """Finds, and records that have them, by kind."""

    finds: Counter[Kind] = field(default_factory=Counter)
    records: Counter[Kind] = field(default_factory=Counter)

    def add(self, counts: Mapping[Kind, int], sign: int = 1) -> None:
        """Count the finds of one record; with sign -1 they are taken away."""
        for kind, number in counts.items():
            self.finds[kind] += sign * number
            self.records[kind] += sign

    def update(self, other: "KindCounts") -> None:
        """Add what was counted elsewhere, which may be less than nothing."""
        self.finds.update(other.finds)
        self.records.update(other.records)

    def table(self) -> list[dict[str, Any]]:
        """One row per kind: group, kind, finds, records; sorted."""
        return [
            {"group": group, "kind": kind, "finds": number, "records": self.records[group, kind]}
            for (group, kind), number in sorted(self.finds.items())
            if number
        ]


@dataclass
class TextScan:
    """Exact counts of finds by record, group and kind; excerpts are kept up to a limit."""

    records: dict[Key, Counter[Kind]] = field(default_factory=dict)  # (group, kind) -> finds
    names: dict[Key, Counter[Kind]] = field(default_factory=dict)  # of them, those in names
    kept: list[TextFind] = field(default_factory=list)
    room: Counter[str] = field(default_factory=Counter)  # group -> finds that are kept

    def add(self, find: TextFind) -> None:
        """Count a find."""
        key, kind = (find.source_model, find.trajectory_id), (find.group, find.kind)
        self.records.setdefault(key, Counter())[kind] += 1
        if find.in_name:
            self.names.setdefault(key, Counter())[kind] += 1
        if self.room[find.group] < KEPT:
            self.room[find.group] += 1
            self.kept.append(find)

    def absorb(self, other: "TextScan") -> None:
        """What was found in further files, as if it had been found here."""
        for counts_of, further in ((self.records, other.records), (self.names, other.names)):
            for key, counts in further.items():
                counts_of.setdefault(key, Counter()).update(counts)
        for find in other.kept:
            if self.room[find.group] < KEPT:
                self.room[find.group] += 1
                self.kept.append(find)

    def in_names(self, groups: set[str]) -> set[Key]:
        """Records with a find of one of these groups in a name."""
        return {key for key, counts in self.names.items() if any(group in groups for group, _ in counts)}

    def table(self) -> list[dict[str, Any]]:
        """One row per kind: group, kind, finds, records; sorted."""
        return rows_of(self.records)


def rows_of(by_key: dict[Key, Counter[Kind]]) -> list[dict[str, Any]]:
    """One row per kind: group, kind, finds, records; sorted."""
    kinds = KindCounts()
    for counts in by_key.values():
        kinds.add(counts)
    return kinds.table()


def scan_inputs(inputs: Iterable[pl.DataFrame], privacy_finder: PrivacyFinder, scan: TextScan) -> None:
    """Scan the paths of inputs. Each counts as the name of a record. `inputs`: tables with InputFile's columns."""
    place = pl.concat_str("path", pl.col("member").fill_null(""), separator="/").str.strip_chars_end("/")
    for table in inputs:
        frame = table.select("source_model", path=place)
        looks = privacy_finder.worth_a_look(frame["path"].str.replace_all("/", " "))
        for model, path in frame.filter(looks.select(pl.any_horizontal(pl.all())).to_series()).iter_rows():
            words = path.replace("/", " ")  # an address after a stroke would be the place of a file
            for find in finds_at(words, privacy_finder, None, (INPUTS_FILE, None, model, path, None, "path")):
                scan.add(find)


def finds_of(frame: pl.DataFrame, privacy_finder: PrivacyFinder) -> Iterator[TextFind]:
    """Finds in the columns line (JSON text), file, number (of the line, or null). The quick look is taken at all lines
    at once, in one piece of memory, because its patterns are compiled for each column that they are searched in."""
    looks = privacy_finder.worth_a_look(frame["line"].rechunk())
    worth = looks.select(pl.any_horizontal(pl.all())).to_series()
    lines_worth, looks_worth = frame.filter(worth), looks.filter(worth)
    bytes_of_a_line = int(lines_worth["line"].str.len_bytes().sum()) // max(1, lines_worth.height)
    at_once = max(1, min(LINES_AT_ONCE, BYTES_AT_ONCE // max(1, bytes_of_a_line)))
    for lines, looks in zip(lines_worth.iter_slices(at_once), looks_worth.iter_slices(at_once), strict=True):
        values = [parse_line(line) for line in lines["line"]]
        texts = [
            (number, place, step_id, encodable(text))
            for number, value in enumerate(values)
            for place, step_id, text in texts_of(open_answer(value))
        ]
        suspects = privacy_finder.suspects([text[0] for text in texts], [text[3] for text in texts], looks)
        for at, finders in suspects:
            number, place, step_id, text = texts[at]
            file, line = lines.item(number, "file"), lines.item(number, "number")
            yield from finds_at(text, privacy_finder, finders, (file, line, *key_of(values[number]), step_id, place))


def parse_line(line: str) -> dict[str, Any]:
    """A line as plain data; a line that is not a record is searched as text, without a key."""
    try:
        value = json.loads(line)
        key_of(value)
    except (ValueError, LookupError, TypeError, RecursionError):
        return {"source_model": "", "trajectory_id": "", "line": line}
    return value  # type: ignore[no-any-return]


def finds_in(
    value: dict[str, Any], privacy_finder: PrivacyFinder, file: str, line: int | None = None
) -> Iterator[TextFind]:
    """Finds in every text of a released line; the parsed value of an answer is searched field by field."""
    key = key_of(value)
    for place, step_id, text in texts_of(open_answer(value)):
        yield from finds_at(text, privacy_finder, None, (file, line, *key, step_id, place))


def finds_at(
    text: str, privacy_finder: PrivacyFinder, finders: list[RuleFinder] | None, where: Where
) -> Iterator[TextFind]:
    """Finds in one text. `finders`: the rules that may find something in it, None for all."""
    for number, hit in enumerate(hits := privacy_finder.hits(text, finders)):
        yield TextFind(*where, hit.group, hit.kind, excerpt(text, hits, number))


def open_answer(value: dict[str, Any]) -> dict[str, Any]:
    """A raw answer with its parsed value as plain data; any other line unchanged."""
    try:
        return value | {"parsed": json.loads(value["parsed"])}
    except (ValueError, LookupError, TypeError, RecursionError):
        return value


def texts_of(value: Any) -> list[tuple[str, int | None, str]]:
    """(place, step or None, text) of every text in a value, in order."""
    texts: list[tuple[str, int | None, str]] = []
    add_texts(value, "", None, texts)
    return texts


def add_texts(value: Any, place: str, step_id: int | None, texts: list[tuple[str, int | None, str]]) -> None:
    """Append the texts of the value at a place."""
    if isinstance(value, str):
        texts.append((place, step_id, value))
    elif isinstance(value, dict):
        step_id = value.get("step_id", step_id)
        for name, inner in value.items():
            field_name = shown_name(name)
            if field_name is UNKNOWN_NAME:  # not a field of a record: a text, shown in no place
                texts.append((place, step_id, name))
            if isinstance(inner, WITH_TEXTS):
                add_texts(inner, f"{place}.{field_name}" if place else field_name, step_id, texts)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, WITH_TEXTS):
                add_texts(item, f"{place}[{number}]", step_id, texts)


@lru_cache(maxsize=4096)
def shown_name(name: str) -> str:
    """The name of a field as it is; UNKNOWN_NAME for any other."""
    return name if PLAIN_NAME.fullmatch(name) else UNKNOWN_NAME


def encodable(text: str) -> str:
    """The text with each half of a character, which no column can hold, as a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def excerpt(text: str, hits: list[Hit], number: int) -> str:
    """A find with the text around it, every find in it masked."""
    start, end = hits[number].start - AROUND, hits[number].end + AROUND
    at, parts = max(0, start), []
    for hit in hits:
        if hit.end > start and hit.start < end:
            parts += [text[at : hit.start], mask(text, hit)]
            at = hit.end
    return " ".join("".join([*parts, text[at:end]]).split())


def mask_name(text: str, privacy_finder: PrivacyFinder) -> str:
    """A whole name, every find in it masked."""
    at, parts = 0, []
    for hit in privacy_finder.hits(text.replace("/", " ")):
        parts += [text[at : hit.start], mask(text, hit)]
        at = hit.end
    return "".join([*parts, text[at:]])


def mask(text: str, hit: Hit) -> str:
    """A masked find: the beginning that names its kind, and its length."""
    return f"{text[hit.start : hit.start + hit.shown]}…({hit.end - hit.start} characters)"
