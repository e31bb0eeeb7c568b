"""Loader of fence.toml: the tokens of chat templates that no text of a trajectory may bring into a prompt."""

import json
import re
from functools import cached_property
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

from openclawbench.rules.loading.rule_file import Rules

WHERE_JSON_GOES_ON = '"{}[]0-tfn:, '  # what may follow a bracket outside a text


class Beginning(BaseModel):
    """One character, and what follows it where a token begins."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    first: str
    after: list[str]

    @model_validator(mode="after")
    def can_be_searched(self) -> "Beginning":
        """One character, patterns that compile, none of which fits JSON's own characters."""
        if len(self.first) != 1 or json.dumps(self.first) != f'"{self.first}"':
            raise ValueError("`first` is one character that JSON has as it is")
        for text in self.after:
            try:
                pattern = re.compile(text)
            except re.error as error:
                raise ValueError(f"{error}: {text!r} is not a regular expression") from error
            if any(pattern.match(start) for start in ("", *WHERE_JSON_GOES_ON)):
                raise ValueError(f"{text!r} fits JSON itself")
        return self

    @property
    def pattern(self) -> str:
        """As a regular expression that begins with a plain character, which is found ten times as fast as others."""
        return f"{re.escape(self.first)}(?={'|'.join(self.after)})"


class FenceRules(Rules):
    """What is written out."""

    FILE: ClassVar[str] = "fence.toml"
    beginning: list[Beginning]

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """One pattern for each first character."""
        return [re.compile(pattern.pattern) for pattern in self.beginning]
