"""Loader of phrases.toml: what the stress kit writes into sessions."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("phrases.toml")


class Names(BaseModel):
    """Names of models. `rivals`: the beginning of a model's name, and a model of another maker."""

    model_config = ConfigDict(extra="forbid")
    unknown: str
    rivals: list[tuple[str, str]]

    def rival(self, model: str) -> str:
        """A model of another maker than this one."""
        return next(name for start, name in self.rivals if model.lower().startswith(start))


class Phrases(BaseModel):
    """The phrases by language."""

    model_config = ConfigDict(extra="forbid")
    verbose: dict[str, list[str]]
    introduction: dict[str, str]
    names: Names
    injection: dict[Literal["normal", "anomalous"], list[str]]


@cache
def phrases() -> Phrases:
    """The phrases, read once."""
    return Phrases.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8")))
