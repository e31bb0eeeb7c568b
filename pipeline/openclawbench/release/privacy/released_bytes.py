"""Released bytes besides the lines of records: names of files, settings with their comments, documents, label files,
the metadata of Parquet files and pictures. They are searched for keys as they stand, because nothing redacts them."""

import base64
import struct
import zlib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from openclawbench.errors import ReleaseBlocked
from openclawbench.release.files.jsonl_files import CODECS, open_file, plain_name, table_of
from openclawbench.release.files.names import LINE_FILES, RAW_FILES, ROOT
from openclawbench.release.privacy.finder import PrivacyFinder
from openclawbench.release.privacy.scan import excerpt

TABLES = (*LINE_FILES, *RAW_FILES)  # of records, whose lines are searched as records
KEYS = {"key", "suspected_key"}  # addresses in them are the publisher's
AT_ONCE = 8_000_000  # bytes of a file that are searched together
MOST_BYTES = 1_000_000_000  # of a file; a larger one that is no table of records is not read to its end
SIGNATURE = b"\x89PNG\r\n\x1a\n"
ARROW_SCHEMA = b"ARROW:schema"
PIXELS = {b"IDAT", b"PLTE", b"fdAT"}
OF_NO_RECORD = (".toml", ".parquet", ".png")  # files of which nothing that is searched here repeats a record
NAMED = 5  # finds that the sentence names


class ByteFind(NamedTuple):
    """A find in a file of a release."""

    file: str  # from the release folder, finds in it masked
    place: str  # "line 7", "metadata", "name"
    line: int | None
    kind: str
    excerpt: str  # masked


def refuse_keys(root: Path, privacy_finder: PrivacyFinder) -> None:
    """Raise ReleaseBlocked if a file holds a key that nothing redacts."""
    finds = [*finds_in_files(root, privacy_finder)]
    if finds:
        named = "; ".join(f'{find.file}, {find.place}: {find.kind} "{find.excerpt}"' for find in finds[:NAMED])
        more = f"; and {len(finds) - NAMED} more" if len(finds) > NAMED else ""
        raise ReleaseBlocked(
            f"nothing is released: files besides the records hold keys ({named}{more}). Remove them from your own rule "
            "files and prompts; what is in a name, from the name."
        )


def finds_in_files(root: Path, privacy_finder: PrivacyFinder, known: Container[str] = ()) -> Iterator[ByteFind]:
    """Keys in every file of a release but in the lines of records, in the order of files. `known`: paths of files whose
    bytes are those that searched records give, so that they hold nothing more. Rules that let keys of records out let
    them out wherever a record is repeated; in names, settings, prompts and metadata no key is let out."""
    blocked = privacy_finder.rules.blocked_in_names() & KEYS
    groups = blocked or {"key"}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        if name in known:
            continue
        masked = masked_name(name, groups, privacy_finder)
        if masked != name:
            yield ByteFind(masked, "name", None, "name", masked)
        if not blocked and not (path.suffix in OF_NO_RECORD or name.startswith("prompts/")):
            continue
        for start, place, text in texts_in(path, name, privacy_finder, are_values_searched=bool(blocked)):
            hits = [hit for hit in privacy_finder.hits(text) if hit.group in groups]
            for number, hit in enumerate(hits):
                line = None if place else start + text.count("\n", 0, hit.start)
                yield ByteFind(masked, place or f"line {line}", line, hit.kind, excerpt(text, hits, number))


def masked_name(name: str, groups: set[str], privacy_finder: PrivacyFinder) -> str:
    """The path with the keys in it masked."""
    parts, at = [], 0
    for hit in privacy_finder.hits(name.replace("/", " ")):
        if hit.group in groups:
            parts += [name[at : hit.start + hit.shown], f"…({hit.end - hit.start} characters)"]
            at = hit.end
    return "".join([*parts, name[at:]])


