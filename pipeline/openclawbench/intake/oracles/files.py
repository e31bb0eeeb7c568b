"""The files of an oracle folder: what each holds, known by its first line, and their decompressed bytes."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from openclawbench.base.session_names import unpacked
from openclawbench.errors import UnreadableInput
from openclawbench.intake.raw_entry import escape_name
from openclawbench.intake.raw_folder import files_below, reason_of, why_unreadable
from openclawbench.intake.scan import RUN_MANIFEST
from openclawbench.rules.intake.oracle import OracleRules
from openclawbench.sources.io.file_encodings import MAGIC_BYTES, decompressed, is_compressed
from openclawbench.sources.io.jsonl import BOM

RESULT, SCORE = "result", "score"
SUFFIXES = (".jsonl", ".json")
NO_ORACLE = "neither an oracle JSONL nor a result or score file, packed (.gz, .zst) or not"
NEVER_SCORED = "results of a category that the evaluator never scores"
NUMBERED = (
    "results or scores of BFCL's first releases (2024), whose entries have numbers and not the ids of tasks, so that "
    "they cannot be joined; score the answers with an evaluator of BFCL v3 or later"
)
FIRST_LINE = 64 << 20  # bytes: a result with its inference log is one line


@dataclass(frozen=True)
class BfclFile:
    """A result or score file and its place in a tree."""

    path: Path
    name: str  # relative to the folder that was named
    role: str  # result | score
    tree: Path  # the folder above result/ and score/
    model: str  # name of the model's folder
    category: str  # canonical


@dataclass(frozen=True)
class Unused:
    """A file of the oracle folder that gives no outcome, with the reason."""

    name: str  # relative to the folder that was named
    why: str
    expected: bool = False  # a rule says that such files are in every tree


@dataclass
class OracleFiles:
    """The files below the oracle path, by kind."""

    root: Path  # the folder that names are relative to
    jsonl: list[Path] = field(default_factory=list)
    bfcl: list[BfclFile] = field(default_factory=list)
    manifests: list[Path] = field(default_factory=list)
    others: list[Unused] = field(default_factory=list)  # no outcomes: tables, notes, pictures

    def name(self, path: Path) -> str:
        """A file's or folder's name relative to the root, with forward slashes."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def unused(self, path: Path, why: str, expected: bool = False) -> None:
        """Record a file that gives no outcome."""
        self.others.append(Unused(escape_name(self.name(path)), why, expected))

    def counts(self) -> dict[str, int]:
        """How many files of each kind."""
        roles = [file.role for file in self.bfcl]
        return {
            "oracle_jsonl": len(self.jsonl),
            "bfcl_result": roles.count(RESULT),
            "bfcl_score": roles.count(SCORE),
            "run_manifest": len(self.manifests),
            "no_oracle": len(self.others),
        }


def oracle_files(path: Path, rules: OracleRules) -> OracleFiles:
    """Sort every file at or below a path. UnreadableInput if the path does not exist, or something below it may not
    be read."""
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError as error:
        raise UnreadableInput(f"{path}: there is no such oracle file or folder. Name an existing one.") from error
    if not path.is_dir():
        files = OracleFiles(path.parent)
        sort_file(files, path, rules, alone=True)
        return files
    files = OracleFiles(path)
    for file, why in list_files(path):
        if why is None:
            sort_file(files, file, rules, alone=False)
        else:
            files.unused(file, why)
    return files


def sort_file(files: OracleFiles, path: Path, rules: OracleRules, alone: bool) -> None:
    """Put one file where it belongs. A JSONL file of no known shape is read as an oracle JSONL, so that its faults
    are named."""
    name = Path(unpacked(path.name))
    if name.name == RUN_MANIFEST:
        files.manifests.append(path)
        return
    if name.suffix not in SUFFIXES and not alone:
        files.unused(path, NO_ORACLE, expected=rules.is_beside(files.name(path)))
        return
    first, second = first_values(path)
    if has_numbers(first) or has_numbers(second):
        files.unused(path, NUMBERED)
        return
    named = rules.file_parts(name.name)
    role = role_of(first) or (named[1] if named and first is None else None)
    if role is not None:
        category = category_of(name, named, (first, second), rules)
        if rules.is_never_scored(category):
            files.unused(path, NEVER_SCORED, expected=True)
        else:
            files.bfcl.append(place(files, path, role, category, rules))
    elif name.suffix == ".jsonl" or alone:
        files.jsonl.append(path)
    else:
        files.unused(path, NO_ORACLE, expected=rules.is_beside(files.name(path)))


