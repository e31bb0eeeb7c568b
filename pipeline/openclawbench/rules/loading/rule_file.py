"""How a rule file is found, read, checked and digested. One rule file a stage."""

import hashlib
import json
import pickle
import tomllib
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator
from pydantic_core import ErrorDetails

from openclawbench.errors import InvalidRules
from openclawbench.rules.loading.own_folder import own_folder
from openclawbench.rules.loading.patterns import asked_together, rust_takes
from openclawbench.rules.loading.references import Other, Reference
from openclawbench.rules.loading.toml_lines import line_of, lines_with
from openclawbench.rules.loading.validation import Unfit, ids_once, literal_fault, not_finite

P = ParamSpec("P")
Made = TypeVar("Made")
BUILT_IN = Path(__file__).parents[1]
CHOSEN: dict[str, dict[str, Any]] = {}  # rule file -> keys that a setting decides in the file's place


def canonical_digest(content: Any) -> str:
    """sha256 over canonical JSON: comments and layout of a rule file do not make anything stale."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def rule_path(name: str, folder: Path = BUILT_IN) -> Path:
    """The rule file in the folder named by OPENCLAWBENCH_RULES if it is there, else the built-in one. Raises
    InvalidRules where that folder is not one of rule files."""
    own = own_folder()
    return own / name if own is not None and (own / name).is_file() else folder / name


def read_rules(name: str, folder: Path = BUILT_IN) -> dict[str, Any]:
    """A rule file's content, wherever it is in force, with what settings decide in its place.

    Raises InvalidRules with the file and what is wrong.
    """
    path = rule_path(name, folder)
    try:
        content: dict[str, Any] = pickle.loads(parsed(path.read_text(encoding="utf-8-sig")))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRules(f"{path}: cannot read the rules: {error}. Correct the file.") from error
    return content | CHOSEN.get(name, {})


def shipped(name: str) -> dict[str, Any]:
    """The content of a rule file as it is shipped, whatever is in force."""
    content: dict[str, Any] = pickle.loads(parsed((BUILT_IN / name).read_text(encoding="utf-8")))
    return content


@lru_cache(maxsize=64)
def parsed(text: str) -> bytes:
    """What a rule file says, pickled: a run asks several times, and each asker gets objects of its own."""
    return pickle.dumps(tomllib.loads(text))


class Rules(BaseModel):
    """A rule file: closed, checked on load, with a digest that stands in the key of every part made with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    FILE: ClassVar[str]
    FOLDER: ClassVar[Path] = BUILT_IN  # another one for rules that no label depends on: they stand beside their code
    IDS_OF_EACH_TABLE: ClassVar[bool] = False  # an id may stand once in each table, not once in the file
    REFERENCES: ClassVar[tuple[Reference, ...]] = ()  # names that stand in other rule files
    version: str
    _digest: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def every_id_once(cls, content: Any) -> Any:
        """A firing is told by its rule's id."""
        if isinstance(content, dict):
            ids_once(content, of_each_table=cls.IDS_OF_EACH_TABLE)
        return content

    @property
    def digest(self) -> str:
        return self._digest

    @classmethod
    def load(cls) -> Self:
        """Read the rule file. Raises InvalidRules with the file and the place of the fault, also where it names what no
        other rule file in force has."""
        path = rule_path(cls.FILE, cls.FOLDER)
        rules = cls.checked(content := read_rules(cls.FILE, cls.FOLDER), path)
        rules.must_fit(content, path, read_rules)
        return rules

    @classmethod
    def checked(cls, content: dict[str, Any], path: Path) -> Self:
        """The rules that a file holds. Raises InvalidRules with file, line, key and what is wrong with it."""
        if (place := not_finite(content)) is not None:
            said = f"{entry_named(place, content)}must be a finite number"
            raise InvalidRules(
                f"{path}: {told(lines_at(path, place))}{'.'.join(map(str, place))}: {said}. Correct the file."
            )
        try:
            rules = cls.validated(content)
        except ValidationError as error:
            raise InvalidRules(f"{path}: {fault(error, content, path)}. Correct the file.") from error
        rules._digest = canonical_digest(content)
        return rules

    def must_fit(self, content: dict[str, Any], path: Path, other: Other) -> None:
        """Raises InvalidRules where these rules, of this content, name what no other rule file has."""
        try:
            for one in self.REFERENCES:
                one.check(content, other)
            self.against(other)
        except Unfit as error:
            said = str(error).rstrip(".")
            raise InvalidRules(
                f"{path}: {told(lines_of_words(error, path))}{said}. Correct one of the files."
            ) from error

    def against(self, other: Other) -> None:
        """Unfit where what these rules say together with another file makes no sense; nothing, unless a kind of rules
        has something to say."""

    @classmethod
    def validated(cls, content: dict[str, Any]) -> Self:
        """The rules, all patterns shown to Rust at once; one by one where it refuses them, to find the one that it is.
        Raises ValidationError."""
        with asked_together() as patterns:
            rules = cls.model_validate(content)
        return rules if rust_takes(patterns) else cls.model_validate(content)


