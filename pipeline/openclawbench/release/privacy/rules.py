"""Loader of privacy.toml: the finds that are searched for in released text, and the action on each group."""

import re
import tomllib
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from openclawbench.errors import InvalidRules
from openclawbench.release.privacy.checks import LIBRARIES
from openclawbench.rules.loading.numbers import Amount, Count
from openclawbench.rules.loading.rule_file import Rules, canonical_digest
from openclawbench.tables.record import Record

Group = Literal["key", "suspected_key", "account", "email", "phone", "user_name", "redacted"]  # strictest first
Action = Literal["block", "redact", "report"]  # strictest first
Check = Literal["luhn", "iban", "basic", "phone", "national_id"]
GROUPS: tuple[Group, ...] = get_args(Group)
ACTIONS: tuple[Action, ...] = get_args(Action)
RULE_SETS = ("gitleaks.toml",)
PLUGINS = "detect_secrets.plugins"


def compiles(pattern: str) -> str:
    """The compiled pattern. Raises ValueError if it is not valid."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(compiles)]


class Rule(Record):
    """One kind of find. Either a detector of detect-secrets, or a pattern."""

    kind: str
    group: Group
    plugin: str | None = None  # module.Class below detect_secrets.plugins
    pattern: Pattern | None = None
    needs: list[str] = Field(default_factory=list)  # plain words: a text must hold one of them …
    words: list[str] = Field(default_factory=list)  # … or, in lower case, one of these in any case (and `filter`) …
    filter: Pattern | None = None  # … or this; patterns that polars can read too
    values: list[Pattern] = Field(default_factory=list)  # for polars too; the group is the value
    whole: Pattern | None = None  # the text to redact, if the detector gives only a part of it
    allow: list[Pattern] = Field(default_factory=list)  # texts that are not a find
    least_digits: Count = 0
    least_entropy: Amount = 0.0  # bits a character
    check: Check | None = None  # what the find must satisfy
    wrapped: bool = False  # also found with a line break inside
    encoded: bool = False  # base64 of a text that holds a key
    source: str | None = None  # the kept rule set that it is from; None: this file

    @property
    def filter_alone(self) -> bool:
        """True if a text may hold a find without any of the words."""
        return not self.words and not self.needs

    @model_validator(mode="after")
    def check_rule(self) -> "Rule":
        """Raise ValueError unless the rule has exactly one search, and a quick test that rejects most texts."""
        if (self.plugin is None) == (self.pattern is None):
            raise ValueError(f"{self.kind}: give either plugin or pattern")
        if not self.needs and not self.words and self.filter is None:
            raise ValueError(f"{self.kind}: give needs, words or filter, so that other texts are passed over quickly")
        if self.values and (self.pattern is None or self.wrapped or self.encoded):
            raise ValueError(f"{self.kind}: values go with a pattern that is neither wrapped nor encoded")
        if any(re.compile(value).groups != 1 for value in self.values):
            raise ValueError(f"{self.kind}: each of values needs one group, the value")
        return self


class PrivacyRules(Rules):
    """The rules of the search, and the action on each group. `rule`: those of the file, then those of the kept rule
    sets that it adopts."""

    FILE: ClassVar[str] = "privacy.toml"
    adopt: list[str]  # files of kept rule sets, shipped beside this one
    leave_out: list[str] = Field(default_factory=list)  # kinds of theirs that are not searched for
    without: list[str] = Field(default_factory=list)  # libraries that were not there: rules that need one are left out
    marker: str
    on_key: Action
    on_suspected_key: Action
    on_account: Action
    on_email: Action
    on_phone: Action
    on_user_name: Action
    allow: list[Pattern]
    rule: list[Rule]

    @classmethod
    def checked(cls, content: dict[str, Any], path: Path) -> Self:
        """As of every rule file, with the rules that it adopts; those in a release stand there with all others."""
        rules = super().checked(content, path)
        if rules.without:
            kept = [rule for rule in rules.rule if LIBRARIES.get(rule.check or "") not in rules.without]
            digest, rules = rules.digest, rules.model_copy(update={"rule": kept})
            rules._digest = digest
        if any(rule.source for rule in rules.rule):
            return rules
        if unknown := sorted(set(rules.adopt) - set(RULE_SETS)):
            raise InvalidRules(f"{path}: adopt: there is no rule set {unknown[0]}. Use one of: {', '.join(RULE_SETS)}.")
        sets = [adopted(name) for name in rules.adopt]
        further = [rule for rule_set in sets for rule in rule_set.rules if rule.kind not in rules.leave_out]
        complete = rules.model_copy(update={"rule": [*rules.rule, *further]})
        complete._digest = canonical_digest([rules.digest, *(rule_set.digest for rule_set in sets)])
        return complete

    @property
    def actions(self) -> dict[str, Action]:
        """Group -> the action on its finds; `redacted`, a marker, is not a find itself."""
        return {group: getattr(self, f"on_{group}") for group in GROUPS if group != "redacted"}

    def groups(self, action: Action) -> set[str]:
        """Groups of finds with this action."""
        return {group for group, group_action in self.actions.items() if group_action == action}

    def blocked_in_names(self) -> set[str]:
        """Groups of finds that block a release if they are in a name, because names cannot be redacted."""
        return self.groups("block") | (self.groups("redact") & {"key"})

    def strictness(self, group: str) -> tuple[int, int]:
        """Sort key of groups, the strictest first: by action, then by kind."""
        action = self.actions.get(group, "report")
        return ACTIONS.index(action), GROUPS.index(group)


class RuleSet(NamedTuple):
    """A kept rule set. Its rules are not checked on each load: a test checks them."""

    rules: tuple[Rule, ...]
    digest: str


@lru_cache
def adopted(name: str) -> RuleSet:
    """A kept rule set, by the name of its file."""
    content = tomllib.loads((Path(__file__).parents[1] / name).read_text(encoding="utf-8"))
    defaults = {field: info.get_default(call_default_factory=True) for field, info in Rule.model_fields.items()}
    source = {"source": content["source"]}
    rules = (Rule.model_construct(**(defaults | source | row)) for row in content["rule"])
    return RuleSet(tuple(rules), canonical_digest(content))


def plugin_of(name: str) -> object:
    """A single detector of detect-secrets. The settings, filters and baseline of that library are not read, because
    they are made for files, not for single texts. Raises AttributeError or ImportError if the detector does not
    exist."""
    module, _, kind = name.rpartition(".")
    return getattr(import_module(f"{PLUGINS}.{module}"), kind)()
