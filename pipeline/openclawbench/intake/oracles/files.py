"""Which files below the oracle path hold outcomes, known by their first line: our JSONL, and the result and score files
of BFCL trees (result/<model>/<group>/<category>_result.json, score/…/<category>_score.json), packed or not."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from openclawbench.base.session_names import unpacked
from openclawbench.errors import UnreadableInput
from openclawbench.intake.oracles.reading import listed, opened, unreadable
from openclawbench.intake.scan import RUN_MANIFEST, escaped
from openclawbench.rules.oracle import OracleRules

RESULT, SCORE = "result", "score"
SUFFIXES = (".jsonl", ".json")
NO_ORACLE = "neither an oracle JSONL nor a result or score file, packed (.gz, .zst) or not"
NEVER_SCORED = "results of a category that the evaluator never scores"
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
    """What lies in the oracle folder and says nothing."""

    name: str  # relative to the folder that was named
    why: str
    expected: bool = False  # a rule says that such files lie in every tree


@dataclass
class OracleFiles:
    """What lies below the oracle path."""

    root: Path  # the folder that names are relative to
    jsonl: list[Path] = field(default_factory=list)
    bfcl: list[BfclFile] = field(default_factory=list)
    manifests: list[Path] = field(default_factory=list)
    others: list[Unused] = field(default_factory=list)  # no outcomes: tables, notes, pictures

    def name(self, path: Path) -> str:
        """A file's or folder's name relative to the root, with forward slashes."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def unused(self, path: Path, why: str, expected: bool = False) -> None:
        """Keep what says nothing by name."""
        self.others.append(Unused(escaped(self.name(path)), why, expected))

    def counts(self) -> dict[str, int]:
        """How many files of each kind."""
        roles = [one.role for one in self.bfcl]
        return {
            "oracle_jsonl": len(self.jsonl),
            "bfcl_result": roles.count(RESULT),
            "bfcl_score": roles.count(SCORE),
            "run_manifest": len(self.manifests),
            "no_oracle": len(self.others),
        }


def oracle_files(path: Path, rules: OracleRules) -> OracleFiles:
    """Sort every file at or below a path. UnreadableInput where the path is not there, or something below it may not
    be looked at."""
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError as error:
        raise UnreadableInput(f"{path}: there is no such oracle file or folder. Name an existing one.") from error
    if not path.is_dir():
        found = OracleFiles(path.parent)
        sort_file(found, path, rules, alone=True)
        return found
    found = OracleFiles(path)
    for one, why in listed(path):
        if why is None:
            sort_file(found, one, rules, alone=False)
        else:
            found.unused(one, why)
    return found


def sort_file(found: OracleFiles, path: Path, rules: OracleRules, alone: bool) -> None:
    """Put one file where it belongs. A JSONL file of no known shape is read as ours, so that its lines are named."""
    name = Path(unpacked(path.name))
    if name.name == RUN_MANIFEST:
        found.manifests.append(path)
        return
    if name.suffix not in SUFFIXES and not alone:
        found.unused(path, NO_ORACLE, expected=rules.is_beside(found.name(path)))
        return
    first, second = first_values(path)
    named = rules.file_parts(name.name)
    role = role_of(first) or (named[1] if named and first is None else None)
    if role is not None:
        category = category_of(name, named, (first, second), rules)
        if rules.is_never_scored(category):
            found.unused(path, NEVER_SCORED, expected=True)
        else:
            found.bfcl.append(place(found, path, role, category, rules))
    elif name.suffix == ".jsonl" or alone:
        found.jsonl.append(path)
    else:
        found.unused(path, NO_ORACLE, expected=rules.is_beside(found.name(path)))


def first_values(path: Path) -> tuple[Any, Any]:
    """The first two lines that are not blank, as JSON; null for one that is none."""
    with opened(path) as file:
        found = (line for line in iter(lambda: file.readline(FIRST_LINE), b"") if line.strip())
        return value_of(next(found, b"")), value_of(next(found, b""))


def value_of(line: bytes) -> Any:
    """A line as JSON; null where it is none."""
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return None


def role_of(first: Any) -> str | None:
    """result | score | null, by the keys of a file's first object. A score file without its header begins with a
    failing entry."""
    if not isinstance(first, dict) or "source_model" in first:
        return None
    if "correct_count" in first and "total_count" in first and "id" not in first:
        return SCORE
    if "id" in first and "valid" in first and "test_category" in first:
        return SCORE
    return RESULT if "id" in first and "result" in first else None


def category_of(name: Path, named: tuple[str, str] | None, first: tuple[Any, Any], rules: OracleRules) -> str:
    """The category by the file's name, else by the first id in it (a score file's stands in its second line)."""
    ids = (one.get("id") for one in first if isinstance(one, dict))
    by_id = next((rules.category_in(one) for one in ids if isinstance(one, str)), None)
    return named[0] if named else by_id or rules.canonical_category(name.stem)


def place(found: OracleFiles, path: Path, role: str, category: str, rules: OracleRules) -> BfclFile:
    """Where in a tree a file lies: the model's folder is the first above it that is no group."""
    model = next(folder for folder in above(path) if folder.name not in rules.groups)
    return BfclFile(path, found.name(path), role, model.parent.parent, model.name, category)


def above(path: Path) -> Iterator[Path]:
    """The folders above a file, the nearest first."""
    yield from path.absolute().parents
