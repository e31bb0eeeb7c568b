"""Each released file is compared with the file written again: equal bytes, or each difference in a sentence."""

import filecmp
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from openclawbench.records.datapackage import INPUTS_FILE
from openclawbench.release.files.jsonl_files import LISTING, open_file, plain_name, table_of
from openclawbench.release.files.names import BOTH_FILE, MASTER_FILE, REFERENCE_FILE, ROOT
from openclawbench.release.human_audited import HUMAN_FILE
from openclawbench.release.record_index import INDEX_FILE
from openclawbench.release.statistics.files import DATA, FOLDER, TEXT
from openclawbench.release.validate.compare import leaves, shorten_value, too_large
from openclawbench.release.validate.findings import KEPT, Findings
from openclawbench.release.validate.lines import read_value
from openclawbench.reports import plots

# Pattern of a file's path -> the check that names its differences. The first that fits counts.
CHECKS = {
    f"{FOLDER}/*": "pictures",
    "*.parquet": "parquet",
    f"{ROOT}/*/{LISTING}": "listing",
    f"{ROOT}/*/{MASTER_FILE}": "tables",
    f"{ROOT}/*/positives_*": "positives",
    f"{ROOT}/*/stage_*": "raw_answers",
    f"{ROOT}/*.jsonl": "tiers",
    "*dataset_summary*.json": "numbers",
    DATA: "statistics",
    TEXT: "statistics",
    INDEX_FILE: "record_index",
    INPUTS_FILE: "inputs",
    HUMAN_FILE: "human",
    REFERENCE_FILE: "second_pass",
    BOTH_FILE: "second_pass",
    "splits.json": "splits",
    "*.json": "rules",
    "*.md": "card",
    "*": "splits",
}
STAMP = re.compile(rb"statistics\.json \S+ sha256:[0-9a-f]{64}")  # in a picture: the numbers that it shows
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"
ROWS_AT_ONCE = 4096  # of a Parquet file
PLACES_NAMED = 20  # of a file
Words = Callable[[str], Mapping[Any, str]]  # a label file -> key -> where that record belongs, in words


def check_of(name: str) -> str:
    """The check that names the differences of a file."""
    folder, _, file = plain_name(name).rpartition("/")
    table = f"{folder}/{table_of(file)}" if folder else file
    return next(check for pattern, check in CHECKS.items() if fnmatchcase(table, pattern))


def compare_files(root: Path, again: Path, names: Iterable[str], words: Words, findings: Findings) -> set[str]:
    """A finding for each difference between the files of these names in both folders; both have them. Returns the files
    whose bytes are the same."""
    same = set()
    for name in sorted(names):
        check, released, expected = check_of(name), root / name, again / name
        findings.checked["files_written_again"] += 1
        findings.checked["pictures"] += check == "pictures"
        if filecmp.cmp(released, expected, shallow=False):
            same.add(name)
            continue
        try:
            messages = [*differences(name, check, released, expected, words, findings)]
        except (OSError, ValueError, RecursionError, pa.ArrowException, pl.exceptions.PolarsError) as error:
            messages = [(None, f"cannot be read: {str(error).partition(chr(10))[0] or type(error).__name__}")]
        for number, message in messages:
            findings.add(check, name, message, number)
    return same


def differences(
    name: str, check: str, released: Path, expected: Path, words: Words, findings: Findings
) -> Iterator[tuple[int | None, str]]:
    """(line or None, sentence) of each difference of a file whose bytes differ."""
    plain = plain_name(name)
    if plain.endswith(".jsonl"):
        yield from row_differences(name, released, expected, words, findings)
    elif name.endswith(".parquet"):
        yield from parquet_differences(released, expected)
    elif check == "pictures":
        yield from picture_differences(name, released.read_bytes(), expected.read_bytes(), findings)
    elif name.endswith(".json"):
        yield from json_differences(released.read_bytes(), expected.read_bytes())
    else:
        yield from text_differences(released.read_bytes(), expected.read_bytes())


def text_differences(released: bytes, expected: bytes) -> Iterator[tuple[int, str]]:
    """Lines that differ, or the line that ends otherwise."""
    named = 0
    texts = (content.decode("utf-8", "replace").split("\n") for content in (released, expected))
    for number, (line, expected_line) in enumerate(zip_longest(*texts), start=1):
        if line != expected_line and named < PLACES_NAMED:
            named += 1
            yield number, f"is {shorten_value(line)}; the files give {shorten_value(expected_line)}"