def texts_in(
    path: Path, name: str, privacy_finder: PrivacyFinder, are_values_searched: bool
) -> Iterator[tuple[int, str, str]]:
    """(number of the first line, place or blank, text) of everything to search in a file. `are_values_searched`: also
    the least and largest values of the columns of a table, which repeat records."""
    if path.suffix == ".parquet":
        yield 1, "metadata", parquet_metadata(path, are_values_searched)
    elif path.suffix == ".png":
        yield 1, "metadata", png_metadata(path.read_bytes())
    elif is_table_of_records(name):
        return
    elif not plain_name(name).endswith(".jsonl"):
        yield from text_pieces(path)
    else:
        for start, _, text in text_pieces(path):
            lines = pl.Series(text.split("\n"))
            looks = privacy_finder.worth_a_look(lines).select(pl.any_horizontal(pl.all())).to_series()
            yield from ((start + number, "", lines[number]) for number in looks.arg_true())


def is_table_of_records(name: str) -> bool:
    """True for the lines of records: the tables of the models, which are searched record by record."""
    folder, _, file = name.rpartition("/")
    return folder.startswith(f"{ROOT}/") and table_of(plain_name(file)) in TABLES


def text_pieces(path: Path) -> Iterator[tuple[int, str, str]]:
    """The text of a file, whole lines together; a file that cannot be read is not searched, which its own check
    reports."""
    start, read = 1, 0
    try:
        with open_file(path) if path.suffix in CODECS else path.open("rb") as file:
            while read < MOST_BYTES and (content := file.read(AT_ONCE)):
                content += file.readline(AT_ONCE)
                text = content.decode("utf-8", "replace")
                yield start, "", text
                start += text.count("\n")
                read += len(content)
    except OSError:
        return


def parquet_metadata(path: Path, are_values_searched: bool = True) -> str:
    """The footer of a Parquet file as text, with the least and largest values of columns, and the metadata of its
    schema, a value a line; without these values, the names of columns and of the program in place of the footer.
    Blank if it cannot be read. The schema that stands in the footer in base64 is undone: names of columns make
    anything there, also what looks like a key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            file.seek(-8, 2)
            (length,) = struct.unpack("<I", file.read(4))
            file.seek(-8 - length, 2)
            footer = file.read(length)
        kinds, metadata = pq.read_schema(path), pq.read_metadata(path)
        encoded = (metadata.metadata or {}).get(ARROW_SCHEMA, b"")
        if not are_values_searched:
            footer = "\n".join([*kinds.names, metadata.created_by or ""]).encode()
        elif encoded:
            footer = footer.replace(encoded, base64.b64decode(encoded))
    except (OSError, struct.error, ValueError, pa.ArrowException):
        return ""
    fields = (kind.metadata or {} for kind in kinds)
    pairs = [pair for entries in (kinds.metadata or {}, *fields) for pair in entries.items()]
    return "\n".join(
        [footer.decode("latin-1"), *(f"{key.decode('latin-1')}={value.decode('latin-1')}" for key, value in pairs)]
    )


def png_metadata(content: bytes) -> str:
    """The chunks of a picture that are no pixels as text, a chunk a line, with what follows the picture."""
    texts, at = [], len(SIGNATURE)
    while content.startswith(SIGNATURE) and at + 8 <= len(content):
        length, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + length]
        at += 12 + length
        if kind in (b"zTXt", b"iTXt", b"iCCP"):
            texts.append(inflated(body))
        if kind not in PIXELS:
            texts.append(body.decode("utf-8", "replace"))
        if kind == b"IEND":
            break
    return "\n".join([*texts, content[at:].decode("utf-8", "replace")])


def inflated(body: bytes) -> str:
    """The compressed text of a chunk; blank if there is none."""
    for at in range(len(body) - 2):
        if body[at : at + 1] == b"\x78":
            try:
                return zlib.decompressobj().decompress(body[at:], 1 << 20).decode("utf-8", "replace")
            except zlib.error:
                continue
    return ""
