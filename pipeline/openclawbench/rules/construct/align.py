"""Loader of align.toml: TOOL_ALIAS_EXACT and FUZZY_TOOL_RULES (paper T10)."""

from typing import ClassVar

from pydantic import Field, model_validator

from openclawbench.records.vocabulary import AlignmentCase, EventType
from openclawbench.rules.loading.patterns import RustPattern
from openclawbench.rules.loading.rule_file import Rules
from openclawbench.rules.loading.tool_names import plain_name
from openclawbench.rules.loading.validation import Unfit
from openclawbench.tables.record import Record


class ExactAlias(Record):
    """Known names of one tool; without `tool` each name stands for itself."""

    id: str
    tool: str | None = None
    event_type: EventType | None = None
    names: list[str]


class FuzzyRule(Record):
    """A naming variant of one tool."""

    id: str
    tool: str
    event_type: EventType
    pattern: RustPattern


class AlignRules(Rules):
    """Which names are one tool."""

    FILE: ClassVar[str] = "align.toml"
    other: EventType
    reply_case: AlignmentCase
    exact_case: AlignmentCase
    fuzzy_case: AlignmentCase
    kept_case: AlignmentCase
    ambiguous_case: AlignmentCase
    shell: str
    exact: list[ExactAlias]
    fuzzy: list[FuzzyRule] = Field(min_length=1)

    @property
    def shell_rule(self) -> FuzzyRule:
        """The fuzzy rule of a shell."""
        return next(rule for rule in self.fuzzy if rule.id == self.shell)

    @model_validator(mode="after")
    def shell_is_a_rule(self) -> "AlignRules":
        """A shell is named by a rule that there is."""
        if self.shell not in {rule.id for rule in self.fuzzy}:
            raise Unfit(f"{self.shell} is the id of no fuzzy rule", self.shell, keys=["shell"])
        return self

    @model_validator(mode="after")
    def once(self) -> "AlignRules":
        """A name with two aliases would be decided by the order of the file."""
        alias_ids: dict[str, str] = {}
        for alias in self.exact:
            for name in alias.names:
                first = alias_ids.setdefault(plain_name(name), alias.id)
                if first != alias.id:
                    raise Unfit(
                        f"several exact aliases for {name}: {first} and {alias.id}", first, alias.id, keys=["id"]
                    )
        return self