def json_differences(released: bytes, expected: bytes) -> Iterator[tuple[int | None, str]]:
    """Values that differ, also in their type, and names that are there twice; else the first line of another form."""
    twice: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        return dict(pairs)

    published_value, expected_value = json.loads(released, object_pairs_hook=read), json.loads(expected)
    if (large := too_large(published_value)) is not None:
        yield None, f"{large} is a number that does not fit in 64 bits"
        return
    for name in dict.fromkeys(twice):
        yield None, f"has the name {shorten_value(name)} twice in one object: readers take another value each"
    published_leaves, expected_leaves = dict(leaves(published_value)), dict(leaves(expected_value))
    named = 0
    for place in sorted(published_leaves.keys() | expected_leaves.keys()):
        values = published_leaves.get(place), expected_leaves.get(place)
        if differ(*values) and (named := named + 1) <= PLACES_NAMED:
            yield None, f"{place} is {shorten_value(values[0])}, the files give {shorten_value(values[1])}"
    if not named and not twice:
        number, message = next(text_differences(released, expected))
        yield number, f"{message}: it is not in the form in which a release writes it"


def differ(value: Any, expected: Any) -> bool:
    """True for values that are not the same, or not of one type: 1 is not true, and 1.0 is not 1."""
    return type(value) is not type(expected) or value != expected


def row_differences(
    name: str, released: Path, expected: Path, words: Words, findings: Findings
) -> Iterator[tuple[int | None, str]]:
    """Rows that are missing, here though they belong elsewhere, here twice, or different in a field."""
    digests = {key: digest_of(line) for _, key, line in rows_in(expected)}
    seen: set[Any] = set()
    suspects: dict[Any, tuple[int, dict[str, Any]]] = {}
    where: Mapping[Any, str] = {}
    named = 0
    for number, key, line in rows_in(released, name, findings):
        message = ""
        if key is None:
            named += 1
            continue
        if key in seen:
            message = f"{words_of(key)} is here a second time"
        elif key not in digests:
            where = where or words(name)
            message = f"{words_of(key)} is here{belongs(where, key)}"
        elif digests[key] != digest_of(line) and len(suspects) < PLACES_NAMED:
            suspects[key] = number, json.loads(line)
        seen.add(key)
        if message and (named := named + 1) <= KEPT:
            yield number, message
    for key in digests.keys() - seen:
        where = where or words(name)
        if (named := named + 1) <= KEPT:
            yield None, f"{words_of(key)} is missing here{belongs(where, key)}"
    for _, key, line in rows_in(expected) if suspects else ():
        if key in suspects:
            number, row = suspects[key]
            named += 1
            fields = [f"{field} {value}" for field, value in field_differences(row, json.loads(line))]
            for field in fields or ["is not in the form in which a release writes it"]:
                yield number, f"{words_of(key)}: {field}"
    if not named and content_of(released) != content_of(expected):
        yield None, "its lines are not in the order or the form in which a release writes them"
    elif not named and released.suffix == ".gz":
        yield from compressed_differences(released, expected)


def compressed_differences(released: Path, expected: Path) -> Iterator[tuple[None, str]]:
    """What a compressed file with the right lines has beside them; libraries of other versions compress otherwise."""
    with released.open("rb") as own, expected.open("rb") as other:
        if own.read(10) != other.read(10):
            yield None, "its head holds more than that of a released file: a name, a time or a comment"