def fault(error: ValidationError, content: dict[str, Any], path: Path) -> str:
    """The first fault in words: line, key, which of several entries (by id or name), what is wrong; how many more."""
    faults = error.errors()
    first = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])  # else only what lacks is told
    place = ".".join(str(part) for part in first["loc"]) or "the file"
    said = {"extra_forbidden": "there is no such key", "missing": "is missing"}
    message = said.get(first["type"]) or first["msg"].removeprefix("Value error, ")
    if first["type"] == "literal_error":
        message = literal_fault(first)
    elif first["type"] == "extra_forbidden":
        message += meant(first["loc"], [one["loc"] for one in faults if one["type"] == "missing"])
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{told(lines_of(first, path))}{place}: {entry_named(first['loc'], content)}{message.rstrip('.')}{more}"


def meant(loc: tuple[int | str, ...], missing: list[tuple[int | str, ...]]) -> str:
    """What to add of a key that there is not, where one that is missing beside it is spelt nearly so."""
    beside = [str(one[-1]) for one in missing if one[:-1] == loc[:-1]]
    close = get_close_matches(str(loc[-1]), beside, n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def lines_of(first: ErrorDetails, path: Path) -> list[int]:
    """The lines of the file, as it is now, in which a fault is: several where their words do not fit each other; none
    where it is nowhere in it (a setting decides it, or there is no file)."""
    unfit = first.get("ctx", {}).get("error")
    found = lines_of_words(unfit, path, first["loc"]) if isinstance(unfit, Unfit) else []
    return found or lines_at(path, first["loc"])


def lines_at(path: Path, place: tuple[int | str, ...]) -> list[int]:
    """The line of the file on which the value at a place stands; none where it is nowhere in it."""
    line = line_of(text_of(path), place)
    return [] if line is None else [line]


def lines_of_words(unfit: Unfit, path: Path, within: tuple[int | str, ...] = ()) -> list[int]:
    """The lines of the file on which the words at fault stand."""
    return lines_with(text_of(path), unfit.words, unfit.keys, within)


def text_of(path: Path) -> str:
    """A rule file's text; empty where it cannot be had."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""


def told(lines: list[int]) -> str:
    """`line 12: `, or `lines 12 and 40: `; empty where there is none."""
    *others, last = map(str, lines or [0])
    if not lines:
        return ""
    return f"lines {', '.join(others)} and {last}: " if others else f"line {last}: "


def entry_named(loc: tuple[int | str, ...], content: Any) -> str:
    """`in "name": ` where the place lies in one of several entries that have an id or a name."""
    named = ""
    for part in loc:
        try:
            content = content[part]
        except (LookupError, TypeError):
            break
        if isinstance(part, int) and isinstance(content, dict):
            name = content.get("id", content.get("name"))
            named = f'in "{name}": ' if isinstance(name, str) else named
    return named
