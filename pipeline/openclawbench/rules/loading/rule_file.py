"""How a rule file is found, read, checked and digested. One rule file per stage."""

import hashlib
import json
import pickle
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, model_validator

from openclawbench.errors import InvalidRules
from openclawbench.rules.loading.faults import describe_fault, entry_named, line_prefix, lines_at, lines_of_words
from openclawbench.rules.loading.own_folder import own_files, shipped_path
from openclawbench.rules.loading.patterns import defer_compilation, rust_accepts
from openclawbench.rules.loading.references import Other, Reference
from openclawbench.rules.loading.validation import Unfit, ids_once, not_finite

Overrides = Mapping[str, Mapping[str, Any]]  # rule file -> keys that settings decide instead of the file
NO_OVERRIDES: Overrides = MappingProxyType({})


def canonical_digest(content: Any) -> str:
    """sha256 over canonical JSON: comments and layout of a rule file do not make anything stale."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def rule_path(name: str) -> Path:
    """The rule file in the folder that OPENCLAWBENCH_RULES names if it has one of this name, else the shipped one.

    Raises InvalidRules if that folder does not hold rule files.
    """
    return own_files().get(name) or shipped_path(name)


def read_rules(name: str, overrides: Overrides = NO_OVERRIDES) -> dict[str, Any]:
    """The content of the rule file in force, with the keys that settings override.

    Raises InvalidRules with the file and the fault.
    """
    path = rule_path(name)
    try:
        content: dict[str, Any] = pickle.loads(parsed(path.read_text(encoding="utf-8-sig")))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidRules(f"{path}: cannot read the rules: {error}. Correct the file.") from error
    return {**content, **overrides.get(name, {})}


def shipped(name: str) -> dict[str, Any]:
    """The content of a rule file as shipped, whichever is in force."""
    content: dict[str, Any] = pickle.loads(parsed(shipped_path(name).read_text(encoding="utf-8")))
    return content


@lru_cache(maxsize=64)
def parsed(text: str) -> bytes:
    """The content of a rule file, pickled: it is read several times in a run, and each caller gets its own objects."""
    return pickle.dumps(tomllib.loads(text))


class Rules(BaseModel):
    """A rule file: closed, checked on load. Its digest is part of the key of every table part that is made with it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    FILE: ClassVar[str]
    IDS_OF_EACH_TABLE: ClassVar[bool] = False  # an id is unique in its table, not in the file
    REFERENCES: ClassVar[tuple[Reference, ...]] = ()  # names from other rule files
    version: str
    _digest: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def every_id_once(cls, content: Any) -> Any:
        """A rule that fires is named by its id, so no id occurs twice."""
        if isinstance(content, dict):
            ids_once(content, of_each_table=cls.IDS_OF_EACH_TABLE)
        return content

    @property
    def digest(self) -> str:
        return self._digest

    @classmethod
    def load(cls, *, overrides: Overrides = NO_OVERRIDES) -> Self:
        """Read the rule file in force, with the keys that settings override.

        Raises InvalidRules with the file and the place of the fault, also where it names something that no other rule
        file in force has.
        """
        path = rule_path(cls.FILE)
        rules = cls.checked(content := read_rules(cls.FILE, overrides), path)
        rules.must_fit(content, path, lambda other: read_rules(other, overrides))
        return rules

    @classmethod
    def checked(cls, content: dict[str, Any], path: Path) -> Self:
        """The rules with this content. Raises InvalidRules with file, line, key and fault."""
        if (place := not_finite(content)) is not None:
            message = f"{'.'.join(map(str, place))}: {entry_named(place, content)}must be a finite number"
            raise InvalidRules(f"{path}: {line_prefix(lines_at(path, place))}{message}. Correct the file.")
        try:
            rules = cls.validated(content)
        except ValidationError as error:
            raise InvalidRules(f"{path}: {describe_fault(error, content, path)}. Correct the file.") from error
        rules._digest = canonical_digest(content)
        return rules

    def must_fit(self, content: dict[str, Any], path: Path, other: Other) -> None:
        """Raises InvalidRules if these rules name something that no other rule file has."""
        try:
            for reference in self.REFERENCES:
                reference.check(content, other)
            self.against(other)
        except Unfit as error:
            message = f"{line_prefix(lines_of_words(error, path))}{str(error).rstrip('.')}"
            raise InvalidRules(f"{path}: {message}. Correct one of the files.") from error

    def against(self, other: Other) -> None:
        """Raises Unfit if these rules contradict another file. Kinds of rules that can, override this."""

    @classmethod
    def validated(cls, content: dict[str, Any]) -> Self:
        """The validated rules. All patterns are compiled at once, and one by one only to find one that Rust refuses.
        Raises ValidationError."""
        with defer_compilation() as patterns:
            rules = cls.model_validate(content)
        return rules if rust_accepts(patterns) else cls.model_validate(content)