def field_differences(row: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, "is A; the release gives B") of each value of a row that differs."""
    own, wanted = dict(leaves(dict(row))), dict(leaves(dict(expected)))
    for place in sorted(own.keys() | wanted.keys()):
        if differ(own.get(place), wanted.get(place)):
            values = shorten_value(own.get(place)), shorten_value(wanted.get(place))
            yield place.lstrip("/"), f"is {values[0]}; the records give {values[1]}"


def belongs(where: Mapping[Any, str], key: Any) -> str:
    """Where a record belongs, in words, where that is known."""
    return f"; by stage split it is {where.get(key, 'in no cut: the record does not exist')}" if where else ""


def words_of(key: Any) -> str:
    """A key as text."""
    return "/".join(str(part) for part in key if part is not None)


def rows_in(path: Path, name: str = "", findings: Findings | None = None) -> Iterator[tuple[int, Any, bytes]]:
    """(number, key, line) of each line of a JSONL file; the key of one that is no object is None, with a finding."""
    of_lines = Findings() if findings is None else findings
    with open_file(path) as file:
        for number, line in enumerate(file, start=1):
            value = read_value(name, number, line.removesuffix(b"\n"), of_lines)
            if value is not None and not isinstance(value, dict):
                of_lines.add("schema", name, "is not a JSON object", number)
            yield number, key_in(value) if isinstance(value, dict) else None, line


def key_in(row: Mapping[str, Any]) -> Any:
    """What names a row of its file."""
    if "disposition" in row:
        return tuple(row.get(name) for name in ("path", "member", "trajectory_id", "sha256"))
    if "request_sha256" in row:
        return tuple(row.get(name) for name in ("source_model", "trajectory_id", "purpose"))
    return tuple(row.get(name) for name in ("source_model", "trajectory_id"))


def digest_of(line: bytes) -> bytes:
    """sha256 of a line."""
    return hashlib.sha256(line).digest()


def content_of(path: Path) -> bytes:
    """sha256 of the lines of a file, decompressed."""
    sha256 = hashlib.sha256()
    with open_file(path) as file:
        while content := file.read(1 << 20):
            sha256.update(content)
    return sha256.digest()


def parquet_differences(released: Path, expected: Path) -> Iterator[tuple[int | None, str]]:
    """Columns, types, metadata, or the first row that differ. Row groups and compression may be those of another
    version of the library."""
    own, wanted = pq.ParquetFile(released), pq.ParquetFile(expected)
    kinds, wanted_kinds = (pl.scan_parquet(path, glob=False).collect_schema() for path in (released, expected))
    if [*kinds.items()] != [*wanted_kinds.items()]:
        names = [name for name in (*wanted_kinds, *kinds) if kinds.get(name) != wanted_kinds.get(name)]
        yield (
            None,
            f"has other columns or types than its record{': ' if names else ''}{', '.join(dict.fromkeys(names))}",
        )
        return
    if metadata_of(own) != metadata_of(wanted):
        more = sorted(metadata_of(own).items() ^ metadata_of(wanted).items())
        yield None, f"has metadata that a release does not write: {shorten_value(more[0])}"
    if own.metadata.num_rows != wanted.metadata.num_rows:
        yield None, f"has {own.metadata.num_rows} rows that are not the {wanted.metadata.num_rows} of the JSONL file"
        return
    start = 1
    for released_rows, expected_rows in zip(tables_of(own), tables_of(wanted), strict=True):
        rows = released_rows.cast(expected_rows.schema)  # texts with longer offsets are the same texts
        if not rows.equals(expected_rows):
            for number, (row, expected_row) in enumerate(zip(rows.to_pylist(), expected_rows.to_pylist(), strict=True)):
                named = [*field_differences(row, expected_row)]
                if named:
                    yield start + number, f"{words_of(key_in(row))}: {named[0][0]} {named[0][1]}"
                    return
        start += rows.num_rows


def metadata_of(file: pq.ParquetFile) -> dict[str, str]:
    """The metadata of a Parquet file and of its columns, by name."""
    pairs = {("", name): value for name, value in (file.schema_arrow.metadata or {}).items()}
    pairs |= {("", name): value for name, value in (file.metadata.metadata or {}).items() if name != b"ARROW:schema"}
    for field in file.schema_arrow:
        pairs |= {(field.name, name): value for name, value in (field.metadata or {}).items()}
    return {f"{column} {name!r}".strip(): repr(value) for (column, name), value in pairs.items()}


def tables_of(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """The rows of a Parquet file in tables of the same size, whatever its row groups."""
    waiting: list[pa.Table] = []
    for batch in file.iter_batches(ROWS_AT_ONCE):
        waiting.append(pa.Table.from_batches([batch]))
        table = pa.concat_tables(waiting)
        while table.num_rows >= ROWS_AT_ONCE:
            yield table.slice(0, ROWS_AT_ONCE).combine_chunks()
            table = table.slice(ROWS_AT_ONCE)
        waiting = [table]
    if waiting and waiting[0].num_rows:
        yield waiting[0].combine_chunks()


def picture_differences(
    name: str, released: bytes, expected: bytes, findings: Findings
) -> Iterator[tuple[int | None, str]]:
    """A picture names the numbers that it shows; drawn by the same version of the same library, it is the same."""
    stamp = STAMP.search(expected)
    if stamp is None or stamp[0] not in released:
        yield None, "was not drawn from the numbers that the files give"
    elif plots.drawn_by().encode() not in released:
        findings.checked["pictures_of_another_version"] += 1  # pixels cannot be compared; what it names was
    elif not name.endswith(".png") or pixels(released) != pixels(expected):
        yield None, "differs from what is drawn from the same numbers"
    elif png_texts(released) != png_texts(expected) or not released.endswith(PNG_END):
        yield None, "holds more than the picture that is drawn from the same numbers"


def png_texts(content: bytes) -> dict[str, str | bytes]:
    """The texts and blocks of bytes that a PNG holds beside its pixels; its resolution is no place for any."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as picture:
        return {str(name): value for name, value in picture.info.items() if isinstance(value, str | bytes)}


def pixels(content: bytes) -> tuple[Any, ...] | None:
    """Size and colours of a PNG, however it is compressed; None if the bytes are not a PNG."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return picture.size, picture.convert("RGBA").tobytes()
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError):
        return None