def first_values(path: Path) -> tuple[Any, Any]:
    """The first two lines that are not blank, as JSON; null for a line that is not valid JSON."""
    with open_decompressed(path) as file:
        first_lines = (line for line in iter(lambda: file.readline(FIRST_LINE), b"") if line.strip())
        return value_of(next(first_lines, b"")), value_of(next(first_lines, b""))


def value_of(line: bytes) -> Any:
    """A line as JSON; None if it is not valid JSON."""
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None


def has_numbers(entry: Any) -> bool:
    """True for a result or a failing entry that has a number in place of the id of its task."""
    if not isinstance(entry, dict) or "source_model" in entry:
        return False
    number = entry.get("idx", entry.get("id"))
    is_entry = "result" in entry or ("valid" in entry and "test_category" in entry)
    return is_entry and isinstance(number, int) and not isinstance(number, bool)


def role_of(first: Any) -> str | None:
    """result | score | None, by the keys of a file's first object. A score file without its header begins with a
    failing entry."""
    if not isinstance(first, dict) or "source_model" in first:
        return None
    if "correct_count" in first and "total_count" in first and "id" not in first:
        return SCORE
    if "id" in first and "valid" in first and "test_category" in first:
        return SCORE
    return RESULT if "id" in first and "result" in first else None


def category_of(name: Path, named: tuple[str, str] | None, first: tuple[Any, Any], rules: OracleRules) -> str:
    """The category by the file's name, else by the first id in it (a score file has it in its second line)."""
    ids = (row.get("id") for row in first if isinstance(row, dict))
    by_id = next((rules.category_in(value) for value in ids if isinstance(value, str)), None)
    return named[0] if named else by_id or rules.canonical_category(name.stem)


def place(files: OracleFiles, path: Path, role: str, category: str, rules: OracleRules) -> BfclFile:
    """Where a file is in a tree: the model's folder is the first above it that is not a group."""
    model = next(folder for folder in path.absolute().parents if folder.name not in rules.groups)
    return BfclFile(path, files.name(path), role, model.parent.parent, model.name, category)


def list_files(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """(path, why it is not opened, or None) of everything below a folder that is not a folder, in the order of names.

    A pipe, a link to nothing and a link that leads back are not opened. UnreadableInput for a folder that may not be
    listed or entered: its content is unknown.
    """
    for name, stamp in sorted(files_below(str(folder), every=True), key=lambda entry: entry[0].split("/")):
        path = folder / name
        yield path, None if stamp else why_not_opened(path)


def why_not_opened(path: Path) -> str:
    """Why a path is not opened. UnreadableInput if permission is missing."""
    try:
        if path.is_dir():
            next(path.iterdir(), None)
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError:
        pass  # a link to nothing: the sentence below
    return why_unreadable(path)


def content_of(path: Path) -> bytes:
    """A file's bytes, decompressed. UnreadableInput if they cannot be read."""
    try:
        return decompressed(path.read_bytes())
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of each line that is not blank; only b"\\n" ends a line. A file that is not compressed is
    read line by line. UnreadableInput if it cannot be read."""
    try:
        with open_decompressed(path) as file:
            for number, line in enumerate(file, start=1):
                data = (line.removeprefix(BOM) if number == 1 else line).removesuffix(b"\n")
                if data and not data.isspace():
                    yield number, data
    except OSError as error:
        raise unreadable(path, error) from error


def open_decompressed(path: Path) -> BinaryIO:
    """A file to read from its beginning, decompressed. UnreadableInput if it cannot be read."""
    try:
        with path.open("rb") as file:
            compressed = is_compressed(file.read(MAGIC_BYTES))
        return io.BytesIO(content_of(path)) if compressed else path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError | ValueError) -> UnreadableInput:
    """The error for a path that cannot be read, with what to do."""
    reason = reason_of(error)
    return UnreadableInput(f"{path}: {reason}" + ("" if reason.endswith(".") else ". Make it readable and run again."))
