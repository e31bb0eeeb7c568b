"""The meaning of a rule id: its file and line, and its entry in words."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from pydantic import BaseModel

from openclawbench.rules.construct.risk import RiskRules
from openclawbench.rules.loading.numbers import AtLeastOne, Count
from openclawbench.rules.loading.own_folder import shipped_path
from openclawbench.rules.loading.rule_file import Rules, read_rules, rule_path

PRIOR = "subset_prior"


class EntryKeys(BaseModel):
    """Keys of an entry that describe its effect."""

    keys: list[str]


class ExplainRules(Rules):
    """Settings of explain: the rules it shows, and its words."""

    FILE: ClassVar[str] = "explain.toml"
    context: Count
    marked_length: AtLeastOne
    names_shown: Count
    words_length: AtLeastOne
    files: dict[str, str]
    entry: EntryKeys
    says: dict[str, str]


class RuleText(BaseModel):
    """A rule in words. `place` is file:line."""

    rule_id: str
    place: str | None
    says: str | None


@cache
def settings() -> ExplainRules:
    """explain.toml."""
    return ExplainRules.load()


@cache
def catalogue() -> dict[str, RuleText]:
    """Every rule id of the evidence layer as the rule files in force have it."""
    texts: dict[str, RuleText] = {}
    for file, prefix in settings().files.items():
        lines = rule_path(file).read_text(encoding="utf-8").splitlines()
        for bare, entry in entries(read_rules(file)):
            rule_id = prefix + bare
            words = "; ".join(filter(None, [settings().says.get(rule_id), entry_in_words(entry)]))
            place = f"{shown_path(file)}:{line_of(bare, lines)}"
            texts.setdefault(rule_id, RuleText(rule_id=rule_id, place=place, says=words or None))
    return texts


def rule(rule_id: str) -> RuleText:
    """The meaning of a rule id; without a place if no file has it."""
    entry = catalogue().get(rule_id)
    return entry or RuleText(rule_id=rule_id, place=None, says=settings().says.get(rule_id))


def prior_rule(subset: str | None) -> RuleText:
    """The [[prior]] of risk.toml that lists a subset, else its default_prior."""
    rules = RiskRules.load()
    lines = rule_path(rules.FILE).read_text(encoding="utf-8").splitlines()
    listing = next((prior for prior in rules.priors if subset in prior.subsets), None)
    if listing is None:
        wanted, says = (
            r"default_prior\s*=",
            f"default_prior {rules.default_prior:g}: no [[prior]] lists subset {subset}",
        )
    else:
        wanted, says = (
            rf".*[\"']{re.escape(str(subset))}[\"']",
            f"[[prior]] {listing.weight:g}: it lists subset {subset}",
        )
    number = next((number for number, line in enumerate(lines, 1) if re.match(wanted, line)), 1)
    sentence = "; ".join(filter(None, [settings().says.get(f"risk.{PRIOR}"), says]))
    return RuleText(rule_id=f"risk.{PRIOR}", place=f"{shown_path(rules.FILE)}:{number}", says=sentence)


def shown_path(file: str) -> str:
    """The name of a shipped rule file, the full path of another one."""
    path = rule_path(file)
    return file if path == shipped_path(file) else str(path)


def entries(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(id, entry) of every rule: entries with an `id` or a `name`, values of `…_rule` keys and of [rules], and the
    tables of [bonus]."""
    for name, value in content.items():
        if name in ("rules", "bonus"):
            yield from ((str(item), {}) if isinstance(item, str) else (key, item) for key, item in value.items())
        elif isinstance(value, dict):
            yield from entries(value)
        elif isinstance(value, list):
            for row in (item for item in value if isinstance(item, dict)):
                own = row.get("id", row.get("name"))
                if isinstance(own, str):
                    yield own, row
                yield from entries(row)
        elif name.endswith("_rule") and isinstance(value, str):
            yield value, {}


def entry_in_words(entry: dict[str, Any]) -> str:
    """The settings of an entry that describe its effect, in one line."""
    pairs = [(key, entry[key]) for key in settings().entry.keys if key in entry]
    return "; ".join(f"{key.replace('_', ' ')} {value_in_words(value)}" for key, value in pairs)


def value_in_words(value: Any) -> str:
    """A setting as text; a long list is cut."""
    if not isinstance(value, list):
        return " ".join(str(value).split())
    values = ", ".join(map(str, value[: settings().names_shown]))
    more = len(value) - settings().names_shown
    return f"{values}, … ({more} more)" if more > 0 else values


def line_of(rule_id: str, lines: list[str]) -> int:
    """The line of a rule file that contains an id; 1 if it is written in another way."""
    written = re.compile(rf'^\s*\w+\s*=\s*["\']{re.escape(rule_id)}["\']|^\s*{re.escape(rule_id)}\s*=')
    return next((number for number, line in enumerate(lines, 1) if written.match(line)), 1)
